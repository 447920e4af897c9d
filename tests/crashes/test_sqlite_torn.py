"""A SQLite store whose file is cut or flipped (A8, C8; I5): a clean prefix, or an error."""

from __future__ import annotations

import struct
from contextlib import closing
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from pytest_agentmail.errors import SettingsError, StoreCorrupt, StoreUnavailable
from pytest_agentmail.runs.ledger import Ledger
from pytest_agentmail.stores.sqlite import SQLiteStore

START = datetime(2026, 10, 21, 15, tzinfo=UTC)
CLOCK = SimpleNamespace(now=lambda: START)
CONFIRM = {"subject": "Confirm"}
WAL_HEADER, FRAME_HEADER = 32, 24


class Server:
    def __init__(self):
        self.mails = []

    def accepted(self, run_id, criteria):
        return self.mails

    def open_connections(self, run_id):
        return 0

    def refusals(self, run_id):
        return []


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """Twenty commits with four sends among them: the file, its log, and what was seen of it."""
    path = tmp_path_factory.mktemp("history") / "runs.db"
    server, snapshots = Server(), {0: None}
    with closing(SQLiteStore(path)) as store:
        ledger = Ledger.open(store, run_id="run-1", clock=CLOCK, mail_log=server)
        send = ledger.once(
            lambda: server.mails.append(SimpleNamespace(content=str(len(server.mails)))),
            name="send",
            sends_mail=CONFIRM,
        )

        def note(snapshot):
            snapshots[snapshot.version] = snapshot

        until = START + timedelta(hours=1)
        note(ledger.append("mailbox_leased", recipient="a@mail.test", lease_expires_at=until))
        send()
        note(ledger.append("verification_requested"))
        for number in range(3):
            note(ledger.append("wait_started", signal_id=f"s{number}"))
            note(ledger.append("message_received", message_id=f"m{number}"))
            note(ledger.append("code_rejected"))
            send()
            note(ledger.append("resend_requested"))
        wal = path.with_name("runs.db-wal").read_bytes()
        main = path.read_bytes()
    return SimpleNamespace(
        main=main, wal=wal, whole=path.read_bytes(), snapshots=snapshots, server=server
    )


def frames(wal):
    """Where the log's frames begin, and where it ends."""
    size = FRAME_HEADER + struct.unpack(">I", wal[8:12])[0]
    return range(WAL_HEADER, len(wal) + 1, size)


def opened(tmp_path, main, wal):
    path = tmp_path / "torn.db"
    path.write_bytes(main)
    path.with_name("torn.db-wal").write_bytes(wal)
    path.with_name("torn.db-shm").unlink(missing_ok=True)
    return SQLiteStore(path)


def check_prefix(store, history):
    """The run is as it was at some version; and if sends are missing, that is found."""
    ledger = Ledger(store, "run-1", CLOCK, life=0)
    version = ledger.version
    if version:
        assert ledger.replay(upto=version) == history.snapshots[version]
    intents = [effect for effect in ledger.effects() if effect.sends_mail]
    resumed = Ledger.open(
        store, run_id="run-1", clock=CLOCK, mail_log=history.server, sends_mail=CONFIRM
    )
    assert resumed.rewind.rewound == (len(intents) < len(history.server.mails))
    return version, resumed.rewind.rewound


def test_a_log_that_is_cut_is_a_prefix_and_the_rewind_is_found(tmp_path, history):
    """I5: at every border of a frame, and inside every frame."""
    borders = frames(history.wal)
    assert len(borders) > 40
    cuts = sorted({0, 17, *(b + d for b in borders for d in (-9, 0, 12, 700) if b + d >= 0)})
    outcomes = set()
    for cut in cuts:
        with closing(opened(tmp_path, history.main, history.wal[:cut])) as store:
            outcomes.add(check_prefix(store, history))
    versions = [version for version, _ in sorted(outcomes)]
    assert {0, 14} <= set(versions)
    assert len(set(versions)) == 15
    assert {rewound for _, rewound in outcomes} == {True, False}


def test_a_flipped_byte_in_the_log_is_a_prefix_and_the_rewind_is_found(tmp_path, history):
    """One flipped bit takes everything after it; SQLite calls that whole, the mail does not."""
    rewound = []
    for at in range(0, len(history.wal), len(history.wal) // 120):
        torn = bytearray(history.wal)
        torn[at] ^= 0x10
        with closing(opened(tmp_path, history.main, bytes(torn))) as store:
            rewound.append(check_prefix(store, history)[1])
    assert any(rewound)


def test_a_flipped_byte_in_the_file_is_an_error_or_changes_nothing(tmp_path, history):
    errors = 0
    for at in range(0, len(history.whole), max(1, len(history.whole) // 250)):
        torn = bytearray(history.whole)
        torn[at] ^= 0x10
        try:
            with closing(opened(tmp_path, bytes(torn), b"")) as store:
                version, _ = check_prefix(store, history)
                assert version == 14
        except (StoreCorrupt, SettingsError, StoreUnavailable):
            errors += 1
    assert errors > 30


def test_without_its_log_the_file_is_empty_and_the_rewind_is_found(tmp_path, history):
    with closing(opened(tmp_path, history.main, b"")) as store:
        assert check_prefix(store, history) == (0, True)
