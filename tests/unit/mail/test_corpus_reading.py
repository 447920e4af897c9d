"""The corpus: every tuned mail is read right, and nearly all that no rule was tuned on."""

from __future__ import annotations

import re

import pytest

from pytest_agentmail.errors import AmbiguousMail
from pytest_agentmail.mail.content import Content
from pytest_agentmail.mail.extraction.page import INVISIBLE
from tests.corpus.loader import Specimen, load

ENOUGH = 0.95


def as_seen(text: str | None) -> str | None:
    """Without characters that take no room; a run of blanks and a dash of any kind are one."""
    return text and re.sub(r"[‐-―]", "-", re.sub(r"\s+", " ", INVISIBLE.sub("", text)))


def misreadings(specimen: Specimen) -> list[str]:
    content = Content(specimen.raw)
    faults = []
    if (content.subject, content.sender) != (specimen.subject, specimen.sender):
        faults.append(f"{content.subject!r} from {content.sender}")
    try:
        code = content.code
    except AmbiguousMail as ambiguity:
        if not (specimen.ambiguous and set(specimen.code_also_ok) <= set(ambiguity.candidates)):
            faults.append(str(ambiguity))
    else:
        if specimen.ambiguous or code != specimen.code:
            faults.append(f"code {code!r}, not {specimen.code!r}")
        elif code and as_seen(content.code_candidates[0].as_written) != as_seen(
            specimen.code_as_written
        ):
            faults.append(f"written {content.code_candidates[0].as_written!r}")
    try:
        link = content.link
    except AmbiguousMail as ambiguity:
        if not set(ambiguity.candidates) <= {specimen.link, *specimen.link_also_ok}:
            faults.append(str(ambiguity))
    else:
        if link != specimen.link and link not in specimen.link_also_ok:
            faults.append(f"link {link!r}, not {specimen.link!r}")
    return faults


@pytest.mark.parametrize("specimen", load("tuned"), ids=str)
def test_tuned_mail_is_read_right(specimen):
    assert misreadings(specimen) == []


def test_mail_kept_aside_is_read_right():
    aside = load("aside")
    wrong = {str(specimen): faults for specimen in aside if (faults := misreadings(specimen))}
    share = 1 - len(wrong) / len(aside)
    assert share >= ENOUGH, f"{share:.1%} of {len(aside)} mails; wrong: {wrong}"
