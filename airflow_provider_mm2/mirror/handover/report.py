"""What a hand-over does or did. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_provider_mm2.mirror.interval.seed_rules import SeedRow
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedPartition:
    """Where one partition goes on.

    :param old: where the engine that takes over would have gone on by itself; None: nowhere yet.
    :param new: the next source offset that it copies; None: it begins with the partition.
    """

    source: TopicPartition
    old: int | None
    new: int | None
    reason: str

    @classmethod
    def of_seed(cls, row: SeedRow) -> HandedPartition:
        """A row of the seed that a hand-over to runs makes."""
        parts = (row.reason, *((row.problem,) if row.problem else ()), *row.costs)
        return cls(source=row.source, old=row.old, new=row.new, reason="; ".join(parts))

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {**self.source._asdict(), "old": self.old, "new": self.new, "reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOverReport:
    """What a hand-over does or did.

    :param before: what mirrors the flow by its record; None: nothing has, as far as that knows.
    :param to: what mirrors it from here on.
    :param refused: why it may not be done.
    """

    flow: str
    before: Engine | None
    to: Engine
    applied: bool
    partitions: tuple[HandedPartition, ...] = ()
    connectors: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_done_already(self) -> bool:
        """Whether nothing had to be handed over."""
        return self.before is self.to

    def to_json(self) -> dict[str, Any]:
        """The document of ``mm2 hand-over --json``."""
        return {
            "flow": self.flow,
            "from": None if self.before is None else self.before.value,
            "to": self.to.value,
            "applied": self.applied,
            "done_already": self.is_done_already,
            "connectors": list(self.connectors),
            "partitions": [each.to_json() for each in self.partitions],
            "refused": list(self.refused),
            "warnings": list(self.warnings),
        }
