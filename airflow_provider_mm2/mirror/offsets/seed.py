"""Where progress may be seeded from: what is asked, and the offset that each kind gives for each partition.

KIP-656 asks for a one-time job that seeds the target's progress from the source; a pair is never new, so there are more
places to take it from than one. Nothing is judged or written here.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from airflow_provider_mm2.mirror.errors import SeedUnreadable
from airflow_provider_mm2.mirror.json_text import read_json
from airflow_provider_mm2.mirror.model import TopicPartition


class SeedKind(str, Enum):
    """What progress is taken from; the value is what ``--from`` begins with."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    OFFSETS = "offsets"
    SOURCE_GROUP = "source-group"
    PROGRESS_GROUP = "progress-group"
    CONNECT = "connect"
    MATCH = "match"
    FAILOVER = "failover"
    CONNECTORS = "connectors"  # of a hand-over alone: they have to be stopped and fenced first

    @property
    def is_of_a_copy(self) -> bool:
        """Whether it tells up to where the target holds copies; the others choose where to begin."""
        return self not in (SeedKind.EARLIEST, SeedKind.LATEST, SeedKind.TIMESTAMP)

    @property
    def is_hearsay(self) -> bool:
        """Whether another tool says so, which may have died between a record and its note of it."""
        return self in (SeedKind.CONNECT, SeedKind.CONNECTORS, SeedKind.SOURCE_GROUP, SeedKind.OFFSETS)


WITH_ARGUMENT = {
    SeedKind.TIMESTAMP: "a time with a zone",
    SeedKind.OFFSETS: "a file",
    SeedKind.SOURCE_GROUP: "a consumer group of the source",
    SeedKind.CONNECT: "Kafka Connect's offsets topic, and with a second ':' a connector's name",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """What was asked for: a kind and, for some, its argument."""

    kind: SeedKind
    argument: str = ""

    @classmethod
    def parse(cls, text: str) -> Seed:
        """A seed as ``--from`` takes it, such as ``earliest`` or ``timestamp:2024-01-01T00:00:00Z``.

        :raises SeedUnreadable: no such kind, or its argument is missing or too much.
        """
        name, _, argument = text.partition(":")
        known = [each for each in SeedKind if each is not SeedKind.CONNECTORS]
        try:
            kind = known[[each.value for each in known].index(name)]
        except ValueError:
            kinds = ", ".join(each.value + (":..." if each in WITH_ARGUMENT else "") for each in known)
            raise SeedUnreadable(seed=text, problem=f"it is none of {kinds}", cause="a misspelt kind") from None
        if kind in WITH_ARGUMENT and not argument:
            cause = "what belongs behind the colon was left out"
            raise SeedUnreadable(seed=text, problem=f"behind {name}: comes {WITH_ARGUMENT[kind]}", cause=cause)
        if kind not in WITH_ARGUMENT and argument:
            cause = "another kind was meant, or a topic, which --topic chooses"
            raise SeedUnreadable(seed=text, problem=f"{name} takes nothing behind it", cause=cause)
        return cls(kind=kind, argument=argument)

    @property
    def command(self) -> str:
        """What a person calls to have it."""
        return "mm2 hand-over" if self.kind is SeedKind.CONNECTORS else f"mm2 seed --from {self}"

    def __str__(self) -> str:
        """As ``--from`` takes it."""
        return f"{self.kind.value}:{self.argument}" if self.argument else self.kind.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The next source offset to copy of a partition, and what it was taken from."""

    offset: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPoint:
    """The seed says nothing of a partition, which stays as it is; ``refused``: what it says cannot be used."""

    why: str
    refused: bool = False


Points = Mapping[TopicPartition, Point | NoPoint]


def read_file(path: Path) -> dict[TopicPartition, int]:
    """Offsets of a file: next source offset by partition.

    Either rows of ``topic,partition,offset``, as Kafka's ``kafka-consumer-groups --reset-offsets --export`` writes
    them, or JSON: a list of objects with ``topic``, ``partition`` and ``offset``, or a document of ours that has
    ``partitions`` with ``new``, ``progress`` or ``offset``.

    :raises SeedUnreadable: the file cannot be read, or a row is not of that kind.
    """
    seed, of_another_kind = f"offsets:{path}", "a file of another kind, or one that was changed by hand or cut off"
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeError as error:
        raise SeedUnreadable(seed=seed, problem=f"it is not UTF-8: {error}", cause=of_another_kind) from error
    except (OSError, ValueError) as error:
        cause = "a misspelt path, or a file that may not be read here"
        raise SeedUnreadable(seed=seed, problem=str(error), cause=cause) from error
    try:
        rows = _json_rows(text) if text.lstrip().startswith(("[", "{")) else _csv_rows(text)
        found: dict[TopicPartition, int] = {}
        for topic, partition, offset in rows:
            part = TopicPartition(topic, partition)
            if found.setdefault(part, offset) != offset:
                raise ValueError(f"{part} has two offsets, {found[part]} and {offset}")
    except (ValueError, RecursionError, csv.Error) as error:
        raise SeedUnreadable(seed=seed, problem=str(error), cause=of_another_kind) from error
    if not found:
        raise SeedUnreadable(seed=seed, problem="there is no offset in it", cause=of_another_kind)
    return found


def _csv_rows(text: str) -> list[tuple[str, int, int]]:
    rows: list[tuple[str, int, int]] = []
    for number, row in enumerate(csv.reader(text.splitlines()), 1):
        cells = [cell.strip() for cell in row]
        is_heading = number == 1 and [cell.lower() for cell in cells] == ["topic", "partition", "offset"]
        if not any(cells) or cells[0].startswith("#") or is_heading:
            continue
        if len(cells) != 3 or not cells[1].isdecimal() or not cells[2].isdecimal():
            raise ValueError(f"line {number}, {','.join(row)!r}, is not topic,partition,offset")
        rows.append((cells[0], int(cells[1]), int(cells[2])))
    return rows


def _json_rows(text: str) -> list[tuple[str, int, int]]:
    document: Any = read_json(text)
    entries = document.get("partitions") if isinstance(document, dict) else document
    if not isinstance(entries, list):
        raise ValueError("it is neither a list nor an object with 'partitions'")
    return [row for number, entry in enumerate(entries, 1) if (row := _json_row(number, entry)) is not None]


def _json_row(number: int, entry: Any) -> tuple[str, int, int] | None:
    """One row; None for a partition of which the document says that it has no offset."""
    shown = json.dumps(entry)[:100]
    if not isinstance(entry, dict):
        raise ValueError(f"entry {number}, {shown}, is not an object")
    offset = next((entry[name] for name in ("offset", "new", "progress") if name in entry), "")
    match entry:
        case {"topic": str(topic), "partition": int(partition)} if type(partition) is int and partition >= 0:
            if offset is None:
                return None
            if type(offset) is int and offset >= 0:
                return topic, partition, offset
    raise ValueError(f"entry {number}, {shown}, has no topic, partition and offset")
