"""Rules over a flow's ``repoint:`` list as a whole: names, placeholders, aliases. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence

from airflow_provider_mm2.mirror.flow_values import PlacedProblems
from airflow_provider_mm2.mirror.repoint_settings import RepointSettings

PLACEHOLDER = re.compile(r"(?<!\$)(?P<escaped>\{\{[^{}]*\}\})|(?<![${])\{(?P<name>[A-Za-z][^{}\s\"']*)\}")
"""``{name}``; ``{{name}}`` is that text itself, and ``${NAME}`` an environment variable."""

NAMES = ("bootstrap.servers", "alias")
"""Placeholders besides ``topic:<source topic>``."""

Found = Iterator[tuple[tuple[str | int, ...], str]]


def check_repoint(
    items: Sequence[RepointSettings], aliases: tuple[str, str], topics: Sequence[str], excluded: Sequence[str]
) -> None:
    """Refuse what no single item can know.

    :param aliases: of the source and the target.
    :param topics: the flow's patterns, against which the topics of placeholders are held.
    :raises PlacedProblems: with each place below ``repoint``.
    """
    problems = [*_same_names(items)]
    for number, item in enumerate(items):
        for place, value in values_of(item):
            problems += [((number, *place, *below), text) for below, text in _value_problems(value, aliases)]
            for below, text in _texts(value):
                found = _placeholder_problem(text, topics, excluded)
                if found is not None:
                    problems.append(((number, *place, *below), found))
    if problems:
        raise PlacedProblems(problems)


def values_of(item: RepointSettings) -> Iterator[tuple[tuple[str, ...], object]]:
    """Every value that an item sets, with its place in the item."""
    for field in ("value", "body"):
        value = getattr(item, field, None)
        if value is not None:
            yield (field,), value
    yield from ((("set", key), value) for key, value in getattr(item, "set", {}).items())
    for name, document in getattr(item, "documents", {}).items():
        yield from ((("documents", name, "set", key), value) for key, value in document.set.items())


def _same_names(items: Sequence[RepointSettings]) -> Found:
    seen: dict[str, int] = {}
    for number, item in enumerate(items):
        first = seen.setdefault(item.label, number)
        if first != number:
            yield (number,), f"item {first + 1} of the list has the same name; give one of them another 'name'"


def _value_problems(value: object, aliases: tuple[str, str]) -> Found:
    if not isinstance(value, Mapping):
        return
    for alias in value:
        if alias not in aliases:
            yield (alias,), f"unknown alias; there are {' and '.join(aliases)}"
    yield from (((), f"there is no value for {alias!r}") for alias in aliases if alias not in value)


def _texts(value: object) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, str):
        yield (), value
    elif isinstance(value, Mapping):
        yield from (((alias,), text) for alias, text in value.items() if isinstance(text, str))


def _placeholder_problem(text: str, topics: Sequence[str], excluded: Sequence[str]) -> str | None:
    for match in PLACEHOLDER.finditer(text):
        name = match["name"]
        if name is None or name in NAMES:
            continue
        kind, _, topic = name.partition(":")
        if kind != "topic" or not topic:
            near = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.5)
            hint = f"did you mean {{{near[0]}}}?" if near else "there are {bootstrap.servers}, {alias}, {topic:NAME}"
            return f"unknown placeholder {{{name}}}; {hint}"
        is_mirrored = any(re.fullmatch(pattern, topic) for pattern in topics)
        if not is_mirrored or any(re.fullmatch(pattern, topic) for pattern in excluded):
            return f"the flow mirrors no topic {topic!r}; give a topic's name on the source"
    return None
