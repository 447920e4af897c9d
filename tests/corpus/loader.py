"""The corpus: real-looking mails, each with what a careful person would type or press.

Use it anywhere under ``tests/``, at collection time too. The repository root is on the path
(``pythonpath`` in ``pyproject.toml``), so the import is the same everywhere::

    from tests.corpus.loader import Specimen, load

    @pytest.mark.parametrize("specimen", load("tuned"), ids=str)
    def test_code(specimen: Specimen) -> None: ...

``tuned`` holds the mails that rules are tuned on, ``aside`` those kept back to judge the rules.
Once a result of ``aside`` was seen, its mails belong into ``tuned``, and fresh ones are written.
To add a mail, put an ``.eml`` file (LF line ends, any bytes otherwise; git never changes them)
into one of the folders and a table of its name into the ``expected.toml`` beside it.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["FOLDERS", "Specimen", "load"]

FOLDERS = ("tuned", "aside")
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """One mail and its right reading.

    Attributes:
        path: The file on disk, which has LF line ends.
        raw: The bytes as a client sends them, with CRLF line ends. A bare CR stays bare.
        lang: The BCP 47 tag of the language it is written in.
        shape: What kind of sender writes like this.
        kinds: Tags of what is difficult in it.
        subject: The subject as a person reads it; empty when there is none.
        sender: The address it says it comes from, without the display name.
        why: One sentence about what makes it a test.
        code: What the app accepts; none when the mail has no code, or several equally good.
            A code of digits is in ASCII digits without separators, any other as written.
        code_as_written: The code as it stands in the decoded mail, a run of blanks as one. Digits
            in cells or lines of their own are written with single spaces.
        code_also_ok: Other forms of the same code that a person might type. In an ambiguous mail:
            the codes that are equally good.
        ambiguous: Several codes are equally good.
        link: What a person presses to confirm, sign in or accept; none when there is no such link.
        link_also_ok: Other links of the mail that do the same.
        decoy_codes: Strings in the mail or its headers that must not be taken for the code.
        decoy_links: Links in the mail or its headers that must not be taken for the link.
        envelope_to: The SMTP recipient, where no header names it.
        charset_hint: The charset that reads the parts rightly, where their label does not.
    """

    path: Path
    raw: bytes
    lang: str
    shape: str
    kinds: tuple[str, ...]
    subject: str
    sender: str
    why: str
    code: str | None = None
    code_as_written: str | None = None
    code_also_ok: tuple[str, ...] = ()
    ambiguous: bool = False
    link: str | None = None
    link_also_ok: tuple[str, ...] = ()
    decoy_codes: tuple[str, ...] = ()
    decoy_links: tuple[str, ...] = ()
    envelope_to: str | None = None
    charset_hint: str | None = None

    def __str__(self) -> str:
        return self.path.stem


@cache
def load(folder: str) -> list[Specimen]:
    """The mails of one folder, in the order of their numbers.

    Args:
        folder: ``"tuned"`` or ``"aside"``.

    Raises:
        ValueError: There is no such folder.
        FileNotFoundError: ``expected.toml`` names a mail that is not there.
        TypeError: A table lacks a field or has an unknown one.
    """
    if folder not in FOLDERS:
        raise ValueError(f"no folder {folder!r} in the corpus; there are {', '.join(FOLDERS)}")
    tables = tomllib.loads((_HERE / folder / "expected.toml").read_text(encoding="utf-8"))
    return [_specimen(_HERE / folder / name, table) for name, table in tables.items()]


def _specimen(path: Path, table: dict[str, object]) -> Specimen:
    fields = {key: tuple(v) if isinstance(v, list) else v for key, v in table.items()}
    return Specimen(path=path, raw=path.read_bytes().replace(b"\n", b"\r\n"), **fields)  # type: ignore[arg-type]  # a wrong field is for the soundness test to show
