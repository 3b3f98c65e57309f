"""What would have stopped a run and was accepted, by a policy of the flow or by a person."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from airflow_provider_mm2.mirror.model import TopicPartition


class IncidentKind(str, Enum):
    """What was found and accepted, by a policy of the flow or by a person."""

    GAP = "gap"
    TRUNCATED = "source truncated"
    SOURCE_RECREATED = "source topic recreated"
    TARGET_RECREATED = "target topic recreated"
    FOREIGN_WRITES = "foreign writes"
    SEEDED = "seeded"
    FORGOTTEN = "forgotten"
    STRANDED = "stranded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """Something that would have stopped a run and was accepted; kept for ever.

    ``start`` and ``end`` are source offsets, with foreign writes those of the target: what was passed over, or is
    copied once more. ``records`` counts them where they can still be counted. ``decided_by`` is the policy, or the
    command and who gave it. Foreign writes of one partition are one incident, which happened ``times`` times.
    """

    kind: IncidentKind
    topic: str
    partition: int
    at_ms: int
    start: int
    end: int
    records: int | None
    decided_by: str
    times: int = 1

    @property
    def source(self) -> TopicPartition:
        """The partition on the source."""
        return TopicPartition(self.topic, self.partition)
