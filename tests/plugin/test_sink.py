"""The sink in suites: parallel workers, its settings, its silence (HB-35, HB-39, HB-47)."""

from __future__ import annotations

import pytest

OURS = ("--disable-plugin-autoload", "-p", "pytest_agentmail.plugin")


@pytest.fixture
def suite(pytester):
    pytester.makepyfile(
        sending="""
        import smtplib

        def send(sink, to, text, header_to=None):
            with smtplib.SMTP(sink.host, sink.port) as client:
                client.sendmail("shop@app.example", to, (
                    f"From: shop@app.example\\r\\nTo: {header_to or to}\\r\\n"
                    f"Subject: Confirm your account\\r\\n\\r\\n{text}\\r\\n"
                ))
        """
    )
    pytester.syspathinsert()
    return pytester


def test_hb35_a_blind_copy_is_found_through_the_envelope(suite):
    suite.makepyfile(
        """
        from sending import send

        def test_it(mailbox, smtp_sink):
            send(smtp_sink, mailbox.address, "Code: 483920", header_to="undisclosed-recipients:;")
            message = mailbox.wait(subject="Confirm")
            assert message.recipients == ()
            assert message.envelope_to == (mailbox.address,)
        """
    )
    suite.runpytest_subprocess(*OURS).assert_outcomes(passed=1)


def test_hb39_parallel_workers_neither_clash_nor_read_each_others_mail(suite):
    suite.makepyfile(
        """
        import random
        import threading
        from pathlib import Path

        import pytest
        from sending import send

        @pytest.mark.parametrize("number", range(20))
        def test_it(mailbox, smtp_sink, number):
            with Path("leased.txt").open("a") as leased:
                leased.write(f"{mailbox.address} {smtp_sink.port}\\n")
            late = threading.Timer(
                random.random() / 10, send, (smtp_sink, mailbox.address, f"number {number}.")
            )
            late.start()
            assert f"number {number}." in mailbox.wait(subject="Confirm").text
            late.join()
            assert len(mailbox.messages) == 1
        """
    )
    result = suite.runpytest_subprocess(*OURS, "-p", "xdist", "-n4")
    result.assert_outcomes(passed=20)
    leased = [line.split() for line in (suite.path / "leased.txt").read_text().splitlines()]
    assert len({address for address, _ in leased}) == 20
    assert len({port for _, port in leased}) > 1


def test_tls_and_auth_are_settings_of_the_session(suite):
    suite.makepyfile(
        """
        import smtplib
        import ssl

        def test_it(mailbox, smtp_sink, tmp_path_factory):
            assert smtp_sink.ca_file.is_relative_to(tmp_path_factory.getbasetemp())
            env = smtp_sink.env()
            assert env["EMAIL_USE_TLS"] == "true"
            with smtplib.SMTP(env["SMTP_HOST"], env["SMTP_PORT"]) as client:
                client.starttls(context=ssl.create_default_context(cafile=env["SMTP_CA_FILE"]))
                client.login(env["SMTP_USERNAME"], env["SMTP_PASSWORD"])
                client.sendmail("a@b.c", mailbox.address, "Subject: hi\\r\\n\\r\\nhi")
            mailbox.wait(subject="hi")
        """
    )
    result = suite.runpytest_subprocess(
        *OURS,
        "--agentmail-tls=starttls",
        "--agentmail-auth=required",
        "--agentmail-size-limit=5000",
    )
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["agentmail: tls=starttls, auth=required, size_limit=5000"])


def test_the_size_limit_is_a_setting_of_the_session(suite):
    suite.makeini("[pytest]\nagentmail_size_limit = 100")
    suite.makepyfile(
        """
        import smtplib
        import pytest
        from sending import send

        def test_it(mailbox, smtp_sink):
            with pytest.raises(smtplib.SMTPSenderRefused) as caught:
                send(smtp_sink, mailbox.address, "x" * 100)
            assert caught.value.smtp_code == 552
            assert mailbox.messages == []
        """
    )
    suite.runpytest_subprocess(*OURS).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("option", "error"),
    [
        (
            "--agentmail-tls=on",
            "'on' is not allowed: expected 'off', 'starttls' (offered) or 'implicit'",
        ),
        ("--agentmail-auth=yes", "'yes' is not allowed: expected 'off', 'optional' (any username"),
        (
            "--agentmail-size-limit=0",
            "'0' is not allowed: expected a whole number of bytes, 1 or more",
        ),
    ],
)
def test_settings_that_are_not_allowed(suite, option, error):
    result = suite.runpytest_subprocess(*OURS, option)
    name, _, _ = option.partition("=")
    assert f"{name}: {error}" in result.stderr.str()
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_a_taken_port_is_an_error_that_names_it(suite):
    suite.makepyfile(
        """
        def test_it(smtp_sink):
            pass
        """
    )
    import socket

    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = suite.runpytest_subprocess(*OURS, f"--agentmail-port={port}")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*SinkError: port {port} on 127.0.0.1 is taken; leave *"])


def test_a_failing_test_shows_nothing_of_the_dialogue(suite):
    """With every level captured, and with a debugging event loop."""
    suite.makepyfile(
        """
        from sending import send

        def test_it(mailbox, smtp_sink, caplog):
            send(smtp_sink, mailbox.address, "secret 493817")
            mailbox.wait(subject="Confirm")
            assert caplog.records == []
            assert False
        """
    )
    result = suite.runpytest_subprocess(*OURS, "--log-level=1", "-o", "log_cli=true")
    result.assert_outcomes(failed=1)
    assert "mail.log" not in result.stdout.str()
    assert "selector" not in result.stdout.str()
    result.stdout.no_fnmatch_line("*Captured log*")
