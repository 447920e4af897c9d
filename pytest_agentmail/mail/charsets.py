"""Which charset octets are in: what labels mean, and which of several claims can be true.

The detection itself is chardet's; here stands how far it is trusted against what a mail claims.
"""

from __future__ import annotations

import codecs
import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["charset_of", "codec_of", "is_stateful", "is_wide"]

# Labels that senders use for a larger charset, as browsers do (WHATWG Encoding §4.2), and names
# that Python does not know.
_MEANT = {
    "ansi_x3.4-1968": "ascii",
    "us-ascii": "ascii",
    "unicode-1-1-utf-8": "utf-8",
    "unicode-1-1-utf-7": "utf-7",
    "unicode": "utf-16",
    "gb2312": "gb18030",
    "gb_2312-80": "gb18030",
    "chinese": "gb18030",
    "x-gbk": "gb18030",
    "gbk": "gb18030",
    "cp936": "gb18030",
    "x-euc-cn": "gb18030",
    "euc-cn": "gb18030",
    "big5": "big5hkscs",
    "big-5": "big5hkscs",
    "x-x-big5": "big5hkscs",
    "cn-big5": "big5hkscs",
    "cp950": "big5hkscs",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "shiftjis": "cp932",
    "sjis": "cp932",
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "euc_jp": "euc_jp",
    "x-euc-jp": "euc_jp",
    "iso-2022-jp": "iso2022_jp_ext",
    "cp50220": "iso2022_jp_ext",
    "cp50221": "iso2022_jp_ext",
    "koi8-r": "koi8_u",
    "koi8r": "koi8_u",
    "koi8": "koi8_u",
    "koi8u": "koi8_u",
    "ks_c_5601-1987": "cp949",
    "ksc5601": "cp949",
    "ksc_5601": "cp949",
    "euc-kr": "cp949",
    "euckr": "cp949",
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "latin2": "iso8859_2",
    "iso-8859-9": "cp1254",
    "iso-8859-8-i": "cp1255",
    "iso-8859-8-e": "cp1255",
    "iso-8859-8": "cp1255",
    "iso-8859-6-i": "iso8859_6",
    "iso-8859-6-e": "iso8859_6",
    "iso-8859-11": "cp874",
    "tis-620": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
    "macintosh": "mac_roman",
    "x-mac-roman": "mac_roman",
    "x-user-defined": "ascii",
}
_NO_CHARSETS = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"}


@cache
def codec_of(label: str | None) -> str | None:
    """The Python codec for a label as senders write it, or None."""
    name = (label or "").strip().strip("\"'<>;,").lower().removeprefix("charset=")
    name = re.sub(r"^(x-)?(cp|windows|win)[-_ ]*(?=\d{3,4}$)", "cp", name.replace(" ", "-"))
    name = re.sub(r"^utf[-_]*8.*", "utf-8", name)
    name = re.sub(r"^(?:iso)?[-_]?8859[-_]?(?=\d)", "iso-8859-", name)
    name = re.sub(r"^(iso-8859-1?\d)[-_:].*(?<!-[ie])$", r"\1", name)
    name = _MEANT.get(name, name)
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError, UnicodeError):
        return None
    # Codecs from bytes to bytes (rot13, zlib) and those that are no charset.
    if not found._is_text_encoding or found.name in _NO_CHARSETS:  # noqa: SLF001 - no public way
        return None
    return _MEANT.get(found.name, found.name)


def is_stateful(codec: str | None) -> bool:
    """Whether ASCII octets mean something else in this codec."""
    return codec is not None and (
        is_wide(codec) or codec.startswith(("hz", "iso2022", "cp037", "utf-7"))
    )


def is_wide(codec: str | None) -> bool:
    """Whether each character has two octets or four, NULs among them."""
    return codec is not None and codec.startswith(("utf-16", "utf-32"))


# --- detection -------------------------------------------------------------------------------

# What mail is written in. Of charsets that hardly differ the largest stands for all.
_EXPECTED = (
    "koi8-r", "koi8-u", "windows-1251", "ibm866", "iso-8859-5", "windows-1253", "iso-8859-7",
    "windows-1255", "iso-8859-8", "windows-1256", "iso-8859-6", "cp874", "windows-1252",
    "iso-8859-15", "windows-1250", "iso-8859-2", "windows-1254", "windows-1257", "windows-1258",
    "gb18030", "big5hkscs", "cp932", "euc-jp", "cp949",
)  # fmt: skip
_STANDS_FOR = {
    "iso8859-1": "cp1252", "iso8859-7": "cp1253", "iso8859-8": "cp1255", "iso8859-9": "cp1254",
    "koi8-r": "koi8-u", "gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs",
    "shift_jis": "cp932", "shift_jis_2004": "cp932", "euc_jis_2004": "euc_jp", "euc_kr": "cp949",
    "tis-620": "cp874",
}  # fmt: skip
_LARGE_SETS = frozenset({"gb18030", "big5hkscs", "cp932", "euc_jp", "cp949", "johab"})

_TAG = re.compile(rb"<[^<>]{0,2000}>")
_KANA = re.compile(r"[\u3041-\u30ff]")
_HALF_WIDTH = re.compile(r"[\uff61-\uff9f]")
# Letters of a script inside a word of Latin ones: no language writes so.
_GLUED = re.compile(r"[A-Za-z][\u0370-\u0eff]|[\u0370-\u0eff][A-Za-z]|[a-z][\u3040-\uffef]+[a-z]")
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_SAMPLE = 8_000
_UNSURE = 0.025  # below this confidence a finding says nothing
_TELLING = 6  # characters; fewer cannot refute a label
_BY_DEFAULT = frozenset(
    {"cp1252", "iso8859-15", "gb18030"}
)  # what programs say that were told nothing
_LATIN = frozenset({"cp1252", "iso8859-15"})
_TOLERATED = 0.1  # the share of unreadable octets, among those that are not ASCII, of a mere slip


def charset_of(octets: bytes, claims: Iterable[str]) -> str:
    """The codec that `octets` are in.

    Args:
        octets: Text that is not ASCII.
        claims: Codecs that the mail says or suggests, the most trusted first. The first that can
            be true wins; one is false when another charset reads far better.
    """
    sample = _TAG.sub(b" ", octets[:_SAMPLE]) if b"<" in octets else octets[:_SAMPLE]
    sample = sample if _marks(sample) else octets
    claimed = list(dict.fromkeys(claims))
    found = _confidences(sample)
    best = max(found, key=lambda codec: found[codec], default="cp1252")
    if japanese := _by_kana(sample):
        best, found[japanese] = japanese, 1.0
    if claimed[:1] and claimed[0] in _BY_DEFAULT:
        by_default = found.get(claimed[0], 0.0)
        claimed.sort(key=lambda claim: found.get(claim, 0.0) <= by_default)  # the better ones first
    for claim in claimed:
        if _can_be(claim, sample, found, found.get(best, 0.0)):
            return claim
    return best


def _can_be(claim: str, sample: bytes, found: dict[str, float], best: float) -> bool:
    text = sample.decode(claim, "replace")
    foreign = len(_FOREIGN.findall(text))
    unreadable = text.count("\ufffd")
    if unreadable > foreign * _TOLERATED:
        return False
    if claim in ("utf-8", "ascii"):
        return True
    name = _STANDS_FOR.get(codecs.lookup(claim).name, codecs.lookup(claim).name)
    if unreadable and len(_HALF_WIDTH.findall(text)) > foreign / 3:
        return False  # Chinese or EUC octets read as Shift_JIS
    if unreadable and name not in found:
        found = _confidences(sample.decode(claim, "ignore").encode(claim))
        best = max(found.values(), default=0.0)
    if foreign < _TELLING and claim not in _LATIN and not _GLUED.search(text):
        return True
    if name in found:
        # The more characters there are, the more a difference says.
        return best <= found[name] * (1.2 + 8 / max(foreign, 4))
    return best < _UNSURE if name in _LARGE_SETS else name not in _known()


def _marks(octets: bytes) -> int:
    return sum(octet > 0x7F for octet in octets)  # noqa: PLR2004 - ASCII ends there


@cache
def _known() -> frozenset[str]:
    """The codecs that detection weighs; it says nothing about others."""
    names = (codecs.lookup(name).name for name in _EXPECTED)
    return frozenset(_STANDS_FOR.get(name, name) for name in names)


def _confidences(sample: bytes) -> dict[str, float]:
    """How much the sample looks like text in each charset."""
    from chardet import detect_all

    found: dict[str, float] = {}
    results = detect_all(
        sample, ignore_threshold=True, include_encodings=_EXPECTED, compat_names=False
    )
    for result in results:
        if result["encoding"]:
            name = codecs.lookup(result["encoding"]).name
            name = _STANDS_FOR.get(name, name)
            found[name] = max(found.get(name, 0.0), result["confidence"])
    return found


def _by_kana(sample: bytes) -> str | None:
    """The Japanese charset in which a text is mostly kana, which nothing else happens to be."""
    for codec in ("cp932", "euc_jp"):
        text = sample.decode(codec, "replace")
        kana, foreign = len(_KANA.findall(text)), len(_FOREIGN.findall(text))
        if kana > foreign / 2 and kana >= 3 and "\ufffd" not in text:  # noqa: PLR2004 - two may be chance
            return codec
    return None
