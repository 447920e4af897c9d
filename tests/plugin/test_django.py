"""Django's own mail goes to the sink, and a wait says so where it does not."""

from __future__ import annotations

import pytest

OURS = ("--disable-plugin-autoload", "-p", "pytest_agentmail.plugin", "-p", "django")


@pytest.fixture
def project(pytester):
    pytester.makepyfile(
        project_settings="""
            SECRET_KEY = "for tests"
            INSTALLED_APPS = []
            EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
            EMAIL_HOST_USER = "somebody"
            EMAIL_USE_TLS = True
        """,
    )
    pytester.makeini("[pytest]\nDJANGO_SETTINGS_MODULE = project_settings\npythonpath = .")
    return pytester


def test_mail_goes_to_the_sink_while_the_fixture_is_there(project):
    project.makepyfile(
        """
        from django.conf import settings
        from django.core import mail

        def test_with(agentmail_django, mailbox):
            mail.send_mail("Confirm", "Code: 483920", "shop@app.example", [mailbox.address])
            assert mailbox.wait(subject="Confirm").code == "483920"
            assert mail.outbox == []

        def test_after():
            assert settings.EMAIL_BACKEND.endswith("locmem.EmailBackend")
            assert settings.EMAIL_HOST_USER == "somebody"
        """
    )
    project.runpytest_subprocess(*OURS).assert_outcomes(passed=2)


def test_a_failed_wait_tells_that_django_keeps_the_mail(project):
    project.makepyfile(
        """
        from django.core import mail

        def test_without(mailbox):
            mail.send_mail("Confirm", "Code: 483920", "shop@app.example", [mailbox.address])
            mailbox.wait(timeout=0)
        """
    )
    result = project.runpytest_subprocess(*OURS)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E       arrived: nothing",
            "E       hint: Django keeps its mail in memory (1 in django.core.mail.outbox): request "
            "the fixture agentmail_django to have it sent",
            "E       next: make sure that the app sends through smtp_sink.host and smtp_sink.port",
        ]
    )


@pytest.mark.parametrize(
    "before",
    [
        "",
        "import django.core.mail",
        "import django.core.mail; from django.conf import settings; "
        "settings.configure(EMAIL_BACKEND='django.core.mail.backends.smtp.EmailBackend')",
    ],
    ids=["not imported", "not configured", "another backend"],
)
def test_there_is_no_hint_where_django_does_not_keep_it(pytester, before):
    pytester.makepyfile(f"{before}\ndef test_it(mailbox): mailbox.wait(timeout=0)")
    result = pytester.runpytest_subprocess(*OURS[:3])
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*hint*")
