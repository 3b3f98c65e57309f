"""What is told of the groups of a flow: where they stand, and what became of them on the target."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_mm2.mirror.errors import GroupsIncomplete
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.offsets.commit import GroupOutcome, Outcome
from airflow_provider_mm2.mirror.offsets.positions import GroupPosition
from airflow_provider_mm2.mirror.offsets.translate import Translated

AHEAD_LINES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsReport:
    """Where the groups of a flow stand, and what became of them on the target.

    :param as_of_ms: when the source's groups were read.
    :param positions: by group, in the order of their partitions.
    :param outcomes: one for each selected group.
    :param left_out: groups that are not selected, with the rule that hit.
    :param checkpoints: how many were published, and ``syncs`` likewise.
    """

    flow: str
    as_of_ms: int
    positions: Mapping[str, tuple[GroupPosition, ...]]
    outcomes: Mapping[str, GroupOutcome]
    left_out: Mapping[str, str]
    checkpoints: int = 0
    syncs: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def ahead_lines(self) -> tuple[str, ...]:
        """Groups that are ahead on the target, for people: the first of them, and how many more there are."""
        ahead = [(name, found.ahead) for name, found in self.outcomes.items() if found.ahead]
        lines = [
            f"group {name}: {sum(parts.values()):,} offsets further on the target than on the source ({_some(parts)}): "
            "it went on there, or was set back on the source and would miss them after a move"
            for name, parts in ahead[:AHEAD_LINES]
        ]
        more = len(ahead) - AHEAD_LINES
        return (*lines, f"and {more:,} more groups like these") if more > 0 else tuple(lines)

    @property
    def told(self) -> tuple[str, ...]:
        """All that is worth knowing and stops nothing."""
        return self.warnings + self.ahead_lines

    @property
    def failed(self) -> tuple[str, ...]:
        """Groups that could not be read or written."""
        return tuple(name for name, found in self.outcomes.items() if found.outcome is Outcome.FAILED)

    def counts(self) -> dict[str, Any]:
        """How many groups and positions on mirrored topics there are, and how many of those are exact."""
        every = [found for positions in self.positions.values() for found in positions]
        rows = [found for found in every if found.target is not None and found.source_offset is not None]
        return {
            "as_of": show(self.as_of_ms),
            "groups": len(self.positions),
            "positions": len(rows),
            "exact": sum(isinstance(found.position, Translated) and found.position.exact for found in rows),
        }

    def raise_incomplete(self) -> None:
        """Say that some groups failed, once all others are done.

        :raises GroupsIncomplete: one failed.
        """
        if self.failed:
            first = self.failed[0]
            raise GroupsIncomplete(
                flow=self.flow,
                failed=len(self.failed),
                groups=len(self.outcomes),
                names=self.failed[:10],
                problem=self.outcomes[first].detail,
            )

    def to_json(self) -> dict[str, Any]:
        """The document of ``mm2 groups --json``."""
        return {
            "flow": self.flow,
            "as_of": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.as_of_ms / 1000)),
            "groups": [position_json(found) for name in self.positions for found in self.positions[name]],
            "results": [
                {
                    "group": name,
                    "result": found.outcome.value,
                    "detail": found.detail,
                    "ahead": [
                        {"topic": part.topic, "partition": part.partition, "offsets": count}
                        for part, count in sorted(found.ahead.items())
                    ],
                }
                for name, found in self.outcomes.items()
            ],
            "left_out": dict(self.left_out),
            "checkpoints": self.checkpoints,
            "syncs": self.syncs,
            "warnings": list(self.told),
        }

    def summary(self) -> dict[str, Any]:
        """A bounded summary of plain values."""
        counts: dict[str, int] = {}
        for found in self.outcomes.values():
            counts[found.outcome.value] = counts.get(found.outcome.value, 0) + 1
        return {
            "groups": len(self.outcomes),
            "results": counts,
            "failed": list(self.failed[:20]),
            "left_out": len(self.left_out),
            "checkpoints": self.checkpoints,
            "syncs": self.syncs,
            "warnings": list(self.told[:20]),
        }


def _some(parts: Mapping[TopicPartition, int]) -> str:
    """The first few partitions, and how many more there are."""
    names = [str(part) for part in sorted(parts)]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def position_json(found: GroupPosition) -> dict[str, Any]:
    """One row of ``mm2 groups --json``; ``target_offset`` None comes with a reason."""
    position = found.position
    offset = position.offset if isinstance(position, Translated) else None
    reason = None if position.reason is None else position.reason.value
    if position.reason is not None and position.distance:
        reason = f"{reason} by {position.distance}"
    if found.note:
        reason = f"{reason}; {found.note}" if reason else found.note
    if found.pending:
        reason = f"{reason}; pending" if reason else "pending: an open transaction holds a newer offset"
    return {
        "group": found.group,
        "topic": found.source.topic,
        "partition": found.source.partition,
        "source_offset": found.source_offset,
        "target_topic": None if found.target is None else found.target.topic,
        "target_offset": offset,
        "exact": isinstance(position, Translated) and position.exact and not found.pending,
        "reason": reason,
        "on_target": found.on_target,
        "source": None if found.origin is None else found.origin.value,
    }
