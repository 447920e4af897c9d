"""Settings on the command line and in ini files; precedence; errors; the header."""

from __future__ import annotations

import pytest

SHOWS_SETTINGS = """
    import pytest

    def test_it(agent_run):
        signal = agent_run.signals.expect("verification")
        print("checks", signal.max_checks, agent_run.mailbox.address.partition("@")[2])
"""


@pytest.fixture
def run(pytester):
    def run(*args, ini="", source=SHOWS_SETTINGS):
        if ini is not None:
            pytester.makeini(f"[pytest]\n{ini}")
        pytester.makepyfile(source)
        return pytester.runpytest_subprocess(
            "--disable-plugin-autoload", "-p", "pytest_agentmail.plugin", "-s", *args
        )

    return run


def test_defaults(run):
    result = run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*checks 10 agentmail.example*"])
    result.stdout.no_fnmatch_line("agentmail:*")


def test_ini_before_default(run):
    result = run(ini="agentmail_checks = 4\nagentmail_domain = ini.example")
    result.stdout.fnmatch_lines(
        ["agentmail: domain=ini.example, checks=4", "*checks 4 ini.example*"]
    )


def test_command_line_before_ini(run):
    result = run("--agentmail-domain=cli.example", ini="agentmail_domain = ini.example")
    result.stdout.fnmatch_lines(["agentmail: domain=cli.example", "*checks 10 cli.example*"])


def test_marker_before_command_line_and_nearest_marker_first(run):
    result = run(
        "--agentmail-domain=cli.example",
        source="""
            import pytest

            pytestmark = pytest.mark.agentmail(domain="module.example", checks=7)

            @pytest.mark.agentmail(domain="mark.example")
            def test_it(agent_run):
                signal = agent_run.signals.expect("verification")
                print("checks", signal.max_checks, agent_run.mailbox.address.partition("@")[2])
        """,
    )
    result.stdout.fnmatch_lines(["*checks 7 mark.example*"])


def test_a_bad_option_is_a_usage_error_that_says_what_is_allowed(run):
    result = run("--agentmail-port=smtp")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "ERROR: --agentmail-port: 'smtp' is not allowed: "
            "expected a whole number from 0 (any free port) to 65535"
        ]
    )


def test_a_bad_ini_value_names_its_file(run):
    result = run(ini="agentmail_lease = -5")
    result.stderr.fnmatch_lines(
        ["ERROR: agentmail_lease in *tox.ini: -5.0 is not allowed: expected seconds, more than 0"]
    )


@pytest.mark.skipif(pytest.version_tuple < (9, 0), reason="ini values have types since pytest 9")
def test_values_in_native_toml_have_their_types(pytester, run):
    pytester.makepyprojecttoml(
        """
        [tool.pytest]
        agentmail_within = 30
        agentmail_settle = 0.25
        agentmail_checks = 4
        agentmail_datetime = false
        agentmail_domain = "toml.example"
        """
    )
    result = run(ini=None)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "agentmail: domain=toml.example, checks=4, within=30.0, datetime=False, settle=0.25",
            "*checks 4 toml.example*",
        ]
    )


@pytest.mark.skipif(pytest.version_tuple < (9, 0), reason="ini values have types since pytest 9")
def test_a_value_of_another_type_in_native_toml_is_refused_in_our_words(pytester, run):
    pytester.makepyprojecttoml("[tool.pytest]\nagentmail_checks = 2.5")
    run(ini=None).stderr.fnmatch_lines(
        [
            "ERROR: agentmail_checks in *pyproject.toml: 2.5 is not allowed: "
            "expected a whole number, 1 or more"
        ]
    )


def test_values_in_the_older_toml_section(pytester, run):
    pytester.makepyprojecttoml(
        "[tool.pytest.ini_options]\nagentmail_within = 30\nagentmail_datetime = false"
    )
    result = run(ini=None)
    result.stdout.fnmatch_lines(["agentmail: within=30.0, datetime=False"])


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("within", "soon", "seconds, more than 0"),
        ("checks", "ten", "a whole number, 1 or more"),
        ("raises", "maybe", "true or false"),
    ],
)
@pytest.mark.parametrize("given", ["file", "override"])
def test_an_ini_value_that_is_of_no_type_is_refused_in_our_words(run, name, value, allowed, given):
    line = f"agentmail_{name}={value}"
    result = run(ini=line) if given == "file" else run("-o", line)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f"ERROR: agentmail_{name} in *tox.ini: '{value}' is not allowed: expected {allowed}"]
    )


def test_a_taken_port_is_an_error_that_names_it(run, pytester):
    result = run(
        source="""
            import socket, pytest

            pytest_plugins = ["pytester"]

            def test_it(pytester):
                with socket.create_server(("127.0.0.1", 0)) as taken:
                    port = taken.getsockname()[1]
                    pytester.makepyfile("def test_it(mailbox): pass")
                    result = pytester.runpytest_inprocess(f"--agentmail-port={port}")
                    result.assert_outcomes(errors=1)
                    result.stdout.fnmatch_lines([
                        f"E *SinkError: port {port} on 127.0.0.1 is taken; leave --agentmail-port "
                        "at 0 for a free one (with several workers it has to be 0), or stop what "
                        "listens there"
                    ])
        """
    )
    result.assert_outcomes(passed=1)


def test_a_given_port_is_used(run):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    result = run(
        f"--agentmail-port={port}",
        source=f"def test_it(smtp_sink): assert smtp_sink.url == 'smtp://127.0.0.1:{port}'",
    )
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"agentmail: port={port}"])


def test_help_lists_options_and_ini_values(run):
    result = run("--help")
    result.stdout.fnmatch_lines(
        [
            "email-verification agents (pytest_agentmail):",
            "*--agentmail-host=VALUE",
            "*--agentmail-port=VALUE",
            "*--agentmail-domain=VALUE",
            "*agentmail_within (float):*",
        ]
    )
