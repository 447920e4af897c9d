"""What a store may be called, and how its name is shown."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

__all__ = ["ALLOWED", "checked_url", "masked_url", "sqlite_path"]

ALLOWED = "memory, sqlite, sqlite:///path, postgresql://user@host/database"


def checked_url(url: str) -> str:
    """`url`, if it can name a store; whether the store is there is another matter.

    Raises:
        ValueError: It cannot.
    """
    scheme, separator, _ = url.partition("://")
    if url in {"memory", "sqlite"} or (separator and scheme in {"postgresql", "postgres"}):
        return url
    sqlite_path(url)
    return url


def sqlite_path(url: str) -> str:
    """The path in `sqlite:///path`; with four slashes it is an absolute one.

    Raises:
        ValueError: It is no such URL.
    """
    parts = urlsplit(url)
    other = parts.netloc or parts.query or parts.fragment
    if parts.scheme != "sqlite" or other or len(parts.path) < 2:  # noqa: PLR2004 - "/" and a name
        shown = url if parts.scheme == "sqlite" else masked_url(url)
        raise ValueError(f"there is no store {shown!r}; allowed: {ALLOWED}")
    return unquote(parts.path[1:])


def masked_url(url: str) -> str:
    """`url` without its password and its query, to be shown."""
    scheme, separator, rest = url.partition("://")
    place = rest.partition("?")[0]
    user, at, host = place.rpartition("@")
    return f"{scheme}{separator}{user.partition(':')[0]}{at}{host}"
