"""The ledger in suites: its fixture, its store by marker, ini and command line, its figures."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

OURS = ("--disable-plugin-autoload", "-p", "pytest_agentmail.plugin", "-Werror")
USES = """
    def test_it(ledger, agent_run, mailbox, signals):
        assert ledger is agent_run.ledger
        assert ledger.snapshot.recipient == mailbox.address
        print("store", type(ledger.store).__name__, getattr(ledger.store, "path", ""))
"""


@pytest.fixture
def run(pytester):
    def run(*args, ini="", source=USES, plugins=()):
        pytester.makeini(f"[pytest]\n{ini}")
        pytester.makepyfile(source)
        chosen = [arg for name in plugins for arg in ("-p", name)]
        return pytester.runpytest_subprocess(*OURS, "-s", *chosen, *args)

    return run


def runs_in(path):
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("SELECT run_id FROM runs")]


def test_the_default_is_memory(run):
    result = run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*store MemoryStore*"])


def test_ini_command_line_and_marker(run, pytester):
    result = run(ini="agentmail_store = sqlite:///ini.db")
    result.stdout.fnmatch_lines(["agentmail: store=sqlite:///ini.db", "*store SQLiteStore ini.db*"])
    result = run("--agentmail-store=sqlite:///cli.db", ini="agentmail_store = sqlite:///ini.db")
    result.stdout.fnmatch_lines(["*store SQLiteStore cli.db*"])
    result = run(
        "--agentmail-store=sqlite:///cli.db",
        source="""
            import pytest

            @pytest.mark.agentmail(store="sqlite:///marked.db", resume_minimum=3)
            def test_it(ledger):
                print("store", type(ledger.store).__name__, ledger.store.path)
        """,
    )
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*store SQLiteStore marked.db*"])
    assert len(runs_in(pytester.path / "marked.db")) == 1
    assert sorted(path.name for path in pytester.path.glob("*.db*")) == [
        "cli.db", "ini.db", "marked.db",
    ]  # fmt: skip


def test_sqlite_alone_is_in_pytests_own_folder(run, pytester):
    result = run("--agentmail-store=sqlite", "--basetemp=own")
    result.assert_outcomes(passed=1)
    [path] = [path for path in pytester.path.rglob("*") if "sqlite" in path.suffix]
    assert path.is_relative_to(pytester.path / "own")
    assert len(runs_in(path)) == 1


def test_a_store_that_is_none_is_a_usage_error_without_its_password(run):
    result = run("--agentmail-store=mysql://ada:s3cret@host/app")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "ERROR: --agentmail-store: 'mysql://ada@host/app' is not allowed: expected 'memory', "
            "'sqlite' (a file in pytest's temporary folder), 'sqlite:///path' or "
            "'postgresql://user@host/database'"
        ]
    )


def test_the_header_shows_no_password(run):
    result = run("--agentmail-store=postgresql://ada:s3cret@host/app?x=1", "--collect-only")
    result.stdout.fnmatch_lines(["agentmail: store=postgresql://ada@host/app"])
    result.stdout.no_fnmatch_line("*s3cret*")


def test_a_bad_marker_is_an_error_that_names_it(run):
    result = run(
        source="""
            import pytest

            @pytest.mark.agentmail(resume_minimum=-1)
            def test_it(ledger):
                pass
        """
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*@pytest.mark.agentmail, resume_minimum: -1 is not allowed: "
            "expected a whole number, 0 or more*"
        ]
    )


def test_a_store_that_cannot_be_opened_is_an_error_that_names_it(run, pytester):
    (pytester.path / "runs.db").write_text("no database at all, but some text")
    result = run("--agentmail-store=sqlite:///runs.db")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["E *StoreCorrupt: the store runs.db cannot be read: *"])


FIGURES = """
    import pytest

    @pytest.mark.parametrize("number", range(4))
    def test_it(number, agent_run, signals):
        agent_run.drive(lambda run: run.ledger.append("verification_requested"))
        agent_run.drive(lambda run: run.ledger.append("lease_expired"))
        signals.check(signals.expect("verification_email"))
"""
TOLD = (
    "agentmail: 4 runs, 4 inbox queries, 4 of 4 resumes succeeded, "
    "0 transitions refused as stale, 0 messages of other runs discarded"
)


def test_the_figures_of_the_session_are_told(run):
    """A11."""
    result = run(source=FIGURES)
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines([TOLD])


def test_they_are_not_told_where_no_ledger_was_kept(run):
    result = run(source="def test_it(agent_run): agent_run.drive(lambda run: 1)")
    result.stdout.no_fnmatch_line("agentmail: *")


def test_workers_share_a_file_and_their_figures_are_told_together(run, pytester):
    """A11; I5, I10: each run is whole, whoever wrote beside it."""
    result = run("-n2", "--agentmail-store=sqlite:///shared.db", source=FIGURES, plugins=["xdist"])
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines([TOLD])
    assert len(set(runs_in(pytester.path / "shared.db"))) == 4
    assert [path.name for path in pytester.path.glob("shared.db*")] == ["shared.db"]


def test_workers_with_sqlite_alone_have_a_file_each(run, pytester):
    result = run(
        "-n2", "--agentmail-store=sqlite", "--basetemp=own", source=FIGURES, plugins=["xdist"]
    )
    result.assert_outcomes(passed=4)
    files = list((pytester.path / "own").rglob("runs.sqlite"))
    assert sum(len(runs_in(file)) for file in files) == 4
    assert len(files) == 2


def test_a_worker_that_crashed_gives_none(run):
    result = run(
        "-n1", "--max-worker-restart=0", plugins=["xdist"],
        source="""
            import os

            def test_it(ledger):
                os._exit(3)
        """,
    )  # fmt: skip
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("agentmail: *")
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_figures_are_told_when_the_session_stops_early(run):
    """The session's fixtures are then torn down while it finishes."""
    source = FIGURES + "        if number == 1:\n            pytest.exit('enough')\n"
    result = run(source=source)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["agentmail: 2 runs, *"])
