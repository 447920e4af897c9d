"""What may be shown of a mail."""

from __future__ import annotations

import re

__all__ = ["masked"]

_CODE_LIKE = re.compile(r"(?<!\w)(?=(?:[^\W\d_]*\d){3})[^\W_]{4,}(?!\w)|\d(?:[ -]?\d){3,}")


def masked(text: str) -> str:
    """`text` with everything that could be a code replaced by dots of the same length."""
    return _CODE_LIKE.sub(lambda found: "•" * len(found[0]), text)
