"""What a broker takes for a topic's name, and what in a pattern can never be in one. Pure."""

from __future__ import annotations

import re
import unicodedata

TOPIC_NAME_LIMIT = 249
"""Longest topic name a broker takes. Source: Kafka, ``Topic.MAX_NAME_LENGTH``."""

_NAME = re.compile(r"[a-zA-Z0-9._\-]+")
_SIGNS = frozenset(r"\^$*+?{}[]()|")
"""What makes a pattern of a text; ``.`` is in names too."""


def is_plain_name(pattern: str) -> bool:
    """Whether a pattern is a topic's name, written in full."""
    return _NAME.fullmatch(pattern) is not None


def check_topic_pattern(pattern: str) -> str:
    """Refuse what no topic's name can match as it stands, with the code point of what is odd.

    A letter of another alphabet looks like the one that was meant, and a filter that never matches says nothing.

    :raises ValueError: it has such a character, or is ``.`` or ``..``.
    """
    is_plain = not _SIGNS & set(pattern)
    for place, character in enumerate(pattern, 1):
        belongs = _NAME.fullmatch(character) if is_plain else "!" <= character <= "~"
        if not belongs:
            name = unicodedata.name(character, "a control character")
            raise ValueError(
                f"{pattern!r} has U+{ord(character):04X} ({name}) as character {place}, which is in no topic's name"
            )
    if pattern in (".", ".."):
        raise ValueError(f"{pattern!r} is no topic's name; a pattern for any name of so many characters is .{{1}}")
    return pattern
