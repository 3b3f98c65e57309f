"""What several groups met on one partition, each record of it counted once. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from airflow_provider_mm2.mirror.verify.findings import Mismatch, Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """Records of one kind that a group met or missed in the range in which it was compared.

    :param starts: where that range begins on each side; ``ends`` likewise.
    :param spans: side, start, end (not included) and records of each.
    :param left: further records in the range whose place is not known.
    """

    starts: Mapping[Side, int]
    ends: Mapping[Side, int]
    spans: tuple[tuple[Side, int, int, int], ...] = ()
    left: int = 0

    @property
    def records(self) -> int:
        """How many the group met."""
        return sum(records for *_, records in self.spans) + self.left


def span_of(found: Mismatch, since: int | None = None) -> tuple[Side, int, int, int]:
    """Where a mismatch lies: on the source where it is known, else on the target.

    :param since: only its records from this source offset on; None: all.
    """
    side, span = (Side.SOURCE, found.source) if found.source is not None else (Side.TARGET, found.target or (0, 0))
    if side is Side.TARGET or since is None or since <= span[0]:
        return side, *span, found.records
    return side, since, span[1], _behind(*span, found.records, since)


def _behind(start: int, end: int, records: int, since: int) -> int:
    """How many of the records of a range lie at or behind an offset; where it has holes, at most so many."""
    return records if start >= since else max(0, min(records, end - since))


def count_once(met: Iterable[Met]) -> int:
    """How many different records groups met on one partition, whose ranges may overlap.

    What one group met in a range the others met there too, so of each next range only what lies behind counts.
    """
    total = 0
    done = dict.fromkeys(Side, 0)
    for each in sorted(met, key=lambda each: (each.starts[Side.SOURCE], -each.ends[Side.SOURCE])):
        total += sum(_behind(start, end, records, done[side]) for side, start, end, records in each.spans)
        total += each.left if each.ends[Side.SOURCE] > done[Side.SOURCE] else 0
        done = {side: max(done[side], each.ends[side]) for side in Side}
    return total
