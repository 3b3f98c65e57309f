"""The lines of a properties file, with those joined that a backslash continues. In one pass, however many they are.

Source: Java, ``Properties.load``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANK = " \t\f"
_COMMENT = ("#", "!")


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line that says something, with the number of the first of its lines in the file."""
    lines = enumerate(_LINE_END.split(text), start=1)
    for number, line in lines:
        first = line.lstrip(_BLANK)
        if not first or first.startswith(_COMMENT):
            continue
        parts = [first]
        while _is_continued(parts[-1]):
            parts[-1] = parts[-1][:-1]
            _, following = next(lines, (0, ""))
            parts.append(following.lstrip(_BLANK))
        joined = "".join(parts)
        if joined:
            yield number, f"\\{joined}" if joined.startswith(_COMMENT) else joined


def _is_continued(line: str) -> bool:
    """Whether an odd number of backslashes ends it: two of them are one that is meant."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1
