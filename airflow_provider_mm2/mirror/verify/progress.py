"""How far a comparison is, for a log."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_mm2.mirror.model import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a comparison is: at ``offset`` of ``end`` in ``source``, with ``records`` compared in all."""

    source: TopicPartition
    offset: int
    end: int
    records: int
    found: int
    seconds: float

    def line(self) -> str:
        """For a log."""
        return (
            f"{self.source}: at {self.offset:,} of {self.end:,}; {self.records:,} records compared, "
            f"{self.records / max(self.seconds, 0.001):,.0f}/s, {self.found:,} mismatch(es)"
        )
