"""A web app with accounts: it takes a sign-up, answers, and sends the verification mail later.

It reads `SMTP_HOST`, `SMTP_PORT` and `DATABASE` from the environment, listens on a free port of
127.0.0.1, and prints its URL once it takes requests.
"""

import os
import secrets
import smtplib
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage

import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

SCHEMA = """
CREATE TABLE IF NOT EXISTS accounts (
    id INTEGER PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    code TEXT NOT NULL,
    token TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'unconfirmed'
)
"""

outbox_open = threading.Event()
outbox_open.set()


@contextmanager
def accounts() -> Iterator[sqlite3.Connection]:
    """The accounts, in one transaction."""
    connection = sqlite3.connect(os.environ["DATABASE"])
    connection.row_factory = sqlite3.Row
    try:
        with connection:
            yield connection
    finally:
        connection.close()


def send_verification(email: str, code: str, link: str) -> None:
    """Wait until the outbox is open, then send."""
    mail = EmailMessage()
    mail["From"] = "Example Shop <no-reply@shop.example>"
    mail["To"] = email
    mail["Subject"] = "Confirm your account"
    mail.set_content(f"Your code is {code}.\n\nOr open this link:\n{link}\n")
    outbox_open.wait()
    with smtplib.SMTP(os.environ["SMTP_HOST"], int(os.environ["SMTP_PORT"])) as smtp:
        smtp.send_message(mail)


def new_secrets() -> tuple[str, str]:
    """A code to type in, and a token for a link."""
    return str(100_000 + secrets.randbelow(900_000)), secrets.token_urlsafe(16)


def accepted(request: Request, account: int, email: str, code: str, token: str) -> JSONResponse:
    """Answer 202; the mail is sent after that."""
    link = f"{request.base_url}confirm?token={token}"
    return JSONResponse(
        {"id": account}, 202, background=BackgroundTask(send_verification, email, code, link)
    )


def account_of(request: Request, db: sqlite3.Connection) -> sqlite3.Row:
    """The account the URL names."""
    query = "SELECT * FROM accounts WHERE id = ?"
    account = db.execute(query, [request.path_params["id"]]).fetchone()
    if account is None:
        raise HTTPException(404, "there is no such account")
    return account


async def sign_up(request: Request) -> JSONResponse:
    email = (await request.json())["email"]
    code, token = new_secrets()
    insert = "INSERT INTO accounts (email, code, token) VALUES (?, ?, ?)"
    try:
        with accounts() as db:
            account = db.execute(insert, [email, code, token]).lastrowid
    except sqlite3.IntegrityError as error:
        raise HTTPException(409, "there is an account with this address") from error
    return accepted(request, account, email, code, token)


def resend(request: Request) -> JSONResponse:
    """A new code and a new link; the old ones do not count any more."""
    code, token = new_secrets()
    with accounts() as db:
        account = account_of(request, db)
        db.execute(
            "UPDATE accounts SET code = ?, token = ? WHERE id = ?", [code, token, account["id"]]
        )
    return accepted(request, account["id"], account["email"], code, token)


async def confirm_by_code(request: Request) -> JSONResponse:
    code = (await request.json())["code"]
    with accounts() as db:
        account = account_of(request, db)
        if not secrets.compare_digest(account["code"], str(code)):
            raise HTTPException(422, "wrong code")
        db.execute("UPDATE accounts SET state = 'confirmed' WHERE id = ?", [account["id"]])
    return JSONResponse({"state": "confirmed"})


def confirm_by_link(request: Request) -> JSONResponse:
    update = "UPDATE accounts SET state = 'confirmed' WHERE token = ?"
    with accounts() as db:
        if not db.execute(update, [request.query_params.get("token")]).rowcount:
            raise HTTPException(422, "wrong link")
    return JSONResponse({"state": "confirmed"})


def show(request: Request) -> JSONResponse:
    with accounts() as db:
        account = account_of(request, db)
    return JSONResponse({"email": account["email"], "state": account["state"]})


def find(request: Request) -> JSONResponse:
    query = "SELECT * FROM accounts WHERE email = ?"
    with accounts() as db:
        account = db.execute(query, [request.query_params.get("email")]).fetchone()
    if account is None:
        raise HTTPException(404, "there is no account with this address")
    return JSONResponse({"id": account["id"], "state": account["state"]})


def open_outbox(_: Request) -> JSONResponse:
    outbox_open.set()
    return JSONResponse({"open": True})


def close_outbox(_: Request) -> JSONResponse:
    """Mail waits from now on, as it does when a mail queue is paused."""
    outbox_open.clear()
    return JSONResponse({"open": False})


app = Starlette(
    routes=[
        Route("/accounts", sign_up, methods=["POST"]),
        Route("/accounts", find),
        Route("/accounts/{id:int}", show),
        Route("/accounts/{id:int}/confirm", confirm_by_code, methods=["POST"]),
        Route("/accounts/{id:int}/resend", resend, methods=["POST"]),
        Route("/confirm", confirm_by_link),
        Route("/outbox", open_outbox, methods=["PUT"]),
        Route("/outbox", close_outbox, methods=["DELETE"]),
    ]
)


def main() -> None:
    with accounts() as db:
        db.execute(SCHEMA)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5)
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
