"""Step 10: the groups are seen at work on the target, and nobody is left on the source."""

from __future__ import annotations

from airflow_provider_mm2.mirror.errors import GroupsNotSeen, MirrorError
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.recovery.offset_moves import moved_groups
from airflow_provider_mm2.mirror.recovery.quiet import grown, members, source_ends, told
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.mirror.recovery.work import Detail, Work
from airflow_provider_mm2.mirror.state.ledger import read_shards

NAMES = 50


def confirm(work: Work) -> Detail:
    """Look, for as long as the order says, until each moved group has members or has gone on.

    :raises GroupsNotSeen: the order gives them time, and some were not seen within it.
    """
    groups = moved_groups(work.journal.recorded.groups)
    active: set[str] = set()
    moving: set[str] = set()
    for _ in work.waits(work.order.confirm_wait_s):
        active |= members(work.target.describe_groups(list(groups), work.tick)).keys()
        moving |= _moved_on(work, groups)
        if len(active | moving) == len(groups):
            break
        if work.order.confirm_wait_s:  # else nobody is waited for, and what was seen is in the report
            work.report(f"{len(active | moving)} of {len(groups)} group(s) seen at work on the target")
    missing = [name for name in groups if name not in active | moving]
    if missing and work.order.confirm_wait_s:
        waited = work.order.confirm_wait_s
        raise GroupsNotSeen(flow=work.flow.name, count=len(missing), seconds=waited, groups=tuple(missing[:10]))
    detail: Detail = {"active": len(active), "moving": len(moving), "not_seen": missing[:NAMES]}
    if work.order.mode is Mode.PLANNED:
        detail |= _source_left(work, groups)
    return detail


def _moved_on(work: Work, groups: tuple[str, ...]) -> set[str]:
    """Groups that stand further than they were set."""
    present = work.target.group_offsets(list(groups), work.tick, stable=False)
    found: set[str] = set()
    for name in groups:
        answer, expected = present[name], work.journal.recorded.groups[name].expected
        if not isinstance(answer, MirrorError) and any(
            answer.offsets.get(part, offset) > offset for part, offset in expected.items()
        ):
            found.add(name)
    return found


def _source_left(work: Work, groups: tuple[str, ...]) -> Detail:
    """What still goes on at the source, which it should not."""
    left = members(work.source.describe_groups(list(groups), work.tick))
    detail: Detail = {"still_on_source": sorted(left)[:NAMES]}
    if work.order.is_whole:
        ledgers = read_shards(work.target, work.flow.name, work.record.shards, work.tick)
        mirrored: dict[TopicPartition, int] = {part: ledger.latest.next_offset for part, ledger in ledgers.items()}
        detail["written_to_source"] = list(told(grown(mirrored, source_ends(work))))
    return detail
