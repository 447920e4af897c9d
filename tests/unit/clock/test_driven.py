"""Time in a driven agent."""

from __future__ import annotations

import asyncio
import importlib
import os
import queue
import subprocess
import sys
import threading
import time
import types
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from datetime import UTC, datetime
from time import monotonic as aliased_monotonic
from time import sleep as aliased_sleep
from time import time as aliased_time

import pytest
from freezegun import freeze_time

from pytest_agentmail.clock.driven import driving
from pytest_agentmail.clock.loop import VirtualLoop
from pytest_agentmail.clock.pausing import ring
from pytest_agentmail.clock.virtual import VirtualClock
from pytest_agentmail.clock.wall import WALL
from pytest_agentmail.errors import ClockError

START = datetime(2030, 1, 1, tzinfo=UTC)
EPOCH = START.timestamp()
FUNCTIONS = (
    "time",
    "time_ns",
    "monotonic",
    "monotonic_ns",
    "perf_counter",
    "perf_counter_ns",
    "sleep",
)


@pytest.fixture
def clock():
    return VirtualClock(START)


@pytest.fixture(autouse=True)
def nothing_stays_patched():
    """I12."""
    owners = [(time, name) for name in FUNCTIONS]
    owners += [(asyncio, "sleep"), (asyncio.tasks, "sleep"), (asyncio, "new_event_loop")]
    owners += [(threading.Thread, "start"), (threading.Thread, "join"), (threading.Thread, "run")]
    owners += [(threading.Condition, "wait"), (threading.Condition, "notify")]
    owners += [(ThreadPoolExecutor, "submit"), (sys.modules[__name__], "datetime")]
    before = [getattr(owner, name) for owner, name in owners]
    mine = (aliased_monotonic, aliased_sleep, aliased_time)
    threads = set(threading.enumerate())
    yield
    assert [getattr(owner, name) for owner, name in owners] == before
    assert (aliased_monotonic, aliased_sleep, aliased_time) == mine
    assert mine == (time.monotonic, time.sleep, time.time)
    assert "new_event_loop" not in vars(asyncio.get_event_loop_policy())
    for thread in set(threading.enumerate()) - threads:
        thread.join(10)
        assert not thread.is_alive()


def in_thread(body):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(body()))
    thread.start()
    thread.join()
    return seen[0]


@pytest.mark.parametrize("datetime_", [True, False])
def test_its_clocks_are_virtual(clock, datetime_):
    with driving(clock, datetime=datetime_):
        time.sleep(60)
        aliased_sleep(60)
        assert time.time() == aliased_time() == EPOCH + 120
        assert time.time_ns() == (int(EPOCH) + 120) * 10**9
        assert time.monotonic() == aliased_monotonic() == time.perf_counter() == 120
        assert time.monotonic_ns() == time.perf_counter_ns() == 120 * 10**9
    assert clock.monotonic() == 120


def test_datetime_follows_in_all_threads(clock):
    with driving(clock):
        time.sleep(60)
        assert datetime.now(UTC) == clock.now()
        assert in_thread(lambda: datetime.now(UTC)) == clock.now()
    assert abs(datetime.now(UTC).timestamp() - time.time()) < 60


def test_datetime_can_be_left_alone(clock):
    with driving(clock, datetime=False):
        time.sleep(60)
        assert datetime.now(UTC).year < 2030


def test_a_sleep_that_time_would_refuse_is_refused(clock):
    with driving(clock), pytest.raises(ValueError, match="sleep length must be non-negative"):
        time.sleep(-1)
    with driving(clock), pytest.raises(TypeError):
        time.sleep("5")


def test_a_polling_loop_of_its_own_ends_at_its_deadline(clock):
    with driving(clock, datetime=False):
        deadline, polls = time.time() + 60, 0
        while time.time() < deadline:
            polls += 1
            time.sleep(5)
    assert polls == 12


def test_asyncio_is_virtual_whatever_makes_the_loop(clock):
    async def main():
        await asyncio.sleep(100)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(20):
                await asyncio.Event().wait()
        await asyncio.to_thread(time.sleep, 5)
        return time.monotonic()

    with driving(clock):
        assert asyncio.run(main()) == 125
        loop = asyncio.new_event_loop()
        assert isinstance(loop, VirtualLoop)
        assert loop.run_until_complete(main()) == 250
        loop.close()
        with asyncio.Runner() as runner:
            assert runner.run(main()) == 375
    loop = asyncio.new_event_loop()
    assert not isinstance(loop, VirtualLoop)
    loop.close()


def test_a_loop_of_its_own_making_stays_real_and_holds_time(clock):
    async def main():
        await asyncio.sleep(0.001)
        await clock.sleep_async(60)
        return time.monotonic()

    with driving(clock):
        loop = asyncio.SelectorEventLoop()
        assert loop.run_until_complete(main()) == 60
        loop.close()


def test_a_step_that_sleeps_in_asyncio_gives_its_hold_up(clock):
    async def step():
        with clock.hold("step verify"):
            await asyncio.sleep(30)
            return await asyncio.sleep(30, "done")

    with driving(clock):
        assert asyncio.run(step()) == "done"
    assert clock.monotonic() == 60


def test_every_task_and_every_thread_sees_the_same_time(clock):
    """With freezegun, shallow threads and, with asyncio ignored, new tasks saw real time."""

    async def task():
        return time.time(), datetime.now(UTC).timestamp()

    async def main():
        return [*await asyncio.create_task(task()), await asyncio.to_thread(time.time)]

    with driving(clock):
        time.sleep(60)
        seen = [*asyncio.run(main()), in_thread(time.time), in_thread(aliased_time)]
        with ThreadPoolExecutor() as pool:
            seen.append(pool.submit(time.time).result())
    assert seen == [EPOCH + 60] * 6


def test_threads_that_are_not_its_own_live_in_real_time(clock):
    """The sink, execnet, pytest-timeout: not slowed, not hurried, not patched."""
    asked, answers = queue.Queue(), queue.Queue()

    def deep(ask, frames=10):
        """freezegun gives real time to shallow threads only."""
        return deep(ask, frames - 1) if frames else ask()

    def foreign():
        while (ask := asked.get()) is not None:
            answers.put(deep(ask))

    def ask(question):
        asked.put(question)
        return answers.get()

    thread = threading.Thread(target=foreign)
    thread.start()
    with driving(clock):
        before = ask(time.monotonic), ask(time.perf_counter)
        ask(lambda: time.sleep(0.002))
        ask(lambda: aliased_sleep(0.002))
        after = ask(time.monotonic), ask(time.perf_counter)
        assert all(0.004 <= b - a < 60 for a, b in zip(before, after, strict=True))
        assert abs(ask(time.monotonic) - WALL.monotonic()) < 60
        assert clock.microseconds() == 0
    asked.put(None)
    thread.join()


def test_timers_of_a_plain_loop_beside_it_work(clock):
    """A handler of a threaded SMTP server that slept 50 ms once parked for a day."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def handler():
        before = WALL.monotonic()
        await asyncio.sleep(0.05)
        return WALL.monotonic() - before

    with driving(clock):
        took = asyncio.run_coroutine_threadsafe(handler(), loop).result()
    assert 0.04 < took < 60
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_waits_for_processes_and_queues_stay_real(clock):
    with driving(clock):
        before = WALL.monotonic()
        with pytest.raises(subprocess.TimeoutExpired):
            subprocess.run(["sleep", "60"], timeout=0.05, check=True)
        with subprocess.Popen(["sleep", "60"]) as child:
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(timeout=0.05)
            child.kill()
        with pytest.raises(queue.Empty):
            queue.Queue().get(timeout=0.05)
        assert not threading.Event().wait(0.05)
        with pytest.raises(TimeoutError):
            Future().result(0.05)
        assert 0.25 <= WALL.monotonic() - before < 60
        assert clock.microseconds() == 0


def test_threads_it_starts_take_part(clock):
    """A thread that has not slept yet keeps time still; one that sleeps lets it pass."""
    mails = queue.Queue()

    def poller():
        for _ in range(5):
            time.sleep(10)
            mails.put(time.monotonic())

    with driving(clock):
        thread = threading.Thread(target=poller)
        thread.start()
        assert [mails.get() for _ in range(5)] == [10, 20, 30, 40, 50]
        thread.join()
        assert time.monotonic() == 50


def test_what_a_thread_is_told_it_knows_before_time_moves(clock):
    """The notified thread takes time back in the moment of notification."""
    seen = []
    with driving(clock):
        told = [threading.Event() for _ in range(100)]

        def teller():
            for event in told:
                event.set()
                time.sleep(60)

        thread = threading.Thread(target=teller)
        thread.start()
        for number, event in enumerate(told):
            event.wait()
            seen.append(time.monotonic() - 60 * number)
        thread.join()
    assert seen == [0] * 100


def test_joining_a_thread_takes_the_time_the_thread_takes(clock):
    with driving(clock):
        threading.Thread(target=time.sleep, args=(86_400,)).start()
        for number in range(1, 51):
            thread = threading.Thread(target=time.sleep, args=(5,))
            thread.start()
            thread.join()
            assert time.monotonic() == 5 * number


def test_waiting_for_one_of_many_threads(clock):
    """A queue of jobs, workers that sleep, and a main thread that waits for all of them."""
    with driving(clock):
        jobs, done = queue.Queue(), []
        for seconds in (5, 6, 7, 8):
            jobs.put(seconds)

        def worker():
            while True:
                try:
                    seconds = jobs.get_nowait()
                except queue.Empty:
                    return
                time.sleep(seconds)
                done.append((time.monotonic(), seconds))
                jobs.task_done()

        threads = [threading.Thread(target=worker) for _ in range(2)]
        for thread in threads:
            thread.start()
        jobs.join()
        for thread in threads:
            thread.join()
    assert done == [(5, 5), (6, 6), (12, 7), (14, 8)]


def test_joining_a_thread_that_is_not_its_own(clock):
    go_on = threading.Event()
    thread = threading.Thread(target=go_on.wait)
    thread.start()
    with driving(clock):
        thread.join(0.001)
        go_on.set()
        thread.join()


def test_pools_take_part(clock):
    def job(seconds):
        time.sleep(seconds)
        return time.monotonic()

    older = ThreadPoolExecutor(1)
    older.submit(int).result()
    with driving(clock):
        assert older.submit(job, 5).result() == 5
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(job, [5] * 5)) == [10, 10, 15, 15, 20]
    older.shutdown()


def test_work_in_other_processes_stays_real_and_holds_time(clock):
    async def main():
        with ProcessPoolExecutor(1) as pool:
            call = asyncio.get_running_loop().run_in_executor(pool, os.getpid)
            pid = await asyncio.wait_for(call, 30)
        return pid, time.monotonic()

    with driving(clock):
        pid, seconds = asyncio.run(main())
    assert pid != os.getpid()
    assert seconds == 0


def test_a_forked_child_lives_in_real_time(clock):
    with driving(clock):
        pid = os.fork()
        if not pid:
            before = WALL.monotonic()
            time.sleep(0.01)
            os._exit(0 if WALL.monotonic() - before >= 0.01 else 1)
        assert os.waitpid(pid, 0)[1] == 0


def test_a_thread_that_outlives_the_drive_ends_at_its_next_wait(clock):
    """I12. Asleep on the clock, it would poll on in no time at all."""
    polls = []

    def poller():
        while True:
            polls.append(time.sleep(5))

    with driving(clock):
        thread = threading.Thread(target=poller)
        thread.start()
        time.sleep(21)
    thread.join()
    assert len(polls) == 4
    clock.sleep(60)


def test_a_thread_that_runs_when_the_drive_ends_holds_nothing_any_more(clock):
    go_on = threading.Event()
    with driving(clock):
        thread = threading.Thread(target=go_on.wait)
        thread.start()
        busy = threading.Thread(target=lambda: [WALL.sleep(0) for _ in iter(go_on.is_set, True)])
        busy.start()
    clock.sleep(60)
    go_on.set()
    thread.join()
    busy.join()


def test_two_drives_of_one_clock_go_on_side_by_side(clock):
    """Two lives that are woken at once."""
    seen = []
    holds = [clock.hold(f"life {number}") for number in range(2)]

    def life(number):
        with clock.taken_over(holds[number]), driving(clock, f"life {number}"):
            time.sleep(5 + number)
            seen.append((number, time.monotonic(), datetime.now(UTC) == clock.now()))
            time.sleep(10)
            seen.append((number, time.monotonic(), datetime.now(UTC) == clock.now()))

    threads = [threading.Thread(target=life, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [(0, 5, True), (1, 6, True), (0, 15, True), (1, 16, True)]


def test_two_drives_of_two_clocks_need_datetime_for_themselves(clock):
    with driving(clock):
        with pytest.raises(ClockError) as failure, driving(VirtualClock()):
            pass
        with driving(VirtualClock(), datetime=False):
            time.sleep(7)
            assert time.monotonic() == 7
        assert time.monotonic() == 0
        assert datetime.now(UTC) == START
    assert str(failure.value) == (
        "two virtual clocks would set `datetime` at once; drive one run after the other, or open"
        " one of them with datetime=False"
    )


def test_a_drive_that_sets_datetime_inside_one_that_does_not(clock):
    with driving(clock, datetime=False):
        with driving(clock):
            time.sleep(5)
            assert datetime.now(UTC) == clock.now()
        time.sleep(5)
        aliased_sleep(5)
        assert time.monotonic() == aliased_monotonic() == 15
        assert datetime.now(UTC).year < 2030


def test_what_the_agent_raises_leaves_nothing_behind(clock):
    with pytest.raises(ZeroDivisionError), driving(clock):
        raise ZeroDivisionError
    clock.sleep(5)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Imports a module of the agent's."""
    monkeypatch.syspath_prepend(tmp_path)
    names = []

    def make(name, source):
        (tmp_path / f"{name}.py").write_text(source)
        names.append(name)
        return importlib.import_module(name)

    yield make
    for name in names:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("datetime_", [True, False])
def test_aliases_made_before_or_meanwhile_are_virtual_only_meanwhile(clock, module, datetime_):
    source = "from time import sleep, time as now\ndef nap(): sleep(5); return now()\n"
    before = module("agent_before", source)
    with driving(clock, datetime=datetime_):
        meanwhile = module("agent_meanwhile", source)
        assert before.nap() == EPOCH + 5
        assert meanwhile.nap() == EPOCH + 10
    for agent in (before, meanwhile):
        assert (agent.sleep, agent.now) == (time.sleep, time.time)


def test_modules_that_went_away_are_no_trouble(clock, module):
    source = "from time import sleep\n"
    gone = module("agent_gone", source)
    with driving(clock):
        assert gone.sleep is not WALL.sleep
    sys.modules.pop("agent_gone")
    del gone
    with driving(clock):
        time.sleep(1)


def test_lazy_modules_stay_lazy(clock, monkeypatch):
    """A scan that asks modules for their attributes imports what they load on demand."""
    lazy = types.ModuleType("agent_lazy")
    lazy.__dir__ = lambda: ["sleep"]
    lazy.__getattr__ = lambda name: pytest.fail(f"{name} was loaded")
    monkeypatch.setitem(sys.modules, "agent_lazy", lazy)
    with driving(clock, datetime=False):
        time.sleep(1)


def test_a_frozen_suite_is_told_who_fights_with_whom(clock):
    with freeze_time("2026-05-01"), pytest.raises(ClockError) as failure, driving(clock):
        pass
    assert str(failure.value) == (
        "`datetime` is frozen by freezegun, and the virtual clock of pytest_agentmail would set it,"
        " too. Drop the freeze; or mark the test agentmail(datetime=False), which leaves `datetime`"
        " to freezegun; or agentmail(clock='real')"
    )


def test_a_travelling_suite_is_told_who_fights_with_whom(clock):
    time_machine = pytest.importorskip("time_machine")
    with (
        time_machine.travel("2026-05-01"),
        pytest.raises(ClockError, match="by time-machine, and"),
        driving(clock),
    ):
        pass


def test_a_frozen_suite_may_keep_its_datetime(clock):
    with freeze_time("2026-05-01"):
        with driving(clock, datetime=False):
            time.sleep(5)
            assert aliased_time() == time.time() == EPOCH + 5
            assert datetime.now(UTC) == datetime(2026, 5, 1, tzinfo=UTC)
        assert datetime.now(UTC).timestamp() == time.time() == aliased_time()


def test_an_agent_may_freeze_for_itself(clock):
    with driving(clock):
        time.sleep(5)
        with freeze_time("2026-05-01"):
            assert datetime.now(UTC).year == 2026
            time.sleep(5)
        assert datetime.now(UTC) == clock.now()
        assert time.monotonic() == 10


def test_waiting_for_mail_is_like_sleeping(clock):
    wakeup = Future()
    clock.call_later(119, lambda: ring(wakeup))
    with driving(clock):
        assert clock.wait(wakeup, 120)
        assert time.monotonic() == 119
        assert datetime.now(UTC) == clock.now()
