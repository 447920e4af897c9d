"""Addresses: compared, tagged and made."""

from __future__ import annotations

import re

import pytest

from pytest_agentmail.mail.address import (
    Address,
    canonical,
    canonical_domain,
    random_letters,
    stable_address,
    unique_address,
)


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("ada@y.example", ("ada", None, "y.example")),
        ("Ada@Y.Example", ("ada", None, "y.example")),
        (" <ada@y.example> ", ("ada", None, "y.example")),
        ("ada+shop@y.example", ("ada", "shop", "y.example")),
        ("ada+@y.example", ("ada", "", "y.example")),
        ("ada+a+b@y.example", ("ada", "a+b", "y.example")),
        ("+shop@y.example", ("+shop", None, "y.example")),
        ('"ada b"@y.example', ('"ada b"', None, "y.example")),
        ('"a@b"@y.example', ('"a@b"', None, "y.example")),
        ("ada@y.example.", ("ada", None, "y.example")),
        ("ada@[127.0.0.1]", ("ada", None, "[127.0.0.1]")),
        ("ada@[IPv6:::1]", ("ada", None, "[ipv6:::1]")),
        ("Ünal@Bücher.example", ("ünal", None, "xn--bcher-kva.example")),
    ],
)
def test_parts(address, parts):
    assert Address.parse(address) == parts


@pytest.mark.parametrize("text", ["", "ada", "@y.example", "ada@"])
def test_what_is_no_address(text):
    with pytest.raises(ValueError, match="is no"):
        Address.parse(text)


@pytest.mark.parametrize(
    "forms",
    [
        ("bücher.example", "BÜCHER.example", "xn--bcher-kva.example", "XN--BCHER-KVA.EXAMPLE"),
        ("例子.测试", "xn--fsqu00a.xn--0zwm56d"),
        ("münchen。example", "xn--mnchen-3ya.example"),
        # The two editions of IDNA write it differently.
        ("faß.example", "xn--fa-hia.example"),
    ],
)
def test_all_forms_of_a_domain_are_one(forms):
    assert len({canonical_domain(form) for form in forms}) == 1
    assert len({canonical(f"ada+tag@{form}") for form in forms}) == 1


@pytest.mark.parametrize(
    "domain",
    ["", ".", "-a.example", "a-.example", "a..b", "a b", "a_b.example", "x" * 64, "a." * 127 + "a",
     "x" * 100_000, "xn--ü", "xn--" + "9" * 50, "\udcff.example", "a@b", "ü" * 64],
)  # fmt: skip
def test_what_is_no_domain(domain):
    with pytest.raises(ValueError, match=r"is no domain name$"):
        canonical_domain(domain)


def test_unique_addresses_are_unique_plain_and_free_of_codes():
    made = {unique_address("y.example") for _ in range(1000)}
    assert len(made) == 1000
    assert all(re.fullmatch(r"[a-z]{16}@y\.example", address) for address in made)


def test_stable_addresses_belong_to_their_seed():
    address = stable_address("tests/test_a.py::test_b[ü\udcff]", "y.example")
    assert address == stable_address("tests/test_a.py::test_b[ü\udcff]", "y.example")
    assert address != stable_address("tests/test_a.py::test_c", "y.example")
    assert re.fullmatch(r"[a-z]{16}@y\.example", address)


def test_random_letters():
    assert re.fullmatch(r"[a-z]{16}", random_letters())
