"""A document as nodes that know their place in the text, so that one value is changed and not a byte besides. Pure.

A path is a JSON pointer (``/kafka/servers/0``) or names with dots between them (``kafka.bootstrap.servers``); where a
name has dots itself, the longest one that is there is meant.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One value: its span in the text, and what is in it.

    :param value: of a scalar.
    :param entries: of a mapping or a list: name or number, where the entry begins, and its value.
    :param flow: whether it is written in brackets.
    """

    start: int
    end: int
    value: object = None
    entries: tuple[tuple[str | int, int, Node], ...] | None = None
    is_list: bool = False
    flow: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    """A value at a path, and the nodes above it, from the top; ``steps`` are the names on the way."""

    node: Node
    above: tuple[Node, ...] = field(default=())
    steps: tuple[str | int, ...] = field(default=())


def find(top: Node, path: str) -> Found | None:
    """The value at a path; None: there is none."""
    if path.startswith("/"):
        return _by_pointer(top, pointer_parts(path))
    return _by_dots(Found(top), path)


def pointer_parts(path: str) -> list[str]:
    """The names in a JSON pointer. Source: RFC 6901."""
    return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]


def parent_of(top: Node, path: str) -> tuple[Found, str] | None:
    """The mapping to which a missing value is added, and the name it gets there; None: there is no such mapping."""
    if path.startswith("/"):
        *names, last = pointer_parts(path)
        parent = _by_pointer(top, names)
    else:
        parent, last = Found(top), path
    is_mapping = parent is not None and parent.node.entries is not None and not parent.node.is_list
    return (parent, last) if parent is not None and is_mapping else None


def paths_in(node: Node, prefix: str = "") -> list[str]:
    """The paths of all values, with dots."""
    if node.entries is None:
        return [prefix]
    return [
        path for name, _, below in node.entries for path in paths_in(below, f"{prefix}.{name}" if prefix else str(name))
    ]


def plain(node: Node) -> object:
    """The value that a node stands for."""
    if node.entries is None:
        return node.value
    if node.is_list:
        return [plain(below) for _, _, below in node.entries]
    return {name: plain(below) for name, _, below in node.entries}


def _by_pointer(top: Node, names: list[str]) -> Found | None:
    found = Found(top)
    for name in names:
        below = next((below for key, _, below in found.node.entries or () if str(key) == name), None)
        if below is None:
            return None
        found = _step(found, name, below)
    return found


def _by_dots(found: Found, path: str) -> Found | None:
    """The longest name first, since ``bootstrap.servers`` may be one name or two."""
    for key, _, below in sorted(found.node.entries or (), key=lambda entry: -len(str(entry[0]))):
        name = str(key)
        if name == path:
            return _step(found, key, below)
        if path.startswith(f"{name}."):
            deeper = _by_dots(_step(found, key, below), path[len(name) + 1 :])
            if deeper is not None:
                return deeper
    return None


def _step(found: Found, name: str | int, below: Node) -> Found:
    return Found(below, (*found.above, found.node), (*found.steps, name))


def with_added(text: str, parent: Node, entry: str) -> str | None:
    """The text with an entry put first into a mapping; None: the mapping is empty, which tells no form."""
    if not parent.entries:
        return None
    first = parent.entries[0][1]
    if parent.flow:
        gap = text[parent.start + 1 : first]
        return f"{text[:first]}{entry},{gap or ' '}{text[first:]}"
    indent = text[text.rfind("\n", 0, first) + 1 : first]
    return f"{text[:first]}{entry}{line_end_of(text)}{indent}{text[first:]}"


def without(text: str, parent: Node, name: str | int) -> str | None:
    """The text without an entry of a mapping; None: it is the only one, or the last one of its block."""
    entries = parent.entries or ()
    number = next(place for place, entry in enumerate(entries) if entry[0] == name)
    if number + 1 < len(entries):
        return text[: entries[number][1]] + text[entries[number + 1][1] :]
    if number == 0:
        return None
    before, gone = entries[number - 1][2], entries[number]
    if parent.flow:
        return text[: before.end] + text[gone[2].end :]
    start = text.rfind("\n", 0, gone[1]) + 1
    end = text.find("\n", gone[2].end)
    return text[:start] + ("" if end < 0 else text[end + 1 :])


def line_end_of(text: str) -> str:
    """How the text's lines end."""
    return "\r\n" if "\r\n" in text else "\n"
