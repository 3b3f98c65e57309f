"""The conditions, what is taken for their arguments, and their form as plain JSON values. Pure.

A condition crosses from a task to the triggerer as JSON, so offsets are rows (a JSON object has only text for keys),
times are ISO text, and what comes back equals what went in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from airflow_provider_mm2.mirror.errors import ConditionRefused
from airflow_provider_mm2.mirror.json_text import read_json

WantedOffset = tuple[str, int | None, int]
"""Source topic, partition (None: each), and the source offset below which everything is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredThrough:
    """A flow is mirrored through a time, through offsets, or both.

    :param until: everything stamped before it that the source held by then is on the target.
    :param topics: source topics that are looked at; empty: all of the flow.
    """

    kind: ClassVar[str] = "mirrored_through"
    for_s: ClassVar[float] = 0
    until: datetime | None = None
    offsets: tuple[WantedOffset, ...] = ()
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LagBelow:
    """Fewer than so many offsets of the source are not on the target yet, over all partitions."""

    kind: ClassVar[str] = "lag_below"
    for_s: ClassVar[float] = 0
    below: int
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCaughtUp:
    """A group has fewer than so many of the mirrored records before it on the target.

    :param topics: source topics whose copies are looked at; empty: those that the group has committed offsets of.
    """

    kind: ClassVar[str] = "group_caught_up"
    for_s: ClassVar[float] = 0
    group: str
    below: int = 1
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLeftSource:
    """Nobody has been in a group on the source for so many seconds."""

    kind: ClassVar[str] = "group_left_source"
    group: str
    for_s: float = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectRunning:
    """The connectors of a flow run, all of their tasks, and are caught up.

    :param until: everything stamped before it that the source held by then is on the target; None: running is enough.
    :param topics: source topics that ``until`` is for; empty: all of the flow.
    """

    kind: ClassVar[str] = "connect_running"
    for_s: ClassVar[float] = 0
    until: datetime | None = None
    topics: tuple[str, ...] = ()


Condition = MirroredThrough | LagBelow | GroupCaughtUp | GroupLeftSource | ConnectRunning


def condition_to_json(condition: Condition) -> dict[str, Any]:
    """A condition as plain JSON values."""
    document: dict[str, Any] = {"kind": condition.kind}
    if isinstance(condition, MirroredThrough | ConnectRunning):
        document["until"] = None if condition.until is None else condition.until.isoformat()
    if isinstance(condition, MirroredThrough):
        document["offsets"] = [list(row) for row in condition.offsets]
    if isinstance(condition, LagBelow | GroupCaughtUp):
        document["below"] = condition.below
    if isinstance(condition, GroupCaughtUp | GroupLeftSource):
        document["group"] = condition.group
    if isinstance(condition, GroupLeftSource):
        document["for_s"] = condition.for_s
    else:
        document["topics"] = list(condition.topics)
    return document


def condition_from_json(document: Mapping[str, Any]) -> Condition:
    """The condition that :func:`condition_to_json` gave.

    :raises ConditionRefused: it is none, or of another version of this package.
    """
    fields = dict(document)
    makers = {kind.kind: kind for kind in (MirroredThrough, LagBelow, GroupCaughtUp, GroupLeftSource, ConnectRunning)}
    maker: Any = makers.get(fields.pop("kind", None))
    try:
        if "topics" in fields:
            fields["topics"] = tuple(fields["topics"])
        if fields.get("until") is not None:
            fields["until"] = datetime.fromisoformat(fields["until"])
        if "offsets" in fields:
            fields["offsets"] = tuple((topic, partition, offset) for topic, partition, offset in fields["offsets"])
        condition: Condition = maker(**fields)
    except (TypeError, ValueError) as error:
        raise ConditionRefused(argument="condition", problem=f"it cannot be read: {error}") from None
    return condition


def parse_topics(given: object) -> tuple[str, ...]:
    """Names of source topics: one, several, or none.

    :raises ConditionRefused: it is something else.
    """
    found = _document("topics", given)
    names = [found] if found and isinstance(found, str) else found or []
    if not isinstance(names, Sequence | set | frozenset) or not all(isinstance(name, str) and name for name in names):
        raise ConditionRefused(argument="topics", problem=f"{found!r} is not a list of names of source topics")
    return tuple(sorted(set(names)))


def parse_offsets(given: object) -> tuple[WantedOffset, ...]:
    """Offsets as ``{topic: offset}`` for each partition, or ``{topic: {partition: offset}}``; also their JSON text.

    Partition numbers may be text, as JSON has them.

    :raises ConditionRefused: it is something else; nothing is rounded or adjusted.
    """
    found = _document("offsets", given)
    if not found:
        return ()
    if not isinstance(found, Mapping):
        raise ConditionRefused(argument="offsets", problem=f"{found!r} is not a mapping of source topics")
    return tuple(sorted(_rows(found), key=lambda row: (row[0], -1 if row[1] is None else row[1])))


def _rows(found: Mapping[object, object]) -> Iterator[WantedOffset]:
    for topic, wanted in found.items():
        if not isinstance(topic, str) or not topic:
            raise ConditionRefused(argument="offsets", problem=f"{topic!r} is not the name of a source topic")
        if not isinstance(wanted, Mapping):
            yield topic, None, parse_number(f"offsets of {topic!r}", wanted)
            continue
        for partition, offset in wanted.items():
            number = parse_number(f"partition of {topic!r}", partition)
            yield topic, number, parse_number(f"offset of {topic}-{number}", offset)


def parse_number(argument: str, given: object, *, least: int = 0) -> int:
    """A whole number, also as text.

    :raises ConditionRefused: it is something else, or below ``least``.
    """
    text = given.strip() if isinstance(given, str) else given
    number = int(text) if isinstance(text, str) and text.isascii() and text.isdigit() else text
    if type(number) is not int or number < least:
        raise ConditionRefused(argument=argument, problem=f"{given!r} is not a whole number from {least} on")
    return number


def parse_group(given: object) -> str:
    """The name of a group.

    :raises ConditionRefused: there is none.
    """
    if not isinstance(given, str) or not given.strip():
        raise ConditionRefused(argument="group", problem=f"{given!r} is not the name of a consumer group")
    return given


def parse_seconds(argument: str, given: object) -> float:
    """Seconds, also as text.

    :raises ConditionRefused: it is something else, or negative.
    """
    try:
        seconds = float(given) if isinstance(given, str | int | float) and not isinstance(given, bool) else -1.0
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise ConditionRefused(argument=argument, problem=f"{given!r} is not a number of seconds from 0 on")
    return seconds


def _document(argument: str, given: object) -> object:
    """What a template gave: text that is JSON is read as such, a name stays one."""
    if not isinstance(given, str):
        return given
    text = given.strip()
    if not text.startswith(("{", "[")):
        if argument == "offsets" and text:
            raise ConditionRefused(argument=argument, problem=f"{text[:40]!r} is not a JSON object")
        return text
    try:
        found: object = read_json(text)
    except ValueError:
        raise ConditionRefused(argument=argument, problem=f"{text[:40]!r} is not JSON") from None
    return found
