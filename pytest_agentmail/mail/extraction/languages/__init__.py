"""The words by which people tell a code from other numbers, and the right link from others.

One entry per language, one field per kind of word; `language` explains the kinds. To teach a
language, add an entry to the table of its family; to teach a decoy, add its words to a field of an
entry.
"""

from __future__ import annotations

from pytest_agentmail.mail.extraction.languages import (
    east_asian,
    european,
    germanic,
    romance,
    slavic,
    southern,
)
from pytest_agentmail.mail.extraction.languages.language import Language

__all__ = ["LANGUAGES", "Language"]

LANGUAGES: dict[str, Language] = (
    germanic.LANGUAGES
    | romance.LANGUAGES
    | slavic.LANGUAGES
    | european.LANGUAGES
    | southern.LANGUAGES
    | east_asian.LANGUAGES
)
