"""Addresses: how they are compared, tagged and made."""

from __future__ import annotations

import hashlib
import re
import secrets
import string
from functools import lru_cache
from typing import NamedTuple

__all__ = [
    "Address",
    "canonical",
    "canonical_domain",
    "random_letters",
    "stable_address",
    "unique_address",
]

# Letters only, so that no part of an address can be taken for a code.
_ALPHABET = string.ascii_lowercase
_LENGTH = 16
_DOMAIN_LIMIT = 254  # RFC 1035 §2.3.4, with the last dot
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")


class Address(NamedTuple):
    """The parts of an address: `local` + optional `tag` @ `domain`, ready to be compared."""

    local: str
    tag: str | None
    domain: str

    @classmethod
    def parse(cls, address: str) -> Address:
        """The parts of `address`.

        The local part is compared without case: RFC 5321 §2.4 leaves it to the receiving host,
        which is us. A `+tag` belongs to the address before it (RFC 5233).

        Raises:
            ValueError: There is no local part, or no domain that could be one.
        """
        local, at, domain = address.strip().strip("<>").rpartition("@")
        if not (local and at):
            raise ValueError(f"{address!r} is no mail address: expected local-part@domain")
        base, plus, tag = local.casefold().partition("+")
        if plus and not base:
            base, plus, tag = local.casefold(), "", ""
        return cls(base, tag if plus else None, canonical_domain(domain))

    @property
    def base(self) -> str:
        """The address without its tag."""
        return f"{self.local}@{self.domain}"


def canonical(address: str) -> str:
    """The form of `address` under which a lease is kept: lower case, no tag, ASCII domain."""
    return Address.parse(address).base


@lru_cache(maxsize=1024)
def canonical_domain(domain: str) -> str:
    """`domain` in lower case and in its ASCII form (RFC 5890), so that both forms are one.

    Raises:
        ValueError: It is no domain name.
    """
    if domain.startswith("[") and domain.endswith("]"):
        return domain.lower()
    if len(domain) > _DOMAIN_LIMIT:
        raise ValueError(f"{domain!r} is no domain name")
    try:
        unicode = ".".join(map(_unicode_label, domain.lower().split(".")))
        name = unicode.encode("idna").decode("ascii").lower().removesuffix(".")
    except UnicodeError:
        name = ""
    if not (len(name) <= _DOMAIN_LIMIT and all(map(_LABEL.fullmatch, name.split(".")))):
        raise ValueError(f"{domain!r} is no domain name")
    return name


def _unicode_label(label: str) -> str:
    """The label's Unicode form, whichever edition of IDNA its ASCII form was made by."""
    return label[4:].encode("ascii").decode("punycode") if label.startswith("xn--") else label


def unique_address(domain: str) -> str:
    """An address nobody had before: 75 random bits, so it repeats on no worker and no machine."""
    return f"{random_letters()}@{domain}"


def stable_address(seed: str, domain: str) -> str:
    """The address that belongs to `seed` (a test's id): the same in every session."""
    digest = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()
    letters = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:_LENGTH])
    return f"{letters}@{domain}"


def random_letters() -> str:
    """Sixteen letters that nobody can guess and no other call gives."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
