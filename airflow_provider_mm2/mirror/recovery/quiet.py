"""Steps 2 and 3: nobody writes to the source and nobody reads from it any more; then it is drained."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_mm2.mirror.clusters import mm2_topics, naming
from airflow_provider_mm2.mirror.clusters.selection import select_topics
from airflow_provider_mm2.mirror.errors import (
    GroupsIncomplete,
    GroupsStillActive,
    MirrorError,
    PlanChanged,
    SourceNotQuiet,
)
from airflow_provider_mm2.mirror.model import Progress, TopicPartition
from airflow_provider_mm2.mirror.recovery.from_connectors import take_from_connectors
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.mirror.recovery.work import Detail, Work
from airflow_provider_mm2.mirror.run import drain
from airflow_provider_mm2.mirror.state.ledger import read_shards
from airflow_provider_mm2.mirror.state.snapshot import read_snapshot
from airflow_provider_mm2.mirror.state_model import Engine

TOLD = 20
"""Warnings in the record of a step."""


def source_ends(work: Work) -> dict[TopicPartition, int]:
    """The log ends of all that the flow mirrors, open transactions counted, heartbeats left out: they never stop."""
    beats = mm2_topics.heartbeats_topic(naming.policy_of(work.flow))
    topics = work.source.describe_topics(sorted(_mirrored(work)))
    parts = [
        TopicPartition(name, number)
        for name, info in topics.items()
        if name != beats
        for number in range(info.partitions)
    ]
    return {part: log.end for part, log in work.source.log_offsets(parts).items()} if parts else {}


def _mirrored(work: Work) -> set[str]:
    """Source topics that are mirrored: by the ledger, and while connectors mirror those that the flow selects."""
    ledgers = read_shards(work.target, work.flow.name, work.record.shards, work.tick)
    names = {part.topic for part in ledgers}
    if work.record.engine is Engine.BOUNDED:
        return names
    return names | set(select_topics(work.flow, naming.policy_of(work.flow), work.source.list_topics()).topics)


def see_quiet(work: Work) -> Detail:
    """Step 2, first half: the source's log ends stand still.

    :raises SourceNotQuiet: records arrived.
    """
    if not work.order.is_whole:
        return {"quiet": "not looked at: only some groups move, and the source goes on"}
    before = source_ends(work)
    work.report(f"looking for {work.order.quiet_s} s whether anybody writes to {len(before)} source partition(s)")
    for _ in work.waits(work.order.quiet_s):
        pass
    written = grown(before, source_ends(work))
    if written and not work.order.force:
        raise SourceNotQuiet(flow=work.flow.name, seconds=work.order.quiet_s, written=told(written))
    return {"quiet_s": work.order.quiet_s, "still_written": list(told(written))}


def see_nobody_reads(work: Work, groups: tuple[str, ...]) -> Detail:
    """Step 2, second half: the groups have left the source.

    :raises GroupsStillActive: some have not within the limit.
    """
    active: dict[str, tuple[str, ...]] = {}
    for _ in work.waits(work.order.stop_wait_s):
        active = members(work.source.describe_groups(list(groups), work.tick))
        if not active:
            return {"groups_left": len(groups)}
        work.report(f"{len(active)} group(s) are still on the source: {', '.join(sorted(active)[:5])}")
        if work.order.force:
            break
    if not work.order.force:
        some = tuple(f"{name} ({', '.join(who[:3])})" for name, who in sorted(active.items())[:10])
        raise GroupsStillActive(flow=work.flow.name, count=len(active), seconds=work.order.stop_wait_s, groups=some)
    return {"forced": "what these groups read on the source from now on they read again", "active": sorted(active)}


def drain_source(work: Work) -> Detail:
    """Step 3: mirror to the end, with the groups' positions as they stand then.

    :raises SourceNotQuiet: something is on the source that was not mirrored, since somebody still writes.
    :raises GroupsIncomplete: groups could not be read, so where they stand now is not known.
    """

    def say(progress: Progress) -> None:
        work.report(f"{progress.records:,} records mirrored, {progress.remaining:,} offsets to go")

    taken = take_from_connectors(work)
    summary = drain(work.flow, work.both, tick=work.tick, report=say, owner=work.owner, lease=work.journal.lease)
    work.journal.open()  # the run wrote to the gate itself
    detail: Detail = {
        **taken,
        "records": sum(part.records for part in summary.partitions),
        "seconds": round(summary.seconds, 3),
    }
    detail["warnings"] = list(summary.warnings[:TOLD])
    _check_all_read(work, detail)
    if work.order.is_whole:
        mirrored = {part.source: part.end for part in summary.partitions}
        left = grown(mirrored, source_ends(work))
        if left and not work.order.force:
            raise SourceNotQuiet(flow=work.flow.name, seconds=round(summary.seconds), written=told(left))
        detail["not_mirrored"] = list(told(left))
    return detail


def _check_all_read(work: Work, detail: Detail) -> None:
    """The run read every group that is to move: what it kept of one it could not read is of an earlier run."""
    snapshot = read_snapshot(work.target, work.flow.name, work.tick)
    chosen = work.order.groups or (snapshot.groups.keys() | snapshot.unread)
    unread = tuple(sorted(snapshot.unread & set(chosen)))
    if unread and not work.order.force:
        problem = "the source did not tell where it stands"
        raise GroupsIncomplete(
            flow=work.flow.name, failed=len(unread), groups=len(chosen), names=unread[:TOLD], problem=problem
        )
    if unread:
        detail["forced_unread"] = list(unread[:TOLD])


def see_source_unchanged(work: Work) -> None:
    """Step 7, before anything is written: since it was drained nobody has written to the source, or read from it.

    An approval may come long after the proof of step 2.

    :raises PlanChanged: somebody has; says who, with both values.
    """
    if work.order.mode is not Mode.PLANNED or work.order.force:
        return
    found: list[str] = []
    if work.order.is_whole:
        ledgers = read_shards(work.target, work.flow.name, work.record.shards, work.tick)
        mirrored = {part: ledger.latest.next_offset for part, ledger in ledgers.items()}
        written = told(grown(mirrored, source_ends(work)))
        found += [f"the source has grown since it was drained: {each}" for each in written]
    moves = work.journal.recorded.groups
    present = work.source.group_offsets(list(moves), work.tick, stable=False)
    for name, move in moves.items():
        answer = present[name]
        if isinstance(answer, MirrorError):
            raise answer
        for part in move.parts:
            now = answer.offsets.get(part.source)
            if now != part.source_offset:
                found.append(f"group {name}, {part.source}: stands at {now} on the source, was {part.source_offset}")
    if found:
        raise PlanChanged(flow=work.flow.name, differences=tuple(found[:TOLD]), count=len(found))


def members(states: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """The groups with somebody in them, and who; a group that cannot be described counts as active."""
    found: dict[str, tuple[str, ...]] = {}
    for name, state in states.items():
        if isinstance(state, MirrorError):
            found[name] = (state.first_line,)
            continue
        who = tuple(getattr(state, "members", ()))
        if who:
            found[name] = who
    return found


def grown(before: Mapping[TopicPartition, int], after: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """By how many offsets partitions have grown, also new ones."""
    more = {part: end - before.get(part, 0) for part, end in after.items()}
    return {part: count for part, count in sorted(more.items()) if count}


def told(written: Mapping[TopicPartition, int]) -> tuple[str, ...]:
    """The first partitions that have grown, as people read them."""
    return tuple(f"{part} by {count:,}" for part, count in list(written.items())[:10])
