"""What a comparison tells: the document of ``mm2 verify --json`` and its bounded summary. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_mm2.mirror.verify.findings import Findings, Mismatch, Side, Tally
from airflow_provider_mm2.mirror.verify.scope import Part

SUMMARY_LISTED = 20
"""Mismatches, partitions and warnings in a summary."""

LISTED = 1_000
"""Mismatches of all partitions in a document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """One partition, compared.

    :param digests: of source and target; None where only a sample was read.
    :param target_seen: the target offset up to which records were paired.
    """

    part: Part
    tally: Tally
    findings: Findings
    digests: tuple[str, str] | None
    target_seen: int = 0
    sampled: dict[str, Any] | None = None

    def row(self) -> dict[str, Any]:
        """The partition as plain values."""
        part, tally = self.part, self.tally
        return {
            "topic": part.source.topic,
            "partition": part.source.partition,
            "target_topic": part.target.topic,
            "start": part.start,
            "end": part.end,
            "target_start": part.target_start,
            "target_end": part.target_end,
            "records": tally.records,
            "target_records": tally.target_records,
            "digest": None if self.digests is None else self.digests[0],
            "target_digest": None if self.digests is None else self.digests[1],
            "mismatches": len(self.findings),
            "expired_source": tally.expired[Side.SOURCE],
            "expired_target": tally.expired[Side.TARGET] + part.expired,
            "compacted_source": tally.compacted[Side.SOURCE],
            "compacted_target": tally.compacted[Side.TARGET],
            "on_record": dict(sorted(tally.on_record.items())),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """A whole comparison."""

    flow: str
    mode: str
    results: Sequence[PartResult]
    warnings: tuple[str, ...] = ()
    absent: tuple[Mismatch, ...] = ()
    sampled: dict[str, Any] | None = None
    seconds: float = field(default=0.0)

    @property
    def mismatches(self) -> list[Mismatch]:
        """Those that are listed, by partition."""
        found = (each for result in self.results for each in result.findings.listed)
        return [*self.absent, *found][:LISTED]

    @property
    def count(self) -> int:
        """How many mismatches there are."""
        return len(self.absent) + sum(len(result.findings) for result in self.results)

    @property
    def records(self) -> int:
        """Records of the source that were compared or missed."""
        return sum(result.tally.records for result in self.results)

    def to_json(self) -> dict[str, Any]:
        """The document of ``mm2 verify --json``."""
        listed = self.mismatches
        return {
            "flow": self.flow,
            "mode": self.mode,
            "records": self.records,
            "mismatches": [each.to_json() for each in listed],
            "mismatches_left_out": self.count - len(listed),
            "partitions": [result.row() for result in self.results],
            "sampled": self.sampled,
            "warnings": list(self.warnings),
            "seconds": round(self.seconds, 3),
        }

    def summary(self) -> dict[str, Any]:
        """The same, bounded whatever was found: for XCom."""
        document = self.to_json()
        rows, listed, warnings = document["partitions"], document["mismatches"], document["warnings"]
        keys = ("topic", "partition", "start", "end", "records", "mismatches", "digest")
        sampled = None if self.sampled is None else {**self.sampled, "partitions": len(self.sampled["partitions"])}
        return {
            **{key: document[key] for key in ("flow", "mode", "records", "seconds")},
            "found": self.count,
            "mismatches": [{**row, "detail": row["detail"][:300]} for row in listed[:SUMMARY_LISTED]],
            "mismatches_left_out": self.count - min(len(listed), SUMMARY_LISTED),
            "partitions": [{key: row[key] for key in keys} for row in rows[:SUMMARY_LISTED]],
            "partitions_left_out": max(0, len(rows) - SUMMARY_LISTED),
            "sampled": sampled,
            "warnings": [text[:300] for text in warnings[:SUMMARY_LISTED]],
        }
