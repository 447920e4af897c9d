"""Small mails to read."""

from __future__ import annotations

from email.header import Header

from pytest_agentmail.mail.content import Content

HEAD = "From: Acme <no-reply@acme.example>\r\nTo: a@b.test\r\n"


def text_mail(body: str, subject: str = "Hello") -> Content:
    return _mail(f"Content-Type: text/plain; charset=utf-8\r\n\r\n{body}", subject)


def html_mail(body: str, subject: str = "Hello", text: str | None = None) -> Content:
    if text is None:
        return _mail(f"Content-Type: text/html; charset=utf-8\r\n\r\n{body}", subject)
    return _mail(
        "Content-Type: multipart/alternative; boundary=cut\r\n\r\n"
        f"--cut\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n"
        f"--cut\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{body}\r\n--cut--\r\n",
        subject,
    )


def _mail(rest: str, subject: str) -> Content:
    head = f"{HEAD}Subject: {Header(subject, 'utf-8').encode()}\r\n"
    return Content((head + rest.replace("\r\n", "\n").replace("\n", "\r\n")).encode())
