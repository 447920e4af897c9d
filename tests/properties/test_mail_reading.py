"""Any mail can be read, and what was put into it comes out (B7, B9, B10)."""

from __future__ import annotations

import base64
import html
import quopri
import random
import re
import time
from email.header import Header
from functools import reduce
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentmail.errors import AmbiguousMail
from pytest_agentmail.mail.composing import rewritten
from pytest_agentmail.mail.content import Content
from pytest_agentmail.mail.decoding import decode_text
from pytest_agentmail.mail.extraction.languages import LANGUAGES
from pytest_agentmail.mail.transfer import decode_transfer
from pytest_agentmail.world import Adversary

CORPUS = Path(__file__).parents[1] / "corpus"
SEEDS = sorted([*CORPUS.glob("tuned/*.eml"), *CORPUS.glob("cases/*.eml")])
PROPERTIES = [
    "sha256",
    "fingerprint",
    "headers",
    "subject",
    "sender",
    "sender_name",
    "recipients",
    "message_id",
    "date",
    "text",
    "html",
    "visible_text",
    "codes",
    "links",
    "code_candidates",
    "link_candidates",
    "attachments",
    "defects",
]


def read_everything(raw: bytes) -> Content:
    content = Content(raw)
    for name in PROPERTIES:
        getattr(content, name)
    for name in ("code", "link"):
        try:
            getattr(content, name)
        except AmbiguousMail:
            assert len(getattr(content, f"{name}s")) > 1
    return content


# --- whatever arrives ----------------------------------------------------------------------------


@given(st.binary(max_size=2000))
@settings(max_examples=150)
def test_arbitrary_bytes_can_be_read(raw):
    read_everything(raw)


FRAGMENTS = st.sampled_from(
    [
        b"Subject: ", b"=?utf-8?B?", b"=?koi8-r?Q?=", b"?=", b"\r\n", b"\n", b"\r", b"\r\n\r\n",
        b"Content-Type: multipart/mixed; boundary=x\r\n", b"Content-Type: text/html; charset=",
        b"--x\r\n", b"--x--", b"Content-Transfer-Encoding: base64\r\n", b"<div style='", b"color:#fff",
        b"display:none", b"'>", b"<a href='https://a.example/?t=", b"</", b"<!--", b"code 123456",
        b"Content-Type: message/rfc822\r\n\r\n", b"\x00", b"\xff\xfe", b"&#x41;", b"=\r\n", b"=3D",
        b"utf-16", b"hz", b"rot13", b"<style>.a{", b"}", b"From: <", b">", b'"', b"filename*0*=''%",
        b"format=flowed", b"https://[", b"\x1b$B", b"1 2 3 4 5 6",
    ]
)  # fmt: skip


@given(st.lists(st.one_of(FRAGMENTS, st.binary(max_size=12)), max_size=60).map(b"".join))
@settings(max_examples=150)
def test_pieces_of_mail_in_any_order_can_be_read(raw):
    read_everything(raw)


@given(
    st.one_of(
        st.binary(max_size=300),
        st.lists(st.one_of(FRAGMENTS, st.binary(max_size=12)), max_size=60).map(b"".join),
    ),
    st.lists(st.sampled_from(get_args(Adversary)), min_size=1, max_size=3),
)
def test_any_bytes_can_be_rewritten_and_read_then(raw, kinds):
    read_everything(reduce(rewritten, kinds, raw))


@given(st.binary(max_size=300), st.text(max_size=20), st.text(max_size=20))
def test_decoding_never_raises(octets, encoding, charset):
    assert isinstance(decode_text(decode_transfer(octets, encoding, []), charset, []), str)


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=200),
    st.sampled_from(["utf-8", "ascii", "iso-8859-1", "koi8-r", "gb2312", "no-such-set", ""]),
)
def test_utf8_is_read_under_any_label(text, label):
    if "\ufeff" not in text:
        assert decode_text(text.encode(), label, []) == text


def mutated(raw: bytes, rng: random.Random) -> bytes:
    octets = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 4, 16, 64))):
        place = rng.randrange(len(octets) + 1)
        kind = rng.randrange(5)
        if kind == 0 and place < len(octets):
            octets[place] = rng.randrange(256)
        elif kind == 1:
            del octets[place : place + rng.randrange(1, 40)]
        elif kind == 2:
            octets[place:place] = rng.randbytes(rng.randrange(1, 6))
        elif kind == 3:
            octets[place:place] = octets[place : place + rng.randrange(200)]
        else:
            octets[place:place] = rng.choice(
                (b"\r\n", b"=", b"<", b'"', b"\x00", b"--", b"&", b"?=")
            )
        if not octets:
            break
    return bytes(octets)


def fuzz(count: int, seed: int) -> float:
    """Read `count` mutated mails; give the seconds that the slowest took."""
    rng = random.Random(seed)
    seeds = [path.read_bytes() for path in SEEDS]
    slowest = 0.0
    for number in range(count):
        raw = mutated(rng.choice(seeds), rng)
        begun = time.perf_counter()
        try:
            read_everything(raw)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not be
            pytest.fail(f"mail {number} of seed {seed}: {error!r}\n{raw!r}")
        slowest = max(slowest, time.perf_counter() - begun)
    return slowest


def test_mutated_mail_can_be_read():
    fuzz(1_000, seed=1)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_hundred_thousand_mutated_mails_can_be_read():
    assert fuzz(100_000, seed=2) < 30


@pytest.mark.parametrize("depth", [1_000, 100_000])
@pytest.mark.parametrize("tag", ["div", "b", "table", "svg", "a", "blockquote"])
def test_deep_nesting_costs_nothing(tag, depth):
    raw = f"Content-Type: text/html\r\n\r\n{f'<{tag}>' * depth}Your code is 123456".encode()
    assert read_everything(raw).code == "123456"


def test_deep_multiparts_can_be_read():
    head = "".join(
        f"Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n" for n in range(2_000)
    )
    read_everything(f"Subject: x\r\n{head}Content-Type: text/plain\r\n\r\nCode: 123456".encode())


# --- the code that was put in --------------------------------------------------------------------

DIGITS = {
    "ascii": "0123456789",
    "fullwidth": "０１２３４５６７８９",
    "arabic": "٠١٢٣٤٥٦٧٨٩",
    "persian": "۰۱۲۳۴۵۶۷۸۹",
    "devanagari": "०१२३४५६७८९",
    "thai": "๐๑๒๓๔๕๖๗๘๙",
}
TEXTS = (
    "{word}: {code}",
    "{word} — {code}.",
    "{code}\n\n({word})",
    "{word}:\n\n{code}\n\n15:30",
    "{word}\n{code}",
)
PAGES = (
    "<p>{word}: <b>{code}</b></p>",
    "<style>p{{color:#202123}}</style><h1>{word}</h1><p style='font-size:28px'>{code}</p>",
    "<table><tr><td>{word}</td></tr><tr><td>{code}</td></tr></table><p>© 2026</p>",
    "<div>{word}:</div><div style='letter-spacing:4px'>{code}</div>",
    "<div style='display:none'>999111</div><p>{word}</p><h2>{code}</h2>",
    "<table><tr><td>{word}</td><td>{code}</td></tr></table>",
)
CELLS = "<p>{word}</p><table><tr>{cells}</tr></table>"

digit_codes = st.from_regex(r"[0-9]{4,8}", fullmatch=True).filter(
    lambda code: not re.fullmatch(r"(19|20)\d\d|[1-9]\d*000", code)
)
words = st.sampled_from(
    [
        (language, word)
        for language, entry in LANGUAGES.items()
        for word in entry.code.split("|")
        if "*" not in word
    ]
)


def encoded(subject: str, kind: str, body: str, encoding: str, charset: str = "utf-8") -> bytes:
    octets = body.replace("\n", "\r\n").encode(charset)
    if encoding == "base64":
        octets = base64.encodebytes(octets).replace(b"\n", b"\r\n")
    elif encoding == "quoted-printable":
        octets = quopri.encodestring(octets.replace(b"\r\n", b"\n")).replace(b"\n", b"\r\n")
    head = (
        f"From: a@shop.example\r\nSubject: {Header(subject, 'utf-8').encode()}\r\n"
        f"Content-Type: text/{kind}; charset={charset}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n"
    )
    return head.encode() + octets


encodings = st.sampled_from(["8bit", "base64", "quoted-printable"])


@given(digit_codes, words, st.sampled_from(TEXTS), encodings, st.sampled_from(sorted(DIGITS)))
@settings(max_examples=200)
def test_any_code_in_any_text_is_found(code, word, template, encoding, digits):
    written = code.translate(str.maketrans(DIGITS["ascii"], DIGITS[digits]))
    body = template.format(word=word[1], code=written)
    content = Content(encoded("Hello", "plain", body, encoding))
    assert content.code == code, (word, content.code_candidates)
    assert content.code_candidates[0].as_written == written


@given(digit_codes, words, st.sampled_from(PAGES), encodings)
@settings(max_examples=200)
def test_any_code_on_any_page_is_found(code, word, template, encoding):
    body = template.format(word=html.escape(word[1]), code=code)
    content = Content(encoded("Hello", "html", body, encoding))
    assert content.code == code, (word, content.code_candidates)


@given(
    digit_codes,
    words,
    st.sampled_from(["<td>{}</td>", "<td><span>{}</span></td>", "<td><p>{}</p></td>"]),
)
def test_a_digit_per_cell_is_one_code(code, word, cell):
    cells = "\n".join(cell.format(digit) for digit in code)
    content = Content(encoded("Hello", "html", CELLS.format(word=word[1], cells=cells), "base64"))
    assert content.code == code
    assert code in content.visible_text
    assert content.code_candidates[0].as_written == " ".join(code)


CHARSETS = {
    "de": ("iso-8859-1", "windows-1252"), "pl": ("iso-8859-2", "windows-1250"), "el": ("iso-8859-7",),
    "ru": ("koi8-r", "windows-1251", "iso-8859-5"), "uk": ("koi8-u",), "he": ("windows-1255",),
    "ar": ("windows-1256",), "th": ("tis-620",), "ja": ("shift_jis", "euc-jp", "iso-2022-jp"),
    "ko": ("euc-kr",), "zh": ("gb2312", "gbk", "gb18030"), "tr": ("iso-8859-9",),
}  # fmt: skip


@given(st.data(), digit_codes, st.sampled_from(sorted(CHARSETS)), encodings)
@settings(max_examples=150)
def test_any_code_in_any_charset_is_found(data, code, language, encoding):
    charset = data.draw(st.sampled_from(CHARSETS[language]))
    choices = [w for w in LANGUAGES[language].code.split("|") if "*" not in w and _fits(w, charset)]
    word = data.draw(st.sampled_from(choices))
    content = Content(encoded("Hello", "plain", f"{word}: {code}\n", encoding, charset))
    assert content.code == code
    assert word in content.text


def _fits(word: str, charset: str) -> bool:
    try:
        word.encode(charset)
    except UnicodeEncodeError:
        return False
    return True


@given(digit_codes)
def test_a_code_in_the_subject_alone_is_found(code):
    assert Content(encoded(f"{code} is your Acme code", "plain", "Hi!\n", "8bit")).code == code


@given(st.from_regex(r"[A-HJ-NP-Z]{2}[2-9][A-HJ-NP-Z2-9]{3,5}", fullmatch=True))
def test_letters_and_digits_stay_as_written(code):
    body = f"Your verification code is:\n\n{code}\n\nIt expires in 10 minutes.\n"
    assert Content(encoded("Sign in", "plain", body, "8bit")).code == code


# --- what must not be seen -------------------------------------------------------------------------

HIDDEN = (
    "<div style='display:none'>{}</div>",
    "<div style='display: none !important; color: red'>{}</div>",
    "<span style='visibility:hidden'>{}</span>",
    "<p style='opacity:0'>{}</p>",
    "<p style='font-size:0'>{}</p>",
    "<p style='font-size:1px;line-height:1px'>{}</p>",
    "<div style='max-height:0;overflow:hidden'>{}</div>",
    "<div style='mso-hide:all'>{}</div>",
    "<p hidden>{}</p>",
    "<p style='color:#ffffff'>{}</p>",
    "<p style='color:white'>{}</p>",
    "<div style='background:#123456'><p style='color:#123456'>{}</p></div>",
    "<table bgcolor='#eeeeee'><tr><td><font color='#eeeeee'>{}</font></td></tr></table>",
    "<p style='color:transparent'>{}</p>",
    "<p style='color:rgba(0,0,0,0)'>{}</p>",
    "<div style='position:absolute;left:-9999px'>{}</div>",
    "<div style='text-indent:-9999px'>{}</div>",
    "<!-- {} -->",
    "<!--[if mso]><p>{}</p><![endif]-->",
    "<style>.x{{content:'{}'}}</style>",
    "<script>var x='{}'</script>",
    "<title>{}</title>",
    "<template>{}</template>",
    "<style>.gone{{display:none}}</style><p class='gone'>{}</p>",
    "<input type='hidden' value='{}'>",
    "<div style='display:none'><div style='display:block'>{}</div></div>",
)


@given(digit_codes, digit_codes, st.sampled_from(HIDDEN), st.booleans())
@settings(max_examples=150)
def test_hidden_text_is_never_visible(code, hidden, template, first):
    if code in hidden or hidden in code:
        return
    shown = f"<p>Your code is <b>{code}</b></p>"
    trap = template.format(f"Your code is {hidden}")
    content = Content(encoded("Hello", "html", trap + shown if first else shown + trap, "8bit"))
    assert hidden not in content.visible_text
    assert content.code == code


# --- the link that was put in ------------------------------------------------------------------------

queries = st.text(
    st.sampled_from("abcdefXYZ0123456789-_.~%&=+/:@!$*;,"), min_size=1, max_size=80
).map(lambda text: re.sub(r"%(?![0-9A-F]{2})", "%25", text))
LINK_PAGES = (
    '<p>Hi</p><a href="{}">Confirm your e-mail address</a>',
    """<a href='https://shop.example/'><img src=x alt=Shop></a><p><a href='{}'>Verify</a></p>
    <p><a href='https://shop.example/terms'>Terms</a>
    <a href='https://shop.example/unsubscribe?t=1'>Unsubscribe</a></p>""",
    '<table><tr><td bgcolor="#222"><a style="color:#fff" href="{}">Jetzt bestätigen</a></td></tr></table>',
)


@given(queries, st.sampled_from(LINK_PAGES), encodings)
@settings(max_examples=150)
def test_any_link_on_a_page_comes_out_exactly(query, template, encoding):
    url = f"https://app.shop.example/verify?token=Ab3dE6gH9{query}"
    content = Content(encoded("Welcome", "html", template.format(html.escape(url)), encoding))
    assert content.link == url


@given(queries, encodings, st.sampled_from(["{}\n", "<{}>\n", "( {} )\n", "Click here: {}\n"]))
@settings(max_examples=150)
def test_any_link_in_a_text_comes_out_exactly(query, encoding, template):
    url = f"https://app.shop.example/verify?token=Ab3dE6gH9{query}x"
    if "&amp;" in url:
        return
    body = f"Please confirm your address:\n\n{template.format(url)}\nThanks\n"
    assert Content(encoded("Welcome", "plain", body, encoding)).link == url
