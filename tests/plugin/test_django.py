"""Django's own mail goes to the sink, and a wait says so where it does not."""

from __future__ import annotations

import django
import pytest

from pytest_agentmail.plugin.django import overrides

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


def test_mail_goes_to_the_sink_of_the_run_where_it_has_one(project):
    project.makepyfile(
        """
        import pytest
        from django.conf import settings
        from django.core import mail

        @pytest.mark.agentmail(own_sink=True)
        def test_with(agentmail_django, agent_run, smtp_sink):
            assert settings.EMAIL_PORT == agent_run.sink.port != smtp_sink.port
            mail.send_mail("Confirm", "Code", "shop@app.example", [agent_run.mailbox.address])
            assert agent_run.mailbox.wait(subject="Confirm")
        """
    )
    project.runpytest_subprocess(*OURS).assert_outcomes(passed=1)


def test_warnings_that_are_not_of_djangos_settings_are_shown(project):
    project.makepyfile(
        """
        import warnings
        from django.core.signals import setting_changed

        def told(setting, enter, **kwargs):
            if setting == "EMAIL_HOST" and enter:
                warnings.warn("somebody listens")

        setting_changed.connect(told)

        def test_with(agentmail_django):
            pass
        """
    )
    result = project.runpytest_subprocess(*OURS)
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*UserWarning: somebody listens"])


MAILERS = pytest.mark.skipif(django.VERSION < (6, 1), reason="MAILERS came with Django 6.1")


@MAILERS
def test_a_project_with_mailers_sends_to_the_sink_and_is_told_where_it_does_not(project):
    smtp = "django.core.mail.backends.smtp.EmailBackend"
    project.makepyfile(
        project_settings=f"""
            SECRET_KEY = "for tests"
            INSTALLED_APPS = []
            MAILERS = {{"default": {{"BACKEND": "{smtp}"}}, "bulk": {{"BACKEND": "{smtp}"}}}}
        """,
        test_it="""
            from django.core import mail
            import pytest

            @pytest.mark.parametrize("using", ["default", "bulk"])
            def test_with(agentmail_django, mailbox, using):
                mail.send_mail(
                    "Confirm", "Code: 483920", "shop@app.example", [mailbox.address], using=using
                )
                assert mailbox.wait(subject="Confirm").code == "483920"

            def test_without(mailbox):
                with pytest.raises(AssertionError, match="hint: Django keeps its mail in memory"):
                    mailbox.wait(timeout=0)
        """,
    )
    project.runpytest_subprocess(*OURS, "-Werror").assert_outcomes(passed=3)


def test_every_mailer_of_a_project_is_overridden_and_no_older_setting():
    smtp = {"host": "127.0.0.1", "port": 2525}
    mailer = {"BACKEND": "django.core.mail.backends.smtp.EmailBackend", "OPTIONS": smtp}
    assert overrides(smtp, ["default", "bulk"]) == {"MAILERS": {"default": mailer, "bulk": mailer}}


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
    result.stdout.no_fnmatch_line("E *hint: *")
