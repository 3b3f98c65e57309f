"""What a comparison finds: mismatches of a kind each, told in numbers and never in content. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from hashlib import sha256
from typing import Any

from airflow_provider_mm2.mirror.model import Columns, Row, TopicPartition

KEPT = 100
"""Mismatches of a partition that are listed; all are counted."""


class Kind(str, Enum):
    """What is wrong with records."""

    CHANGED = "changed"
    MISSING = "missing"
    MISSING_AT_SOURCE = "missing at the source"
    NOT_MIRRORED = "not mirrored"
    TAIL_MISSING = "tail missing"
    DUPLICATE = "duplicate"
    REORDERED = "reordered"
    DISPLACED = "displaced"
    ABORTED = "aborted at the source"
    FOREIGN = "foreign"
    REPEAT_OR_FOREIGN = "repeat or foreign"
    UNLIKE = "unlike"


class Side(str, Enum):
    """Which of the two logs."""

    SOURCE = "source"
    TARGET = "target"


Span = tuple[int, int]
"""Offsets of records of one side, ``[start, end)``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """Records with one thing wrong, one behind the other on each log where they are.

    :param source: their offsets there; None: they are not there. ``target`` likewise.
    :param records: how many: fewer than offsets where there are holes between.
    :param detail: what differs; values only as lengths and digests, since content may be secret.
    """

    kind: Kind
    partition: TopicPartition
    source: Span | None
    target: Span | None
    records: int
    detail: str

    def joined(self, after: Mismatch) -> Mismatch | None:
        """One mismatch for this and the one right behind it, if they are of one kind and lie side by side."""
        is_same = (self.kind, self.partition, self.detail) == (after.kind, after.partition, after.detail)
        if not is_same or not (_is_beside(self.source, after.source) and _is_beside(self.target, after.target)):
            return None
        source, target = _both(self.source, after.source), _both(self.target, after.target)
        return replace(self, source=source, target=target, records=self.records + after.records)

    @property
    def told(self) -> str:
        """In a line."""
        here, there = ("nowhere" if span is None else f"{span[0]:,}" for span in (self.source, self.target))
        return f"{self.kind.value}: {self.partition}, {self.records:,} record(s) at source {here}, target {there}"

    def to_json(self) -> dict[str, Any]:
        """A row of the document."""
        return {
            "kind": self.kind.value,
            "topic": self.partition.topic,
            "partition": self.partition.partition,
            "source_offset": None if self.source is None else self.source[0],
            "source_end": None if self.source is None else self.source[1],
            "target_offset": None if self.target is None else self.target[0],
            "target_end": None if self.target is None else self.target[1],
            "records": self.records,
            "detail": self.detail,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Mismatch:
        """What ``to_json`` gave."""
        return cls(
            kind=Kind(row["kind"]),
            partition=TopicPartition(row["topic"], row["partition"]),
            source=None if row["source_offset"] is None else (row["source_offset"], row["source_end"]),
            target=None if row["target_offset"] is None else (row["target_offset"], row["target_end"]),
            records=row["records"],
            detail=row["detail"],
        )


def _is_beside(before: Span | None, after: Span | None) -> bool:
    return before[1] == after[0] if before is not None and after is not None else before is after


def _both(before: Span | None, after: Span | None) -> Span | None:
    return None if before is None or after is None else (before[0], after[1])


@dataclass(slots=True, kw_only=True)
class Tally:
    """What was counted of one partition.

    :param records: of the source, as far as they were compared or missed.
    :param expired: by side, records of the other one whose counterpart retention took; ``compacted`` likewise.
    :param on_record: records outside the map that an incident stands for, by its kind.
    """

    records: int = 0
    target_records: int = 0
    expired: Counter[Side]
    compacted: Counter[Side]
    on_record: Counter[str]

    @classmethod
    def empty(cls) -> Tally:
        """Nothing yet."""
        return cls(expired=Counter(), compacted=Counter(), on_record=Counter())

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "records": self.records,
            "target_records": self.target_records,
            "expired": {side.value: self.expired[side] for side in Side},
            "compacted": {side.value: self.compacted[side] for side in Side},
            "on_record": dict(self.on_record),
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Tally:
        """What ``to_json`` gave."""
        expired, compacted = (
            Counter({Side(side): count for side, count in row[name].items()}) for name in ("expired", "compacted")
        )
        records, target_records = row["records"], row["target_records"]
        on_record = Counter(row["on_record"])
        return cls(
            records=records, target_records=target_records, expired=expired, compacted=compacted, on_record=on_record
        )


class Findings:
    """The mismatches of one partition in the order in which they were found, the first of them listed.

    :param kept: how many are listed.
    """

    def __init__(
        self,
        partition: TopicPartition,
        listed: list[Mismatch] | None = None,
        left_out: int = 0,
        *,
        kept: int = KEPT,
    ) -> None:
        self.partition = partition
        self.listed = listed or []
        self.left_out = left_out
        self.left_records = Counter[Kind]()
        """Records of those that are not listed, by kind; after a resume those of this process alone."""
        self._kept = kept

    def add(
        self,
        kind: Kind,
        *,
        source: int | Span | None = None,
        target: int | Span | None = None,
        records: int = 1,
        detail: str,
    ) -> None:
        """Add a mismatch, to the one before it where they are one.

        :param source: the records' offsets, or the first one where they lie side by side; ``target`` likewise.
        """
        here, there = ((at, at + records) if isinstance(at, int) else at for at in (source, target))
        found = Mismatch(kind=kind, partition=self.partition, source=here, target=there, records=records, detail=detail)
        joined = self.listed[-1].joined(found) if self.listed and not self.left_out else None
        if joined is not None:
            self.listed[-1] = joined
        elif len(self.listed) < self._kept:
            self.listed.append(found)
        else:
            self.left_out += 1
            self.left_records[kind] += records

    def __len__(self) -> int:
        """How many there are."""
        return len(self.listed) + self.left_out


def changed_detail(here: Row, there: Row) -> str:
    """What differs between a record and its copy."""
    names = ("key", "value", "timestamp", "headers")
    parts = [
        f"{name} {_told(name, ours)} -> {_told(name, theirs)}"
        for name, ours, theirs in zip(names, here, there, strict=True)
        if ours != theirs
    ]
    return "; ".join(parts)


def _told(name: str, part: Any) -> str:
    if part is None:
        return "none" if name == "headers" else "null"
    if name == "timestamp":
        return str(part)
    if name == "headers":
        sizes = ", ".join("null" if value is None else str(len(value)) for _, value in part)
        data = repr(part).encode(errors="surrogateescape")
        return f"{len(part)} (bytes: {sizes}; sha256 {sha256(data).hexdigest()[:12]})"
    return f"{len(part)} bytes (sha256 {sha256(part).hexdigest()[:12]})"


def first_difference(here: Columns, there: Columns) -> int:
    """The first place at which two runs of as many records differ; their length where they do not."""
    low, high = 0, len(here)
    while low < high:  # what is equal up to the middle is compared in C
        middle = (low + high + 1) // 2
        if here.slice(low, middle).says_the_same(there.slice(low, middle)):
            low = middle
        else:
            high = middle - 1
    return low
