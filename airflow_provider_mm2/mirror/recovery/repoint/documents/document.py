"""One value of a document: read, replaced, added, removed; what comes of it is read again before it is given. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from airflow_provider_mm2.mirror.errors import RepointPlaceMissing, RepointUnreadable
from airflow_provider_mm2.mirror.recovery.repoint.documents import lines, spans
from airflow_provider_mm2.mirror.recovery.repoint.documents.json_spans import json_entry, json_scalar, parse_json
from airflow_provider_mm2.mirror.recovery.repoint.documents.yaml_spans import parse_yaml, yaml_entry, yaml_scalar
from airflow_provider_mm2.mirror.recovery.repoint.values import Held, Present, near, same
from airflow_provider_mm2.mirror.repoint_values import DocumentFormat

TYPED = ("yaml", "json")
"""Formats whose values are more than text."""


def read_value(text: str, kind: DocumentFormat, path: str, where: str) -> Present:
    """What stands at a path; None: nothing.

    :raises RepointUnreadable: the text is not of that format, or there stands a mapping or a list.
    """
    try:
        return _read(text, kind, path)
    except ValueError as error:
        raise RepointUnreadable(where=where, problem=str(error)) from None


def names_near(text: str, kind: DocumentFormat, path: str) -> str:
    """The paths that may have been meant, for a message."""
    if kind in TYPED:
        return near(path, spans.paths_in(_parse(text, kind)))
    return near(path, [line.key for line in _lines(text, kind) if line.key is not None])


def with_value(text: str, kind: DocumentFormat, path: str, after: Present, where: str) -> str:
    """The text with another value at a path, or without it; nothing else in it is another.

    :raises RepointUnreadable: that cannot be done without touching more.
    :raises RepointPlaceMissing: there is nothing to which it could be added.
    """
    try:
        changed = (_with_node if kind in TYPED else _with_line)(text, kind, path, after)
        if changed is None:
            problem = "there is no mapping to which it could be added; write the path as /a/b, and a: with an entry"
            raise RepointPlaceMissing(where=where, problem=problem)
    except ValueError as error:
        raise RepointUnreadable(where=where, problem=str(error)) from None
    if not _is_meant(text, changed, kind, path, after):
        raise RepointUnreadable(where=where, problem="changing it would change something else (an anchor, or its form)")
    return changed


def _is_meant(text: str, changed: str, kind: DocumentFormat, path: str, after: Present) -> bool:
    """Whether the value is the wanted one now, and nothing else another."""
    try:
        return same(_read(changed, kind, path), after) and _others(changed, kind, path) == _others(text, kind, path)
    except ValueError:
        return False


def _read(text: str, kind: DocumentFormat, path: str) -> Present:
    if kind not in TYPED:
        found = [line.value for line in _lines(text, kind) if line.key == path]
        return Held(found[-1]) if found else None
    node = spans.find(_parse(text, kind), path)
    if node is None:
        return None
    if node.node.entries is not None:
        raise ValueError("a mapping or a list stands there; name one value in it")
    return Held(node.node.value)


def _parse(text: str, kind: DocumentFormat) -> spans.Node:
    return parse_json(text) if kind == "json" else parse_yaml(text)


def _lines(text: str, kind: DocumentFormat) -> list[lines.Line]:
    return lines.property_lines(text) if kind == "properties" else lines.env_lines(text)


def _others(text: str, kind: DocumentFormat, path: str) -> object:
    """Everything but the value at a path."""
    if kind not in TYPED:
        return [(line.key, line.value) for line in _lines(text, kind) if line.key not in (None, path)]
    top = _parse(text, kind)
    found = spans.find(top, path)
    return _without(top, None if found is None else found.node)


def _without(node: spans.Node, left_out: spans.Node | None) -> object:
    if node.entries is None:
        return node.value
    below = [(name, _without(value, left_out)) for name, _, value in node.entries if value is not left_out]
    return below if node.is_list else dict(below)


@dataclass(frozen=True, slots=True)
class _Form:
    scalar: Callable[[object], str]
    entry: Callable[[str, object], str]


_FORMS = {"json": _Form(json_scalar, json_entry), "yaml": _Form(yaml_scalar, yaml_entry)}


def _with_node(text: str, kind: DocumentFormat, path: str, after: Present) -> str | None:
    top, form = _parse(text, kind), _FORMS[kind]
    found = spans.find(top, path)
    if found is not None and after is not None:
        return text[: found.node.start] + form.scalar(after.value) + text[found.node.end :]
    if found is not None:
        return spans.without(text, found.above[-1], found.steps[-1]) if found.above else None
    parent = spans.parent_of(top, path)
    if parent is None or after is None:
        return text if after is None else None
    return spans.with_added(text, parent[0].node, form.entry(parent[1], after.value))


def _with_line(text: str, kind: DocumentFormat, path: str, after: Present) -> str:
    properties = kind == "properties"
    pieces = _lines(text, kind)
    places = [number for number, line in enumerate(pieces) if line.key == path]
    if after is None:
        return "".join(line.source for line in pieces if line.key != path)
    value = str(after.value)
    if not places:
        return lines.with_line(text, (lines.new_property if properties else lines.new_variable)(path, value))
    sources = [line.source for line in pieces]
    sources[places[-1]] = (lines.with_property if properties else lines.with_variable)(pieces[places[-1]], value)
    return "".join(sources)
