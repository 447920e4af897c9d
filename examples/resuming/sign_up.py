"""Sign up on the app. Kill it whenever you like, and start it again with the same arguments.

Usage: python -m resuming.sign_up RUN_ID STORE APP_URL MAIL_FOLDER
"""

import sys
from datetime import timedelta
from pathlib import Path

import httpx

from pytest_agentmail import Ledger, SignalQueue
from pytest_agentmail.clock.real import RealClock

from .agent import work
from .executor import Executor, Fact
from .inbox import Inbox


def main(run_id, store, app_url, mail_folder):
    clock = RealClock()
    ledger = Ledger.open(store, run_id=run_id, clock=clock, resume_minimum=1)
    signals = SignalQueue(Inbox(Path(mail_folder)), ledger.store, clock, run_id=run_id)

    def lease():
        recipient = f"{run_id}.{ledger.version}@mail.example"
        until = clock.now() + timedelta(hours=1)
        return Fact("mailbox_leased", {"recipient": recipient, "lease_expires_at": until})

    with httpx.Client(base_url=app_url) as app:
        executor = Executor(ledger, signals, app, lease)
        snapshot = work(ledger, executor, tell=lambda action: print(action, flush=True))
    print(snapshot.verification, flush=True)
    print(ledger.explain())
    ledger.store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
