"""Header fields in every broken form."""

from __future__ import annotations

import pytest

from pytest_agentmail.mail.headers import Headers, NamedAddress, addresses, decode_words, parameters


def octets(text: str, charset: str = "utf-8") -> str:
    """As the parser hands it over: each octet a character."""
    return text.encode(charset).decode("latin-1")


@pytest.mark.parametrize(
    ("raw", "text", "notes"),
    [
        ("plain", "plain", []),
        ("=?utf-8?Q?caf=C3=A9_au_lait?=", "café au lait", []),
        ("=?UTF-8?b?Y2Fmw6k=?=", "café", []),
        ("=?utf-8*fr?q?caf=c3=a9?=", "café", []),
        ("=?utf-8?Q?a?= =?utf-8?Q?b?=", "ab", []),
        ("=?utf-8?Q?a?=\r\n =?utf-8?Q?b?=", "ab", []),
        ("=?utf-8?Q?caf=C3?= =?utf-8?Q?=A9?=", "café", []),
        ("=?utf-8?Q?a?= =?iso-8859-1?Q?=E9?=", "aé", []),
        ("=?utf-8?Q?a?= and =?utf-8?Q?b?=", "a and b", []),
        ("=?utf-8?Q?two words?=", "two words", []),
        ("=?utf-8?B?Y2Fmw6k?=", "café", []),
        ("=?utf-8?B?Y2F\r\n mw6k=?=", "café", []),
        ("=?utf-8?B?Y2Fmw!6k=?=", "café", ["a base64 word in a header is damaged"]),
        ("=?utf-8?Q?no end", "no end", ["an encoded word without an end was read to the end of its header"]),
        ("=?utf-8?Q?is_it_you??=", "is it you?", []),
        ("=?gb2312?B?0enWpMLr?=", "验证码", []),
        ("=?us-ascii?Q?caf=C3=A9?=", "café", ["text labelled us-ascii is UTF-8 and was read as such"]),
        ("=?utf-8?Q?=3D=3Futf-8=3FQ=3Ftwice=3F=3D?=", "twice", []),
        (octets("raw café"), "raw café", []),
        (octets("Код подтверждения", "koi8-r"), "Код подтверждения", ["text labelled nothing was read as koi8-u"]),
        ("a\r\n\tb", "a b", []),
        ("a\x00b\x07", "ab", ["control characters in a header were removed"]),
    ],
)  # fmt: skip
def test_encoded_words(raw, text, notes):
    noted: list[str] = []
    assert decode_words(raw, noted) == text
    assert noted == notes


def test_words_inside_words_inside_words_are_left_in_the_end():
    text = "=?utf-8?Q?thrice?="
    for _ in range(4):
        quoted = "".join(f"={octet:02X}" for octet in text.encode())
        text = f"=?utf-8?Q?{quoted}?="
    assert decode_words(text, []).startswith("=?utf-8?Q?")


@pytest.mark.parametrize(
    ("raw", "value", "found"),
    [
        ('text/plain; charset="utf-8"; Format=flowed', "text/plain", {"charset": "utf-8", "format": "flowed"}),
        ("TEXT/HTML;charset=utf-8;", "text/html", {"charset": "utf-8"}),
        ("a; filename*=utf-8''caf%C3%A9.txt", "a", {"filename": "café.txt"}),
        ("a; filename*0*=utf-8''caf%C3; filename*1*=%A9; filename*2=.txt", "a", {"filename": "café.txt"}),
        ('a; filename*1="b.txt"; filename*0="a"', "a", {"filename": "ab.txt"}),
        ("a; filename*=caf%C3%A9", "a", {"filename": "café"}),
        ('a; filename="=?utf-8?Q?caf=C3=A9?="', "a", {"filename": "café"}),
        ('a; name="say \\"hi\\""', "a", {"name": 'say "hi"'}),
        ('a; name="no end', "a", {"name": "no end"}),
    ],
)  # fmt: skip
def test_parameters(raw, value, found):
    assert parameters(raw, []) == (value, found)


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        ("a@b.example", [("", "a@b.example")]),
        ("Ann <a@b.example>, c@d.example", [("Ann", "a@b.example"), ("", "c@d.example")]),
        ('"Doe, Ann" <a@b.example>', [("Doe, Ann", "a@b.example")]),
        ("=?utf-8?Q?M=C3=BCller=2C_Jan?= <a@b.example>", [("Müller, Jan", "a@b.example")]),
        ("a@b.example (Ann)", [("Ann", "a@b.example")]),
        ("undisclosed-recipients:;", []),
        ("friends: a@b.example, c@d.example;", [("", "a@b.example"), ("", "c@d.example")]),
        ("help@good.example <a@bad.example>", [("help@good.example", "a@bad.example")]),
        ("<@relay.example:a@b.example>", [("", "a@b.example")]),
        ("Ann < a@b.\r\n example >", [("Ann", "a@b.example")]),
        ("<mailto:a@b.example>", [("", "a@b.example")]),
        ("Ann <a@b.example", [("Ann", "a@b.example")]),
        ("Just a name", [("Just a name", "")]),
        (octets("Jörg <jörg@müller.example>"), [("Jörg", "jörg@müller.example")]),
        ("\x1b$B$+$b$a;TEE;R?=@A\x1b(B <a@b.example>", [("かもめ市電子申請", "a@b.example")]),
        ("\x1b$B$+$b$a;T", [("かもめ市", "")]),
        ("", []),
        ("<>, ,", []),
    ],
)
def test_addresses(raw, found):
    assert addresses(raw, []) == [NamedAddress(*each) for each in found]


def test_headers_are_found_in_any_case():
    headers = Headers([("Received", "one"), ("Subject", "hi"), ("received", "two")])
    assert headers["RECEIVED"] == "one"
    assert headers.get_all("Received") == ("one", "two")
    assert headers.get("x-none") is None
    assert headers.get("x-none", "so") == "so"
    assert "subject" in headers
    assert "x-none" not in headers
    assert 3 not in headers
    assert list(headers) == ["Received", "Subject", "received"]
    assert len(headers) == 3
    assert headers.items() == (("Received", "one"), ("Subject", "hi"), ("received", "two"))
    assert repr(Headers([("A", "b")])) == "Headers([('A', 'b')])"
    with pytest.raises(KeyError):
        headers["x-none"]
