"""Transfer encodings and charsets, right and wrong."""

from __future__ import annotations

import pytest

from pytest_agentmail.mail.decoding import decode_text
from pytest_agentmail.mail.transfer import decode_transfer

RUSSIAN = "Код подтверждения адреса: 840216. Он действует 20 минут."
LONG = b"Please confirm your address at https://a.example/c?token=3Dabcdefghijkl=\r\nmnop\r\n"


@pytest.mark.parametrize(
    ("payload", "encoding", "octets", "note"),
    [
        (b"a=3Db", "Quoted-Printable", b"a=b", None),
        (b"a=\r\nb", "quoted-printable", b"ab", None),
        (b"a=  \r\nb", "quoted-printable", b"ab", None),
        (b"1 = 2", "quoted-printable", b"1 = 2", "a '=' that starts no quoted-printable octet was kept as it is"),
        (b"Y29kZQ==", "base64", b"code", None),
        (b"Y29k\r\nZQ", ' "base64"; ', b"code", None),
        (b"Y29\x0bk!ZQ==", "base64", b"code", "characters that are not base64 were skipped"),
        (b"Y29kZ", "base64", b"cod", "the base64 body is cut short"),
        (b"Y29kZQ==Y29kZQ==", "base64", b"codecode", None),
        (b"Q29kZSAxMjM0NTYsIGVudGVyIGl0Lgo=\n\n__________\nChecked by\n", "base64", b"Code 123456, enter it.\n\n\n__________\nChecked by", "plain text behind the base64 body was kept"),
        (b"-_-_", "base64", b"\xfb\xff\xbf", None),
        (b"<p>Code: 123</p>", "base64", b"<p>Code: 123</p>", "a body labelled base64 holds plain text and was left as it is"),
        (b"begin 644 a\n$8V]D90\n$8V]D90\nend\n", "x-uuencode", b"codecode", None),
        (b"\xff\xff\n", "uuencode", b"", "an unreadable line of the uuencoded body was skipped"),
        (b"code", "x-strange", b"code", "unknown transfer encoding 'x-strange'; the body was left as it is"),
        (b"code", "", b"code", None),
        (LONG, "7bit", LONG.replace(b"=3D", b"=").replace(b"=\r\n", b""), "quoted-printable without a label that says so was decoded"),
        (b"WW91ciBjb2RlIGlzIDEyMzQ1NiwgcGxlYXNlIGVudGVyIGl0IG5vdw==", "8bit", b"Your code is 123456, please enter it now", "a base64 body without a label that says so was decoded"),
        (b"/" * 48, "7bit", b"/" * 48, None),
        (b"AAAA" * 12, "7bit", b"AAAA" * 12, None),
    ],
)  # fmt: skip
def test_transfer_encodings(payload, encoding, octets, note):
    notes: list[str] = []
    assert decode_transfer(payload, encoding, notes) == octets
    assert notes == ([note] if note else [])


@pytest.mark.parametrize(
    "label", [None, "utf-8", "us-ascii", "iso-8859-1", "windows-1251", "gb2312"]
)
def test_koi8_r_under_any_label(label):
    notes: list[str] = []
    assert decode_text(RUSSIAN.encode("koi8-r"), label, notes) == RUSSIAN
    assert f"text labelled {label or 'nothing'} was read as koi8-u" in notes


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        ("您的验证码是 123456，请在10分钟内输入。", "gbk"),
        ("您的驗證碼是 123456，請於10分鐘內輸入。", "big5"),
        ("認証コードは 123456 です。", "shift_jis"),
        ("認証コードは 123456 です。", "euc-jp"),
        ("認証コードは 123456 です。", "iso-2022-jp"),
        ("인증번호는 123456 입니다. 10분 안에", "euc-kr"),
        ("인증번호는 123456", "iso-2022-kr"),
        ("Ο κωδικός επαλήθευσης είναι 123456", "iso-8859-7"),
        ("קוד האימות שלך הוא 123456", "windows-1255"),
        ("رمز التحقق الخاص بك هو 123456", "windows-1256"),
        ("Twój kod weryfikacyjny to 123456. Jest ważny", "iso-8859-2"),
        ("Ihr Bestätigungscode lautet 123456. Er ist gültig.", "iso-8859-1"),
        ("รหัสยืนยันของคุณคือ 123456", "tis-620"),
    ],
)
def test_a_missing_label_is_made_up_for(text, charset):
    assert decode_text(text.encode(charset), None, []) == text
    assert decode_text(text.encode(charset), "x-no-such-charset", []) == text
    assert decode_text(text.encode(charset), charset, []) == text


@pytest.mark.parametrize(
    ("octets", "label", "text", "notes"),
    [
        (b"caf\xc3\xa9", "ascii", "café", ["text labelled ascii is UTF-8 and was read as such"]),
        (b"a\x00b", "utf-8", "ab", ["NUL characters were removed"]),
        (b"\xef\xbb\xbfcode", "latin1", "code", []),
        ("code".encode("utf-16"), None, "code", []),
        (b"\xfe\xff\x00a", "utf-8", "a", []),
        ("code".encode("utf-16-le"), "utf-16le", "code", []),
        (b"code", "zlib", "code", ["unknown charset 'zlib'"]),
        (b"code +AOk-", "utf-7", "code é", []),
        (b"code", "rot13", "code", ["unknown charset 'rot13'"]),
        ("é".encode() * 20 + b"\xff", "utf-8", "é" * 20 + "\ufffd", ["octets that are not utf-8 were replaced"]),
        (b"\xe9t\xe9 fran\xe7ais", "windows-1252", "été français", []),
        (b"~{4zBk~}", "hz-gb-2312", "代码", []),
    ],
)  # fmt: skip
def test_labels(octets, label, text, notes):
    noted: list[str] = []
    assert decode_text(octets, label, noted) == text
    assert noted == notes


def test_what_is_no_text_is_still_read():
    noted: list[str] = []
    assert isinstance(decode_text(bytes(range(128, 256)), None, noted), str)
    assert noted
    assert isinstance(decode_text(b"\x81\x8d\x8f", None, []), str)
