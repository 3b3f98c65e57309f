"""How far a comparison is, in a file: so that it goes on where it was ended, with the ends it was begun with.

A checksum over all of it tells a file that was changed. The file holds offsets, counts, chains of digests and what was
found. Of keys that wait for an explanation, and of records that may turn up elsewhere, it holds digests; of values
nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from airflow_provider_mm2.mirror.errors import FileNotWritable, ResumeRefused
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.verify.part_state import StateRow
from airflow_provider_mm2.mirror.verify.scope import Part, VerifyOrder

VERSION = 4
EVERY_S = 1.0

_Offset = Annotated[int, Field(ge=0)]


class _PartRow(TypedDict):
    """A partition as the file has it."""

    topic: str
    partition: _Offset
    topic_ids: tuple[str, str]
    start: _Offset
    end: _Offset
    target_start: _Offset
    target_end: _Offset
    expired: _Offset
    due: _Offset | None


_PARTS = TypeAdapter(list[_PartRow])
_STATES = TypeAdapter(dict[str, StateRow])

_RANGE = ("start", "end", "target_start", "target_end", "expired", "due")


class Memory:
    """One comparison, remembered in a file.

    :param every_s: how often the file is written at most while a partition is read.
    """

    def __init__(self, path: Path, flow: str, order: VerifyOrder, *, every_s: float = EVERY_S) -> None:
        self._path = path
        self._every_s = every_s
        self._written = 0.0
        self._head = {"version": VERSION, "flow": flow, "order": _order_json(order)}
        self._parts: list[dict[str, Any]] = []
        self._states: dict[str, Any] = {}

    def begin(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        """The partitions to compare: those of the file with its ends, or, where there is none, these.

        :raises ResumeRefused: the file is of another comparison, or a topic is another one since.
        :raises FileNotWritable: it cannot be written.
        """
        if not self._path.exists():
            self._parts = [_part_json(part) for part in parts]
            self._write()
            return tuple(parts)
        known = self._read()
        by_source = {part.source: part for part in parts}
        self._parts, self._states = known["parts"], known["states"]
        return tuple(self._as_begun(row, by_source) for row in self._parts)

    def _read(self) -> dict[str, Any]:
        try:
            known: Any = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise self._refused(f"it cannot be read ({error})") from error
        if not isinstance(known, dict) or not {"parts", "states", "sum", *self._head} <= known.keys():
            raise self._refused("it is no such file, or of another version")
        if known.pop("sum") != checksum(known):
            raise self._refused("it was changed since it was written: its checksum is of something else")
        for name, wanted in self._head.items():
            if known[name] != wanted:
                raise self._refused(f"its {name} is {known[name]}, asked for is {wanted}")
        try:
            _PARTS.validate_python(known["parts"])
            _STATES.validate_python(known["states"])
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise self._refused(f"what it says at {place} cannot be ({first['msg']})") from error
        return known

    def _as_begun(self, row: dict[str, Any], parts: dict[TopicPartition, Part]) -> Part:
        source = TopicPartition(row["topic"], row["partition"])
        part = parts.get(source)
        if part is None:
            raise self._refused(f"{source} is not there to compare any more")
        if row["topic_ids"] != list(part.topic_ids):
            raise self._refused(f"{source} is another topic since, on the source or on the target")
        return replace(part, **{name: row[name] for name in _RANGE})

    def state_of(self, part: Part) -> dict[str, Any] | None:
        """How far a partition is; None: not begun."""
        state: dict[str, Any] | None = self._states.get(str(part.source))
        return state

    @property
    def is_due(self) -> bool:
        """Whether it is time to note again how far a partition is."""
        return time.monotonic() - self._written >= self._every_s

    def note(self, part: Part, state: dict[str, Any]) -> None:
        """Write down how far a partition is."""
        self._states[str(part.source)] = state
        self._write()

    def _write(self) -> None:
        document = {**self._head, "parts": self._parts, "states": self._states}
        beside = self._path.with_name(self._path.name + ".new")
        try:
            beside.write_text(json.dumps({**document, "sum": checksum(document)}), "utf-8")
            beside.replace(self._path)  # a kill leaves the old or the new one, never half of one
        except OSError as error:
            raise FileNotWritable(path=str(self._path), problem=error.strerror or str(error)) from error
        self._written = time.monotonic()

    def _refused(self, problem: str) -> ResumeRefused:
        return ResumeRefused(path=str(self._path), problem=problem)


def checksum(document: Mapping[str, Any]) -> str:
    """What tells a document that was changed."""
    return sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _order_json(order: VerifyOrder) -> dict[str, Any]:
    ends = {"from": order.since, "to": order.until}
    return {
        "topics": sorted(order.topics),
        **{name: None if end is None else str(end) for name, end in ends.items()},
        "by_order": order.by_order,
    }


def _part_json(part: Part) -> dict[str, Any]:
    return {
        "topic": part.source.topic,
        "partition": part.source.partition,
        "topic_ids": list(part.topic_ids),
        **{name: getattr(part, name) for name in _RANGE},
    }
