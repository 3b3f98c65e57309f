"""Java properties files and small JSON files, written so that a reader sees all of them or nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Replace a file by one rename; only its owner may read it, as it can hold passwords.

    :param path: its folder is made when absent.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part-{os.getpid()}")
    part.touch(mode=0o600)
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def properties_text(properties: Mapping[str, str]) -> str:
    """Give the text of a Java properties file, one pair a line, that Java reads back as the same pairs.

    >>> properties_text({"a": "C:\\\\x"})
    'a=C:\\\\\\\\x\\n'
    """
    return "".join(f"{_key(name)}={_escaped(value)}\n" for name, value in properties.items())


def _key(name: str) -> str:
    return _escaped(name).replace(" ", "\\ ").replace(":", "\\:").replace("=", "\\=")


def _escaped(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    if escaped[:1] in (" ", "#", "!"):
        escaped = f"\\{escaped}"
    return "".join(_in_ascii(character) for character in escaped)


def _in_ascii(character: str) -> str:
    """Java reads these files as ISO 8859-1: everything else goes in as UTF-16 units."""
    if ord(character) < 128:
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))
