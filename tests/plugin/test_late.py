"""Mail that comes after its test: a warning that names the test, as the suite's filters say (I10)."""

from __future__ import annotations

import pytest

OURS = ("--disable-plugin-autoload", "-p", "pytest_agentmail.plugin")
SENDS = """
    import smtplib

    def send(sink, to):
        with smtplib.SMTP(sink.host, sink.port) as client:
            client.sendmail(
                "shop@app.example", to, f"From: shop@app.example\\r\\nTo: {to}\\r\\n"
                "Subject: Confirm your account\\r\\n\\r\\nCode: 483920\\r\\n",
            )
"""
LATE = """
    import pytest
    from sending import send
    kept = []

    def test_hasty(mailbox):
        kept.append(mailbox.address)

    def test_next(mailbox, smtp_sink):
        send(smtp_sink, kept[0])
        send(smtp_sink, kept[0])
        assert mailbox.messages == []
"""
TOLD = (
    "*LateMail: mail 'Confirm your account' came for *::test_hasty after it had ended; "
    "wait for it with mailbox.wait(), or stop what sends it"
)
FAILS = (
    "agentmail: the session fails because of late mail, which is an error here (filterwarnings); "
    "the warnings above name the tests"
)


@pytest.fixture(params=[(), ("-p", "xdist", "-n1")], ids=["alone", "xdist"])
def session(request, pytester):
    pytester.makepyfile(sending=SENDS)
    pytester.syspathinsert()

    def session(*args, source=LATE):
        pytester.makepyfile(test_it=source)
        return pytester.runpytest_subprocess(*OURS, *request.param, *args)

    return session


def test_each_late_mail_is_a_warning_under_its_test(session):
    result = session()
    result.assert_outcomes(passed=2, warnings=2)
    result.stdout.fnmatch_lines(["test_it.py::test_hasty", "*test_it.py:0: " + TOLD[1:]])
    assert result.ret == pytest.ExitCode.OK


def test_it_can_be_ignored(session):
    result = session("-W", "ignore::pytest_agentmail.LateMail")
    result.assert_outcomes(passed=2)
    result.stdout.no_fnmatch_line("*LateMail*")


@pytest.mark.parametrize("what", ["error", "error::pytest_agentmail.LateMail"])
def test_as_an_error_it_fails_the_session(session, what):
    result = session("-W", what)
    result.assert_outcomes(passed=2, warnings=2)
    result.stdout.fnmatch_lines([TOLD, FAILS])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("end", ["raise KeyboardInterrupt", "pytest.exit('enough')"])
def test_it_is_told_when_the_session_is_cut_short(pytester, end):
    pytester.makepyfile(sending=SENDS, test_it=LATE.replace("assert mailbox.messages == []", end))
    pytester.syspathinsert()
    result = pytester.runpytest_subprocess(*OURS)
    result.stdout.fnmatch_lines([TOLD])
    assert result.ret == pytest.ExitCode.INTERRUPTED


def test_mail_for_a_run_that_a_test_opened_names_that_test(session):
    result = session(
        source="""
        from sending import send
        kept = []

        def test_hasty(mail_world):
            with mail_world.open_run() as run:
                kept.append(run.mailbox.address)

        def test_next(smtp_sink):
            send(smtp_sink, kept[0])
        """
    )
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(["test_it.py::test_hasty", TOLD])


def test_stable_addresses_of_runs_that_a_test_opens_are_stable(session, pytester):
    source = """
        def test_it(mail_world):
            with mail_world.open_run(address="stable") as one:
                with mail_world.open_run(address="stable") as two:
                    addresses = [one.mailbox.address, two.mailbox.address]
            assert len(set(addresses)) == 2
            with open("addresses", "a") as file:
                print(addresses, file=file)
        """
    for _ in range(2):
        session(source=source).assert_outcomes(passed=1)
    first, second = pytester.path.joinpath("addresses").read_text().splitlines()
    assert first == second
