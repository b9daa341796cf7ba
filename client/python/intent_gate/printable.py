"""Makes text safe for a terminal."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Callable

#: default ignorable code points other than format controls (Cf)
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)


def _is_hidden(text: str, at: int) -> bool:
    character = text[at]
    if character in "\n\t":
        return False
    # joiners and the emoji variation selector are allowed after a letter, mark or symbol
    if character in "\u200c\u200d\ufe0f" and at > 0 and unicodedata.category(text[at - 1])[0] in "LMS":
        return False
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") or _IGNORABLE.match(character) is not None


def _replace(text: str, write: Callable[[str], str]) -> str:
    return "".join(write(one) if _is_hidden(text, at) else one for at, one in enumerate(text))


def printable(text: object) -> str:
    """Escapes invisible and control characters."""
    return _replace(str(text), lambda one: f"\\u{{{ord(one):x}}}")


def without_hidden(text: str) -> str:
    """Removes invisible and control characters."""
    return _replace(text, lambda _: "")


def printable_json(text: str) -> str:
    """Escapes invisible and control characters in JSON, without changing its value."""
    return _replace(text, lambda one: json.dumps(one)[1:-1] if one != "\x7f" else "\\u007f")
