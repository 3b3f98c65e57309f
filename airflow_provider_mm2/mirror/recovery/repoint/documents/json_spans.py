"""JSON with the place of every value in the text. Pure."""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined] # typeshed does not list it

from airflow_provider_mm2.mirror.recovery.repoint.documents.spans import Node

_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"-?\d[\d.eE+\-]*|true|false|null")


def parse_json(text: str) -> Node:
    """The document's nodes.

    :raises ValueError: it is not JSON, or has a name twice.
    """
    json.loads(text)  # what follows relies on its being JSON
    node = _value(text, _skip(text, 0))
    return node


def json_scalar(value: object) -> str:
    """A value as it is written."""
    return json.dumps(value, ensure_ascii=False)


def json_entry(name: str, value: object) -> str:
    """An entry of a mapping as it is written."""
    return f"{json_scalar(name)}: {json_scalar(value)}"


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _value(text: str, at: int) -> Node:
    if text[at] == "{":
        return _mapping(text, at)
    if text[at] == "[":
        return _list(text, at)
    if text[at] == '"':
        value, end = scanstring(text, at + 1)
        return Node(start=at, end=end, value=value)
    match = _SCALAR.match(text, at)
    if match is None:
        raise ValueError("neither text, number, true, false nor null")  # NaN, which json takes
    return Node(start=at, end=match.end(), value=json.loads(match[0]))


def _mapping(text: str, at: int) -> Node:
    entries: dict[str, tuple[str | int, int, Node]] = {}
    end = _skip(text, at + 1)
    while text[end] != "}":
        start = end
        name, end = scanstring(text, start + 1)
        if name in entries:
            raise ValueError("a name is there twice")
        below = _value(text, _skip(text, _skip(text, end) + 1))
        entries[name] = (name, start, below)
        end = _behind_comma(text, below.end)
    return Node(start=at, end=end + 1, entries=tuple(entries.values()))


def _list(text: str, at: int) -> Node:
    entries: list[tuple[str | int, int, Node]] = []
    end = _skip(text, at + 1)
    while text[end] != "]":
        below = _value(text, end)
        entries.append((len(entries), end, below))
        end = _behind_comma(text, below.end)
    return Node(start=at, end=end + 1, entries=tuple(entries), is_list=True)


def _behind_comma(text: str, at: int) -> int:
    end = _skip(text, at)
    return _skip(text, end + 1) if text[end] == "," else end
