"""The corpus itself: complete, wide enough, and its expectations really in its mails.

The reading used here knows no extraction rule and shares no code with the package. The standard
library splits a mail into its parts; each part is read in every charset that could be meant (the
hint of its table, its label, UTF-8, Latin-1); HTML is looked at raw, and with its tags taken out
or made blanks. All this once as it came, once without blanks at line ends (RFC 2045, 6.7, rule 3).
What is expected must stand somewhere in that heap.
"""

from __future__ import annotations

import hashlib
import html
import re
import unicodedata
from binascii import a2b_base64
from collections import Counter
from email import message_from_bytes
from email.header import decode_header
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.corpus import loader
from tests.corpus.loader import FOLDERS, Specimen, load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message

TUNED, ASIDE = load("tuned"), load("aside")
BASE64 = re.compile(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2,3}==?)?").fullmatch
EVERY = [*TUNED, *ASIDE]
CORPUS = Path(loader.__file__).parent
between_rounds = pytest.mark.skipif(
    not ASIDE, reason="all mails were seen; fresh ones are to be written"
)
every_mail = pytest.mark.parametrize("specimen", EVERY, ids=str)


def readings(data: bytes, *charsets: str | None) -> Iterator[str]:
    """The text of some bytes, once per charset that Python knows."""
    for charset in dict.fromkeys([*charsets, "utf-8", "latin-1"]):
        try:
            yield data.decode(charset or "ascii", "replace")
        except LookupError:
            continue


def header_readings(value: str, hint: str | None) -> Iterator[str]:
    yield re.sub(r"\r\n(?=[ \t])", "", value)
    words = [
        (word if isinstance(word, bytes) else word.encode("ascii", "surrogateescape"), charset)
        for word, charset in decode_header(value)
    ]
    yield "".join(next(readings(data, charset, hint)) for data, charset in words)
    yield "".join(next(readings(data, hint if charset else None)) for data, charset in words)


def part_readings(part: Message, hint: str | None) -> Iterator[str]:
    if not part.is_multipart():
        payload = part.get_payload(decode=True)
        assert isinstance(payload, bytes)
        yield from readings(payload, hint, part.get_content_charset())
        if part["Content-Transfer-Encoding"] == "base64":
            words = str(part.get_payload()).split()
            yield from readings(b"".join(a2b_base64(w) for w in words if BASE64(w)), hint)


def heap(specimen: Specimen) -> str:
    """All that a person, or a machine led astray, could read in the mail."""
    found = list(readings(specimen.raw, specimen.charset_hint))
    for raw in (specimen.raw, re.sub(rb"[ \t]+(?=\r\n)", b"", specimen.raw)):
        for part in message_from_bytes(raw).walk():
            for _, value in part.raw_items():
                found += header_readings(value, specimen.charset_hint)
            found += part_readings(part, specimen.charset_hint)
    unescaped = [html.unescape(text) for text in found]
    tagless = [html.unescape(re.sub(r"<[^>]*>", blank, t)) for t in found for blank in ("", " ")]
    return "\n\n".join([*found, *unescaped, *tagless])


def spaced(text: str) -> str:
    return " ".join(text.split())


def squeezed(text: str) -> str:
    """Without blanks, hyphens and invisible characters; digits and letters in their plain form."""
    plain = unicodedata.normalize("NFKC", text)
    kept = [c for c in plain if unicodedata.category(c) not in {"Cf", "Cc", "Pd", "Zs"}]
    return "".join(str(unicodedata.digit(c)) if c.isdigit() else c for c in kept)


def test_every_mail_has_its_table_and_every_table_its_mail() -> None:
    for folder, specimens in zip(FOLDERS, (TUNED, ASIDE), strict=True):
        assert {s.path.parent for s in specimens} <= {CORPUS / folder}
        assert sorted(p.name for p in (CORPUS / folder).glob("*.eml")) == [
            s.path.name for s in specimens
        ]
        assert {p.name for p in (CORPUS / folder).iterdir() if p.suffix != ".eml"} == {
            "expected.toml"
        }


def test_it_is_wide_enough() -> None:
    assert len(EVERY) >= 135
    assert len({s.lang for s in EVERY}) >= 18
    assert not ASIDE or 0.2 <= len(ASIDE) / len(EVERY) <= 0.37


@between_rounds
def test_the_part_kept_aside_is_like_the_tuned_one() -> None:
    """Each frequent kind and each frequent language is in both folders."""
    for name in ("kinds", "lang"):
        tuned, aside = (
            Counter(v for s in part for v in ([s.lang] if name == "lang" else s.kinds))
            for part in (TUNED, ASIDE)
        )
        frequent = [v for v, n in (tuned + aside).items() if n >= len(EVERY) / 20]
        assert [v for v in frequent if not (tuned[v] and aside[v])] == []


def test_no_two_mails_have_the_same_body_number_or_code() -> None:
    bodies = Counter(hashlib.sha256(s.raw.partition(b"\r\n\r\n")[2]).hexdigest() for s in EVERY)
    assert set(bodies.values()) == {1}
    assert set(Counter(s.path.name[:3] for s in EVERY).values()) == {1}
    assert set(Counter(s.code for s in EVERY if s.code).values()) == {1}
    assert set(Counter(s.link for s in EVERY if s.link).values()) == {1}


@every_mail
def test_the_file_is_bytes_that_can_be_sent(specimen: Specimen) -> None:
    on_disk = specimen.path.read_bytes()
    assert b"\r\n" not in on_disk
    assert on_disk.endswith(b"\n")
    assert len(on_disk) <= 12_500


@every_mail
def test_the_table_is_of_one_piece(specimen: Specimen) -> None:
    assert specimen.why.endswith(".")
    assert specimen.kinds
    assert len(set(specimen.kinds)) == len(specimen.kinds)
    assert ("none" in specimen.kinds) == (
        specimen.code is None and specimen.link is None and not specimen.ambiguous
    )
    assert ("ambiguous" in specimen.kinds) == specimen.ambiguous
    if specimen.ambiguous:
        assert specimen.code is None
        assert len(specimen.code_also_ok) >= 2
    assert (specimen.code is None) == (specimen.code_as_written is None)
    good = {specimen.code, specimen.code_as_written, *specimen.code_also_ok}
    assert good.isdisjoint(specimen.decoy_codes)
    assert {specimen.link, *specimen.link_also_ok}.isdisjoint(specimen.decoy_links)


@every_mail
def test_what_is_expected_stands_in_the_mail(specimen: Specimen) -> None:
    everything = heap(specimen)
    if specimen.code and specimen.code_as_written:
        assert spaced(specimen.code_as_written) in spaced(everything)
        assert squeezed(specimen.code) in squeezed(everything)
    codes = specimen.code_also_ok
    assert [c for c in codes if squeezed(c) not in squeezed(everything)] == []
    links = [*filter(None, [specimen.link]), *specimen.link_also_ok]
    assert [u for u in links if u not in re.sub(r"\s+", "", everything)] == []


@every_mail
def test_its_decoys_stand_in_the_mail(specimen: Specimen) -> None:
    everything = heap(specimen)
    text = spaced(everything)
    assert [c for c in specimen.decoy_codes if spaced(c) not in text] == []
    glued = re.sub(r"\s+", "", everything)
    assert [u for u in specimen.decoy_links if u not in glued] == []


@every_mail
def test_subject_and_sender_are_those_of_the_mail(specimen: Specimen) -> None:
    everything = spaced(heap(specimen))
    assert specimen.sender in everything
    if "rfc2047-broken" not in specimen.kinds:
        assert spaced(specimen.subject) in everything
