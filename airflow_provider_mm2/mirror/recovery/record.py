"""What is recorded of a failover: who asked for what, how far each step is, and what each group had and gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_mm2.mirror.group_model import GroupOffsets
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.commit import Outcome
from airflow_provider_mm2.mirror.recovery.steps import Mode, Stage, StepState


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a person asks of a failover; recorded, so that whoever resumes it does the same.

    :param groups: only these groups; empty: all that the flow selects.
    :param topics: only positions on these source topics; empty: on all.
    :param quiet_s: seconds for which the source's log ends must stand still.
    :param stop_wait_s: seconds that groups are given to leave the source.
    :param confirm_wait_s: seconds that groups are given to come up on the target; 0: one look.
    :param skip_repoint: leave the applications' configuration alone.
    :param force: go on although groups are still on the source, or somebody writes there.
    """

    mode: Mode
    groups: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    quiet_s: int = 5
    stop_wait_s: int = 120
    confirm_wait_s: int = 0
    force: bool = False
    skip_repoint: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it is about all that the flow has."""
        return not self.groups and not self.topics

    @property
    def ends_on_target(self) -> bool:
        """Whether the target is the active side after it; one group that is moved leaves the flow running."""
        return self.is_whole or self.mode is Mode.UNPLANNED


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverRecord:
    """One failover as a whole.

    :param number: counts the failovers of a flow from 1.
    :param digest: of the plan that step 5 made; an approval is of this very digest.
    :param as_of_ms: when the positions of groups were read on the source.
    """

    number: int
    flow: str
    order: Order
    stage: Stage
    begun_by: str
    begun_ms: int
    ended_ms: int | None = None
    digest: str | None = None
    approved_by: str | None = None
    approved_ms: int | None = None
    as_of_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepNote:
    """How far one step is, who did it, and what is to be told of it as plain values."""

    number: int
    state: StepState
    by: str
    started_ms: int
    ended_ms: int | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartMove:
    """One group on one partition.

    :param source: the partition on the source.
    :param source_offset: what the group had committed there; None: nothing.
    :param target: the partition on the target; None where its topic is not mirrored.
    :param offset: where it goes on on the target; None with a ``reason``.
    :param lag: records on the target from ``offset`` on that were mirrored.
    :param reread: records that it reads again; None: not known.
    :param not_on_target: offsets that it has read, or would have to read, and that are not on the target.
    :param before: what it had committed on the target; None: nothing.
    """

    source: TopicPartition
    source_offset: int | None
    target: TopicPartition | None
    offset: int | None
    exact: bool
    reason: str | None
    lag: int | None = None
    reread: int | None = 0
    not_on_target: int = 0
    before: int | None = None
    metadata: str = ""

    @property
    def after(self) -> int | None:
        """What the group has committed on the target once step 7 is done."""
        return self.before if self.offset is None else self.offset


IN_PLACE = (Outcome.WRITTEN.value, Outcome.KEPT.value)
"""Results of groups that stand where they should."""

FINE = (*IN_PLACE, Outcome.NOTHING.value)
"""Results that leave nobody behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMove:
    """One group: where it goes on, all it had on the target before, and what became of it.

    :param had: all it has committed on the target, also on topics of others, as topic, partition, offset and metadata:
        what a rollback gives back.
    :param members: who was in it on the target when the plan was made.
    :param result: how step 7 ended for it; None: not done yet.
    """

    group: str
    parts: tuple[PartMove, ...]
    had: tuple[tuple[str, int, int, str], ...] = ()
    members: tuple[str, ...] = ()
    members_on_source: tuple[str, ...] = ()
    problem: str = ""
    result: str | None = None
    detail: str = ""
    undone: str | None = None

    @property
    def before(self) -> GroupOffsets:
        """All it had on the target."""
        return GroupOffsets(
            offsets={TopicPartition(topic, number): offset for topic, number, offset, _ in self.had},
            metadata={TopicPartition(topic, number): text for topic, number, _, text in self.had if text},
        )

    @property
    def wanted(self) -> GroupOffsets:
        """What is committed for it on the target."""
        moved = [part for part in self.parts if part.target is not None and part.offset is not None]
        return GroupOffsets(
            offsets={part.target: part.offset for part in moved if part.target is not None and part.offset is not None},
            metadata={part.target: part.metadata for part in moved if part.target is not None and part.metadata},
        )

    @property
    def expected(self) -> dict[TopicPartition, int]:
        """What stands there once it is committed."""
        return {part.target: part.after for part in self.parts if part.target is not None and part.after is not None}


def not_closed(failover: FailoverRecord | None) -> str:
    """Why there is nothing to take back."""
    if failover is None:
        return "it never failed over"
    if failover.stage is not Stage.CLOSED:
        return f"its last failover is {failover.stage.value}"
    moved = ", ".join((*failover.order.groups, *failover.order.topics))
    return f"its last failover moved {moved} alone, and left the source active; those come back with the whole flow"
