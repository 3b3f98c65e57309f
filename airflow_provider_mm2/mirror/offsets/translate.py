"""The one home of the rule: a position on one side is which position on the other, or why there is none. Pure.

A position is the offset of the next record to read, as consumer groups commit it. Letters are the invariants of
``offset_map.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap


class Reason(str, Enum):
    """Why a position has no exact answer, or none at all."""

    NOT_COMMITTED = "no commit on source"
    NOT_MIRRORED = "topic not mirrored"
    NOT_YET = "partition not mirrored yet"
    AHEAD = "ahead of the mirror"
    BEHIND_START = "behind the mirror's start"
    EXPIRED = "expired on target"
    RECREATED = "topic was deleted, or deleted and made anew, since"
    FROM_SYNCS = "by MirrorMaker 2's syncs, not exact"
    FROM_CHECKPOINT = "by MirrorMaker 2's checkpoint, not exact"
    NO_SYNC = "MirrorMaker 2 has no offset sync of the partition"
    BEFORE_SYNCS = "before the first offset sync of MirrorMaker 2"
    PAST_TARGET = "MirrorMaker 2's offset syncs point past the target's end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Translated:
    """A position on the other side.

    :param exact: nothing is skipped and nothing read again from here.
    :param reason: why not, else None.
    :param distance: how far off the answer is. ``AHEAD``: offsets that the group has read and that are not here;
        ``BEHIND_START``: offsets from the position to the mirror's start; ``EXPIRED``: records that are gone.
    """

    offset: int
    exact: bool = True
    reason: Reason | None = None
    distance: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Untranslated:
    """No position on the other side, and why; ``distance`` as in :class:`Translated`."""

    reason: Reason
    distance: int = 0


Position = Translated | Untranslated


class Otherwise(str, Enum):
    """What becomes of a position without an exact answer: left alone, or given the nearest that loses nothing."""

    SKIP = "skip"
    EARLIEST = "earliest"
    MIRRORED_END = "mirrored_end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A flow's choice for positions without an exact answer."""

    uncommitted: Otherwise = Otherwise.SKIP
    behind_start: Otherwise = Otherwise.SKIP
    ahead: Otherwise = Otherwise.MIRRORED_END

    @classmethod
    def of(cls, flow: MirrorFlow) -> Policy:
        """The policy that a flow asks for."""
        return cls(
            uncommitted=Otherwise(flow.uncommitted),
            behind_start=Otherwise(flow.behind_start),
            ahead=Otherwise(flow.ahead),
        )


def translate(offset_map: OffsetMap, source_offset: int | None, *, target_log_start: int, policy: Policy) -> Position:
    """The target position at which a group goes on that stands at ``source_offset`` on the source.

    It never skips a record that the group has not read and that is on the target, and is exact inside the mirrored
    range: B leaves nothing between two segments.

    :param source_offset: None when the group never committed.
    :param target_log_start: the target's log start, to which a position is raised that has expired.
    """
    if source_offset is None:
        return or_earliest(policy.uncommitted, Reason.NOT_COMMITTED, 0, target_log_start)
    if source_offset < offset_map.source_start:
        distance = offset_map.source_start - source_offset
        return or_earliest(policy.behind_start, Reason.BEHIND_START, distance, target_log_start)
    if source_offset > offset_map.source_end:
        distance = source_offset - offset_map.source_end
        if policy.ahead is Otherwise.SKIP:
            return Untranslated(reason=Reason.AHEAD, distance=distance)
        end = max(offset_map.mirrored_end, target_log_start)
        return Translated(offset=end, exact=False, reason=Reason.AHEAD, distance=distance)
    if source_offset < offset_map.kept_from:  # E
        distance = offset_map.kept_from - source_offset + offset_map.records_before(target_log_start)
        return Translated(offset=target_log_start, exact=False, reason=Reason.EXPIRED, distance=distance)
    return _raised(offset_map, offset_map.to_target(source_offset), target_log_start)


def _raised(offset_map: OffsetMap, offset: int, target_log_start: int) -> Translated:
    """A position, or the log start where that is later; records in between are gone, markers are no loss."""
    if offset >= target_log_start:
        return Translated(offset=offset)
    gone = offset_map.records_before(target_log_start) - offset_map.records_before(offset)
    if gone == 0:
        return Translated(offset=target_log_start)
    return Translated(offset=target_log_start, exact=False, reason=Reason.EXPIRED, distance=gone)


def or_earliest(choice: Otherwise, reason: Reason, distance: int, target_log_start: int) -> Position:
    """No position, or the target's log start where that is the choice."""
    if choice is Otherwise.EARLIEST:
        return Translated(offset=target_log_start, exact=False, reason=reason, distance=distance)
    return Untranslated(reason=reason, distance=distance)


def translate_back(offset_map: OffsetMap, target_offset: int) -> Position:
    """The source position of a group that stands at ``target_offset`` on the target, for the way home.

    At the mirrored end that is the next source offset to mirror: what the source holds from there on never was here.
    """
    if target_offset > offset_map.target_end:
        return Untranslated(reason=Reason.AHEAD, distance=target_offset - offset_map.target_end)
    begin = offset_map.target_starts[0] if offset_map.counts else offset_map.target_end
    if offset_map.kept_from > offset_map.source_start and target_offset < begin:  # E
        return Translated(offset=offset_map.kept_from, exact=False, reason=Reason.EXPIRED)
    return Translated(offset=offset_map.to_source(target_offset))
