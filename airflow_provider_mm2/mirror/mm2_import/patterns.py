"""Lists of regular expressions as MirrorMaker 2 reads them: split at every comma, matched against whole names.

Source: Kafka, ``ConfigDef.parseType`` (LIST); MirrorMaker 2, ``MirrorUtils.compilePatternList``.
"""

from __future__ import annotations

import re
import unicodedata
import warnings

from airflow_provider_mm2.mirror.clusters.naming import is_internal

_SETS_FLAGS = re.compile(r"\(\?[a-zA-Z]+\)")
_LITERAL = re.compile(r"(?:[A-Za-z0-9._\-]|\\[.\-_])+")
_CLOSED_BY = {"(": ")", "{": "}"}
_OPENED_BY = {")": "(", "}": "{"}


def split(text: str) -> tuple[str, ...]:
    """The patterns of a list; empty parts are left out, which match no name."""
    return tuple(part for part in (part.strip() for part in text.split(",")) if part)


def fault_of(pattern: str) -> str | None:
    """What is wrong with one pattern of a list, None where nothing is."""
    open_one = _unbalanced(pattern)
    if open_one is not None:
        return (
            f"{pattern!r} has a {open_one} without its other half: MirrorMaker 2 splits the list at every comma, also "
            "inside braces and brackets, and so never matched what was meant; write it without a comma, such as "
            "[0-9][0-9]?[0-9]? for [0-9]{1,3}"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(pattern)
    except (re.error, Warning, OverflowError, RecursionError) as error:
        return f"{pattern!r} is a regular expression of Java that Python does not take ({error}); write it another way"
    return None


def odd_characters(pattern: str) -> str | None:
    """Characters of a pattern for topics that no topic's name has, with their code points; None where there is none.

    A Cyrillic letter looks like a Latin one, and the pattern then matches nothing.
    """
    odd = sorted({character for character in pattern if not character.isascii() or not character.isprintable()})
    named = [f"U+{ord(character):04X} {unicodedata.name(character, 'without a name')}" for character in odd]
    return ", ".join(named) or None


def flags_reach_on(patterns: tuple[str, ...]) -> bool:
    """Whether flags such as ``(?i)`` count for later patterns, too: MirrorMaker 2 joins the list to one expression."""
    return any(_SETS_FLAGS.search(pattern) for pattern in patterns[:-1])


def dropped_names(topics: tuple[str, ...], excluded: tuple[str, ...], separator: str) -> tuple[str, ...]:
    """Topics that are named in full and left out all the same, by an exclusion or as internal."""
    names = [re.sub(r"\\(.)", r"\1", pattern) for pattern in topics if _LITERAL.fullmatch(pattern)]
    return tuple(
        name
        for name in names
        if is_internal(name, separator) or any(re.fullmatch(pattern, name) for pattern in excluded)
    )


def _unbalanced(pattern: str) -> str | None:
    """The first brace, bracket or parenthesis that is not closed or was not opened."""
    opened: list[str] = []
    at, in_class = 0, False
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            at += 2
            continue
        if in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
            at += _literal_start(pattern, at + 1)
        elif character in _CLOSED_BY:
            opened.append(character)
        elif character in _OPENED_BY and (not opened or opened.pop() != _OPENED_BY[character]):
            return character
        at += 1
    return "[" if in_class else opened[-1] if opened else None


def _literal_start(pattern: str, at: int) -> int:
    """How many characters at the start of a class are literal although one of them is a ``]``."""
    return 2 if pattern.startswith("^]", at) else 1 if pattern.startswith("]", at) else 0


def any_matches(patterns: tuple[str, ...], name: str) -> bool:
    """Whether one of the patterns matches the whole name."""
    return any(re.fullmatch(pattern, name) for pattern in patterns)
