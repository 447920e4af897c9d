"""The fixtures in suites of all kinds (D3, D8)."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

OURS = ("--disable-plugin-autoload", "-p", "pytest_agentmail.plugin")
SENDS = """
    import smtplib

    def send(sink, to, code="483920"):
        with smtplib.SMTP(sink.host, sink.port) as client:
            client.sendmail(
                "shop@app.example",
                to,
                f"From: shop@app.example\\r\\nTo: {to}\\r\\nSubject: Confirm your account\\r\\n"
                f"\\r\\nCode: {code}\\r\\n",
            )
"""
FINDS = """
    from sending import send

    def test_it(mailbox, smtp_sink, signals, run_id, agent_run, mail_world):
        assert agent_run.run_id == mailbox.run_id == run_id
        assert agent_run.mailbox is mailbox and agent_run.signals is signals
        assert mail_world.sink is smtp_sink
        send(smtp_sink, mailbox.address)
        assert mailbox.wait(subject="Confirm").code == "483920"
        assert signals.wait(signals.expect("verification")).status == "found"
"""


@pytest.fixture
def suite(pytester):
    pytester.makepyfile(sending=SENDS)
    pytester.syspathinsert()
    return pytester


def test_a_mail_is_found(suite):
    suite.makepyfile(FINDS)
    suite.runpytest(*OURS).assert_outcomes(passed=1)


def test_without_the_plugin_there_is_nothing_of_it(suite):
    suite.makepyfile("def test_it(request): assert '_agentmail_run' not in request.fixturenames")
    suite.runpytest_subprocess("-p", "no:agentmail").assert_outcomes(passed=1)


def test_a_suite_with_fixtures_of_every_name_keeps_its_own(suite):
    """D8."""
    names = [
        "mail_world",
        "smtp_sink",
        "agent_run",
        "mailbox",
        "signals",
        "ledger",
        "run_id",
        "agentmail_django",
    ]
    suite.makeconftest(
        "import pytest\n"
        + "".join(f"@pytest.fixture\ndef {name}(): return 'theirs'\n" for name in names)
    )
    suite.makepyfile(
        f"def test_it({', '.join(names)}): assert {{{', '.join(names)}}} == {{'theirs'}}"
    )
    suite.runpytest(*OURS).assert_outcomes(passed=1)


@pytest.mark.parametrize("theirs", ["mailbox", "agent_run", "smtp_sink", "mail_world"])
def test_a_suite_with_one_fixture_of_ours_keeps_the_others_working(suite, theirs):
    """D8: public fixtures are leaves."""
    suite.makeconftest(
        f"import pytest\n@pytest.fixture(scope='session')\ndef {theirs}(): return 1\n"
    )
    ours = {
        "mailbox", "agent_run", "smtp_sink", "mail_world", "signals", "ledger", "run_id",
    } - {theirs}  # fmt: skip
    suite.makepyfile(
        f"def test_it({theirs}, {', '.join(sorted(ours))}):\n"
        f"    assert {theirs} == 1 and 1 not in [{', '.join(sorted(ours))}]"
    )
    suite.runpytest(*OURS).assert_outcomes(passed=1)


def test_setup_plan_starts_nothing(suite):
    suite.makepyfile(FINDS)
    result = suite.runpytest(*OURS, "--setup-plan")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*SETUP    F mailbox*"])


@pytest.mark.parametrize(
    ("name", "gives"),
    [
        ("mail_world * --", "The world of all runs: the SMTP sink, and `open_run()` for a fresh"),
        (
            "smtp_sink * --",
            "The SMTP server that takes all mail: `host`, `port`, `url`, and `env()`",
        ),
        ("agent_run --", "A run of its own for this test: a mailbox, signals, and `drive()` for"),
        ("mailbox --", "A disposable mailbox leased to this test: `address`, `wait()`,"),
        ("signals --", "The mails this test's run expects: `expect()`, `check()`, `wait()`."),
        (
            "ledger --",
            "What this test's run has done, as versioned events: `snapshot`, `append()`,",
        ),
        ("run_id --", "The id of this test's run; no other run has it."),
        ("agentmail_django --", "Django's mail goes to the sink for this test."),
    ],
)
def test_the_fixture_list_says_what_each_gives(suite, name, gives):
    result = suite.runpytest(*OURS, "--fixtures")
    result.stdout.fnmatch_lines([f"{name} *", f"    {gives}*"], consecutive=True)
    result.stdout.no_fnmatch_line("*_agentmail_*")


def test_hb_39_workers_share_neither_port_nor_mail(suite):
    """HB-39; I10."""
    suite.makepyfile(
        """
        import pytest
        from sending import send

        @pytest.mark.parametrize("number", range(20))
        def test_it(number, mailbox, smtp_sink, record_property):
            record_property("address", mailbox.address)
            for _ in range(3):
                send(smtp_sink, mailbox.address, code=f"48{number:04}")
            assert [m.code for m in mailbox.messages] == [f"48{number:04}"] * 3
        """
    )
    result = suite.runpytest_subprocess(*OURS, "-p", "xdist", "-n4", "--junitxml=out.xml")
    result.assert_outcomes(passed=20)
    properties = ElementTree.parse(suite.path / "out.xml").iter("property")
    assert len({each.get("value") for each in properties}) == 20


@pytest.mark.parametrize(
    "neighbour",
    [("randomly",), ("rerunfailures",), ("timeout",), ("anyio",), ("asyncio",)],
    ids=lambda names: "-".join(names),
)
def test_neighbours(suite, neighbour):
    suite.makepyfile(FINDS)
    args = [arg for name in neighbour for arg in ("-p", name)]
    suite.runpytest_subprocess(*OURS, *args).assert_outcomes(passed=1)


def test_reruns_get_a_fresh_run(suite):
    suite.makepyfile(
        """
        from sending import send
        seen = []

        def test_it(mailbox, smtp_sink):
            send(smtp_sink, mailbox.address)
            seen.append(mailbox.address)
            assert len(mailbox.messages) == 1
            assert len(set(seen)) == 3
        """
    )
    result = suite.runpytest_subprocess(*OURS, "-p", "rerunfailures", "--reruns=2")
    result.stdout.fnmatch_lines(["*1 passed, 2 rerun*"])


def test_random_seeds_do_not_repeat_addresses(suite):
    suite.makepyfile(
        """
        import random
        import pytest
        addresses = set()

        @pytest.mark.parametrize("number", [1, 2])
        def test_it(number, mail_world):
            random.seed(1)
            with mail_world.open_run() as run:
                assert run.mailbox.address not in addresses
                addresses.add(run.mailbox.address)
        """
    )
    result = suite.runpytest_subprocess(*OURS, "-p", "randomly")
    result.assert_outcomes(passed=2)


def test_async_tests_wait_on_their_own_loop(suite):
    suite.makepyfile(
        """
        import asyncio, pytest
        from sending import send

        @pytest.mark.asyncio
        async def test_it(mailbox, signals, smtp_sink):
            signal = signals.expect("verification", subject="Confirm")
            waiting = asyncio.ensure_future(signals.wait_async(signal))
            message = asyncio.ensure_future(mailbox.wait_async(subject="Confirm"))
            await asyncio.sleep(0)
            await asyncio.to_thread(send, smtp_sink, mailbox.address)
            assert (await waiting).message is await message
        """
    )
    args = ("-p", "asyncio", "-o", "asyncio_default_fixture_loop_scope=function", "-Werror")
    suite.runpytest_subprocess(*OURS, *args).assert_outcomes(passed=1)


@pytest.mark.parametrize("name", ["asyncio", "pytest_asyncio.plugin"])
@pytest.mark.parametrize("errors", ["ini", "python"])
def test_a_strict_suite_without_anything_asynchronous_is_spared_the_warnings_of_others(
    suite, monkeypatch, name, errors
):
    """D8: pytest-asyncio comes with us, and warns of an ini value the suite never heard of."""
    suite.makepyfile(FINDS)
    if errors == "ini":
        suite.makeini("[pytest]\nfilterwarnings = error")
    else:
        monkeypatch.setenv("PYTHONWARNINGS", "error")
    result = suite.runpytest_subprocess(*OURS, "-p", name)
    result.assert_outcomes(passed=1)
    result.stderr.no_fnmatch_line("*asyncio_default_fixture_loop_scope*")


def test_no_filter_of_ours_remains_once_plugins_are_configured(suite):
    suite.makeconftest(
        """
        import warnings

        def pytest_configure(config):
            warnings.filterwarnings("ignore", "theirs")

        def pytest_sessionstart(session):
            words = [str(each[1] and each[1].pattern) for each in warnings.filters]
            assert "theirs" in words
            assert not [word for word in words if "asyncio" in word], words
        """
    )
    suite.makepyfile(FINDS)
    suite.runpytest_subprocess(*OURS, "-p", "asyncio").assert_outcomes(passed=1)


def test_failures_show_what_came_at_the_line_of_the_test(suite):
    suite.makepyfile(
        """
        from sending import send

        def test_it(mailbox, smtp_sink):
            send(smtp_sink, mailbox.address)
            mailbox.wait(subject="Welcome", timeout=0)
        """
    )
    result = suite.runpytest_subprocess(*OURS, "-Werror")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">       mailbox.wait(subject=*",
            "E *NoMatchingMail: no mail that counts came to *@agentmail.example within 0 s",
            "E       expected: subject contains 'Welcome'",
            "E       arrived: 1, nearest miss first",
            "E         - +0.0* s m1 'Confirm your account' from shop@app.example: "
            "its subject does not contain 'Welcome'",
            "E       next: compare the criteria with the nearest mail above",
            "",
            "*:5: NoMatchingMail",
        ],
        consecutive=True,
    )


def test_nothing_remains_after_the_session(suite):
    """I12."""
    suite.makepyfile(FINDS)
    suite.makeconftest(
        """
        import threading

        def pytest_unconfigure(config):
            assert [t.name for t in threading.enumerate() if "agentmail" in t.name] == []
        """
    )
    suite.runpytest_subprocess(*OURS, "-Werror").assert_outcomes(passed=1)


def test_the_markers_settings_hold_for_testcases_too(suite):
    suite.makepyfile(
        """
        import unittest
        import pytest

        class TestIt(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def _run(self, agent_run):
                self.run_ = agent_run

            @pytest.mark.agentmail(checks=4)
            def test_it(self):
                assert self.run_.signals.expect("verification").max_checks == 4
        """
    )
    suite.runpytest(*OURS).assert_outcomes(passed=1)
