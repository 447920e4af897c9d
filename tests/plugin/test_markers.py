"""Markers: registered with their signature; bad arguments are a collection error of their file."""

from __future__ import annotations

import pytest

OURS = ("--disable-plugin-autoload", "-p", "pytest_agentmail.plugin")


def test_markers_are_registered_with_what_they_take(pytester):
    result = pytester.runpytest(*OURS, "--markers")
    result.stdout.fnmatch_lines(
        [
            "@pytest.mark.agentmail(domain='agentmail.example', address='unique', lease=3600.0, "
            "checks=10, within=120.0, clock='real', datetime=True, settle=0.5, own_sink=False, raises=True, store='memory', resume_minimum=0): Settings for this test; before those of the "
            "command line and the ini file.",
            "",
            "@pytest.mark.mail_fault(*faults): What goes wrong with the mail of this test; "
            "made by pytest_agentmail.world.",
            "",
            "@pytest.mark.provider_fault(*faults): What goes wrong with the answers of the mail "
            "provider; made by pytest_agentmail.world.",
        ]
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            "chekcs=3",
            "@pytest.mark.agentmail: there is no setting 'chekcs': "
            "expected one of domain, address, lease, checks, within, clock, datetime, settle, own_sink, raises, store, resume_minimum",
        ),
        (
            "checks=0",
            "@pytest.mark.agentmail, checks: 0 is not allowed: expected a whole number, 1 or more",
        ),
        (
            "'unique', checks=3",
            "@pytest.mark.agentmail('unique', checks=3): too many positional arguments; "
            "expected agentmail(domain=*",
        ),
        ("port=25", "@pytest.mark.agentmail: there is no setting 'port': expected one of *"),
    ],
)
@pytest.mark.parametrize(
    ("workers", "collections"), [((), 1), (("-p", "xdist", "-n2"), 2)], ids=["alone", "xdist"]
)
def test_bad_arguments_are_a_collection_error_of_that_file(
    pytester, arguments, text, workers, collections
):
    pytester.makepyfile(
        test_bad=f"""
            import pytest

            @pytest.mark.agentmail({arguments})
            def test_bad(mailbox):
                pass
        """,
        test_good="def test_good(mailbox): pass",
    )
    result = pytester.runpytest_subprocess(*OURS, *workers, "--continue-on-collection-errors")
    result.assert_outcomes(passed=1, errors=collections)
    result.stdout.fnmatch_lines(["*ERROR collecting test_bad.py*", text])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_a_bad_marker_on_a_testcase_is_an_error_of_that_test(pytester):
    pytester.makepyfile(
        """
        import unittest
        import pytest

        class TestIt(unittest.TestCase):
            @pytest.mark.agentmail(checks=0)
            def test_bad(self):
                pass

            def test_good(self):
                pass
        """
    )
    result = pytester.runpytest(*OURS)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["@pytest.mark.agentmail, checks: 0 is not allowed: *"])
