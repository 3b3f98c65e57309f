"""What a failover is told as: the document of ``mm2 failover --json``, and its lines for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.recovery.moves import Plan, TopicEnd, loss_window
from airflow_provider_mm2.mirror.recovery.record import FINE, FailoverRecord, GroupMove, Order, PartMove, StepNote
from airflow_provider_mm2.mirror.recovery.steps import DRAIN, PREFLIGHT, Stage, StepState, steps_of
from airflow_provider_mm2.mirror.state_model import FlowRecord

PREVIEW, NONE = "preview", "none"

EMPTY: Mapping[str, Any] = {
    **dict.fromkeys(("flow", "mode", "state", "active_side", "frozen", "as_of", "plan_digest", "begun_by")),
    **dict.fromkeys(("approved_by", "loss_window", "known_missing")),
    **{"applied": False, "members": {}, "results": {}},
    **{name: [] for name in ("steps", "topics", "groups", "repoints", "warnings")},
}
"""The document of a failover of which nothing can be told yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverReport:
    """A failover as it stands, or as it would be.

    :param failover: what is recorded; None: a preview.
    :param plan: what is to be applied, or was; None: step 5 was not reached.
    """

    record: FlowRecord
    order: Order | None
    failover: FailoverRecord | None = None
    steps: Mapping[int, StepNote] = field(default_factory=dict)
    groups: Mapping[str, GroupMove] = field(default_factory=dict)
    plan: Plan | None = None
    repoints: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """The stage in a word."""
        if self.failover is not None:
            return self.failover.stage.value
        return PREVIEW if self.order is not None else NONE

    @property
    def not_moved(self) -> tuple[str, ...]:
        """Groups that step 7 passed over, with why."""
        return tuple(
            f"group {name}: {move.result or move.problem}{f' ({move.detail})' if move.detail else ''}"
            for name, move in self.groups.items()
            if move.result not in (None, *FINE) or move.problem
        )

    @property
    def is_refused(self) -> bool:
        """Whether it was refused by its first look, so that nothing was done."""
        preflight = self.steps.get(PREFLIGHT)
        is_over = self.failover is not None and self.failover.stage is Stage.ROLLED_BACK
        return is_over and len(self.steps) == 1 and preflight is not None and preflight.state is StepState.FAILED

    @property
    def is_drained(self) -> bool:
        """Whether all that the source had was mirrored while nobody wrote to it."""
        drain = self.steps.get(DRAIN)
        is_whole = self.order is not None and self.order.is_whole
        is_over = drain is not None and drain.state is StepState.DONE and not drain.detail.get("not_mirrored")
        return is_whole and is_over

    @property
    def applied(self) -> bool:
        """Whether positions were committed."""
        return any(move.result is not None for move in self.groups.values())

    def to_json(self) -> dict[str, Any]:
        """The document of ``mm2 failover --json``."""
        mode = None if self.order is None else self.order.mode.value
        as_of_ms = self.plan.as_of_ms if self.plan is not None else self.failover.as_of_ms if self.failover else None
        digest = self.failover.digest if self.failover is not None else self.plan.digest if self.plan else None
        return {
            "flow": self.record.flow,
            "mode": mode,
            "state": self.state,
            "active_side": self.record.active_side.value,
            "frozen": self.record.frozen,
            "as_of": None if as_of_ms is None else show(as_of_ms),
            "plan_digest": digest,
            "applied": self.applied,
            "begun_by": None if self.failover is None else self.failover.begun_by,
            "approved_by": None if self.failover is None else self.failover.approved_by,
            "loss_window": None if self.plan is None else loss_window(self.plan, drained=self.is_drained),
            "known_missing": None if self.plan is None else self.plan.known_missing,
            "steps": self._steps(),
            "topics": [] if self.plan is None else list(map(_topic, self.plan.topics)),
            "groups": [part_row(move, part) for move in self.groups.values() for part in move.parts],
            "members": {
                name: {"target": list(move.members), "source": list(move.members_on_source)}
                for name, move in self.groups.items()
                if move.members or move.members_on_source
            },
            "results": {
                name: {"result": move.result or move.problem or None, "detail": move.detail, "undone": move.undone}
                for name, move in self.groups.items()
            },
            "repoints": list(self.repoints),
            "warnings": list(self.warnings),
        }

    def _steps(self) -> list[dict[str, Any]]:
        if self.order is None:
            return []
        return [self._step(each.number, each.name, each.does) for each in steps_of(self.order.mode)]

    def _step(self, number: int, name: str, does: str) -> dict[str, Any]:
        note = self.steps.get(number)
        return {
            "number": number,
            "name": name,
            "state": StepState.TO_DO.value if note is None else note.state.value,
            "by": None if note is None else note.by,
            "started": None if note is None else show(note.started_ms),
            "ended": None if note is None or note.ended_ms is None else show(note.ended_ms),
            "detail": {"does": does} if note is None else dict(note.detail),
        }


def _topic(end: TopicEnd) -> dict[str, Any]:
    return {
        "topic": end.topic,
        "target_topic": end.target_topic,
        "mirrored_to": {str(number): offset for number, offset in sorted(end.ends.items())},
        "mirrored_through": None if end.through_ms is None else show(end.through_ms),
    }


def part_row(move: GroupMove, part: PartMove) -> dict[str, Any]:
    """One group on one partition as plain values."""
    return {
        "group": move.group,
        "topic": part.source.topic,
        "partition": part.source.partition,
        "source_offset": part.source_offset,
        "target_topic": None if part.target is None else part.target.topic,
        "target_offset": part.offset,
        "before": part.before,
        "exact": part.exact,
        "lag": part.lag,
        "reread": part.reread,
        "not_on_target": part.not_on_target,
        "reason": part.reason,
    }
