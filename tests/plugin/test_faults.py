"""The fault markers: what was planned happens, or the test fails."""

from __future__ import annotations

import pytest

OURS = ("--disable-plugin-autoload", "-p", "pytest_agentmail.plugin")
SENDS = """
    import smtplib

    def send(sink, to):
        with smtplib.SMTP(sink.host, sink.port) as client:
            client.sendmail(
                "shop@app.example", to, f"From: shop@app.example\\r\\nTo: {to}\\r\\n"
                "Subject: Confirm\\r\\n\\r\\nCode: 483920\\r\\n",
            )
"""


@pytest.fixture
def suite(pytester):
    pytester.makepyfile(sending=SENDS)
    pytester.syspathinsert()
    return pytester


def test_marked_faults_strike_the_outermost_first(suite):
    suite.makepyfile(
        """
        import pytest
        from pytest_agentmail import world
        from sending import send

        pytestmark = pytest.mark.provider_fault(world.provider_fails("502", times=1))

        @pytest.mark.mail_fault(world.mail_duplicated(3))
        @pytest.mark.provider_fault(world.provider_fails("503", times=1))
        def test_it(agent_run, smtp_sink):
            send(smtp_sink, agent_run.mailbox.address)
            assert len(agent_run.mailbox.messages) == 3
            signal = agent_run.signals.expect("verification")
            codes = [agent_run.signals.check(signal).signal.last_error for _ in range(2)]
            assert codes == ["502", "503"]
            assert agent_run.signals.check(signal).status == "found"
        """
    )
    suite.runpytest(*OURS).assert_outcomes(passed=1)


def test_a_fault_that_never_struck_fails_the_test_in_its_call_phase(suite):
    suite.makepyfile(
        """
        import pytest
        from pytest_agentmail import world

        @pytest.mark.mail_fault(world.mail_delayed(5))
        @pytest.mark.provider_fault(world.provider_lags(2))
        def test_idle(agent_run):
            pass

        @pytest.mark.mail_fault(world.mail_delayed(5))
        def test_broken(agent_run):
            assert 1 == 2

        def test_open_run(mail_world):
            with pytest.raises(Exception, match="never struck: world.mail_dropped()"):
                with mail_world.open_run() as run:
                    run.mail_fault(world.mail_dropped())
        """
    )
    result = suite.runpytest(*OURS)
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(
        [
            "never struck: world.mail_delayed(5), world.provider_lags(2); the "
            "test says less than it seems to. See that the agent comes to the point, or take the "
            "fault away"
        ]
    )


def test_a_failure_shows_nothing_of_ours_but_its_text(suite):
    suite.makepyfile(
        """
        import pytest
        from pytest_agentmail import world

        @pytest.mark.mail_fault(world.mail_delayed(5))
        def test_idle(agent_run):
            pass

        def test_open_run(mail_world):
            with mail_world.open_run() as run:
                run.mail_fault(world.mail_dropped())
        """
    )
    result = suite.runpytest(*OURS)
    result.assert_outcomes(failed=2)
    result.stdout.no_fnmatch_line("*above exception*")
    result.stdout.no_fnmatch_line("*agents/*.py*")
    result.stdout.no_fnmatch_line("*plugin/*.py*")
    result.stdout.fnmatch_lines(
        [
            "never struck: world.mail_delayed(5); *",
            ">       with mail_world.open_run() as run:",
            "E *AgentMailError: never struck: world.mail_dropped(); *",
        ]
    )


def test_faults_of_a_test_without_a_run_fail_it(suite):
    suite.makepyfile(
        """
        import pytest
        from pytest_agentmail import world

        pytestmark = pytest.mark.provider_fault(world.provider_lags(2))

        @pytest.mark.mail_fault(world.mail_delayed(5))
        def test_mail(mail_world):
            pass

        @pytest.mark.provider_fault(world.provider_lags(2))
        def test_provider():
            pass

        @pytest.mark.mail_fault(world.mail_delayed(5))
        def test_fails_anyway():
            assert 1 == 2

        @pytest.mark.mail_fault(world.mail_delayed(5))
        def test_asks_late(request):
            request.getfixturevalue("agent_run")

        def test_mark_of_the_module():
            pass

        @pytest.mark.mail_fault(world.mail_delayed(5))
        class TestIt:
            def test_mark_of_the_class(self):
                pass
        """
    )
    result = suite.runpytest(*OURS)
    result.assert_outcomes(failed=4, passed=2)
    result.stdout.fnmatch_lines(
        [
            "@pytest.mark.mail_fault: this test has no run: request agent_run, or give the faults "
            "to run.mail_fault()",
            "@pytest.mark.provider_fault: this test has no run: request agent_run, or give the "
            "faults to run.provider_fault()",
            "E *assert 1 == 2",
            "never struck: world.mail_delayed(5), *",
        ]
    )


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        (
            "mail_fault(world.provider_lags(2))",
            "@pytest.mark.mail_fault: world.provider_lags(2) is not allowed: "
            "expected world.mail_… or world.smtp_…",
        ),
        (
            "provider_fault()",
            "@pytest.mark.provider_fault: nothing was given: expected world.provider_…",
        ),
        (
            "mail_fault(fault=1)",
            "@pytest.mark.mail_fault(fault=1): got an unexpected keyword argument 'fault'; "
            "expected mail_fault(*faults)",
        ),
    ],
)
def test_bad_faults_are_collection_errors(suite, mark, text):
    suite.makepyfile(
        f"import pytest\nfrom pytest_agentmail import world\n"
        f"@pytest.mark.{mark}\ndef test_it(agent_run): pass"
    )
    result = suite.runpytest(*OURS)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([text])
    result.stdout.no_fnmatch_line("*above exception*")


def test_a_bad_value_is_a_collection_error_that_names_it(suite):
    suite.makepyfile("from pytest_agentmail import world\nworld.mail_delayed(-1)")
    result = suite.runpytest(*OURS)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["E *SettingsError: world.mail_delayed(seconds=-1): expected seconds, 0 or more"]
    )


def test_a_run_takes_no_fault_of_the_other_kind(suite):
    suite.makepyfile(
        """
        import pytest
        from pytest_agentmail import world

        def test_it(agent_run):
            with pytest.raises(ValueError, match="is no fault of mail: expected world.mail_"):
                agent_run.mail_fault(world.provider_lags(2))
            with pytest.raises(ValueError, match="is no fault of a provider: expected world.prov"):
                agent_run.provider_fault(world.mail_dropped())
        """
    )
    suite.runpytest(*OURS).assert_outcomes(passed=1)
