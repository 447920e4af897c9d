"""A certificate for the sink, and the authority that vouches for it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from pytest_agentmail.errors import SinkError

if TYPE_CHECKING:
    import ssl

__all__ = ["Identity", "identity"]

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Identity(NamedTuple):
    """What a server proves who it is with."""

    context: ssl.SSLContext
    """For the server; with the certificate and its key."""
    authority: bytes
    """For clients; the authority's certificate, as PEM."""


@cache
def identity(host: str) -> Identity:
    """A certificate for `host` and for loopback, the same for the whole process.

    Its dates are fixed, so no frozen clock can make it one that is not valid yet.

    Raises:
        SinkError: The extra `tls` is not installed, or `host` is no name for a certificate.
    """
    import ssl

    try:
        import trustme
    except ImportError as error:
        raise SinkError(
            "TLS needs the library trustme; install it with: pip install 'pytest-agentmail[tls]'"
        ) from error
    authority = trustme.CA(organization_name="pytest_agentmail")
    try:
        certificate = authority.issue_cert(*dict.fromkeys((host, *_LOOPBACK)))
    except ValueError as error:
        raise SinkError(f"no certificate can be made for host {host!r}: {error}") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return Identity(context, authority.cert_pem.bytes())
