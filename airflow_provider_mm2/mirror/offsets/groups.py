"""Where all groups of a flow stand, and the end of every mirror run: snapshot, checkpoints, group sync.

The steps, once a run after all its shards, numbered on from ``interval/replicate.py``:

10. Lease and fence: one at a time, and no earlier attempt at these steps; then read the gate: it must be open.
11. Read the ledger, after the data's commits, and what the groups have committed on the source: all of them, raw.
12. Translate; behind the map's start by what MirrorMaker 2 left.
13. Write in one transaction: the snapshot, checkpoints and offset syncs that are due, a heartbeat.
14. Where it is switched on, commit to groups on the target that nobody is in.

A failure of one group stops no other. When the source goes away in step 11, the data stays committed, nothing of 13 and
14 is written, and the next run makes up for it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, StateWriter, Tick
from airflow_provider_mm2.mirror.errors import AuthenticationFailed, ClusterUnreachable, FlowNotPrepared
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.group_model import GroupOffsets
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets import publish
from airflow_provider_mm2.mirror.offsets.commit import GroupCommitter, GroupOutcome, Outcome
from airflow_provider_mm2.mirror.offsets.entry import ensure_topics, find_topics, groups_writer, sole_committer
from airflow_provider_mm2.mirror.offsets.group_report import GroupsReport
from airflow_provider_mm2.mirror.offsets.locating import Found, ask_groups, locate_mirrored, locate_now, report_of
from airflow_provider_mm2.mirror.offsets.positions import (
    Mirror,
    target_commits,
)
from airflow_provider_mm2.mirror.offsets.publish import Mm2Topics
from airflow_provider_mm2.mirror.offsets.reading import read_mirror
from airflow_provider_mm2.mirror.offsets.standing import as_last_read, compare_with_target, surely_ahead
from airflow_provider_mm2.mirror.state.gate import check_engine_on_record, check_open, find_gate
from airflow_provider_mm2.mirror.state.moved import has_moved, read_moved
from airflow_provider_mm2.mirror.state.renewals import read_saved
from airflow_provider_mm2.mirror.state.snapshot import (
    GroupSnapshot,
    group_record,
    group_removals,
    read_snapshot,
    taken_record,
)
from airflow_provider_mm2.mirror.state_model import Engine, FlowRecord, StateRecord

T = TypeVar("T")

log = logging.getLogger(__name__)

LOUD = (Outcome.FAILED, Outcome.ACTIVE, Outcome.PENDING)


def finish_groups(flow: MirrorFlow, pair: ClusterPair, *, owner: str, tick: Tick) -> GroupsReport:
    """Steps 10 to 14; runs that come here at once go one after the other.

    :param owner: who this is, as a waiting run is told.
    :raises FlowNotPrepared: the flow never ran.
    :raises FlowFrozen: a failover forbids it.
    :raises LeaseHeld: another run was still at it after ``lease_wait_s``.
    :raises ClusterUnreachable: the source or the target went away; nothing of the groups is written then.
    """
    if _read_open_gate(flow, pair, tick) is None:
        raise FlowNotPrepared(flow=flow.name)
    topics = find_topics(flow, pair, tick)
    ensure_topics(flow, pair.target, [*topics.names, naming.groups_topic(flow.name)])
    with groups_writer(flow, pair.target, owner, tick) as (writer, keep):  # step 10
        record = _read_open_gate(flow, pair, keep)
        if record is None:
            raise FlowNotPrepared(flow=flow.name)
        check_engine_on_record(record, Engine.BOUNDED)
        asked = ask_groups(flow, pair, only=(), tick=keep)  # step 11
        mirror = read_mirror(pair.target, record, keep, source=pair.source)
        found = locate_mirrored(flow, pair, asked, mirror, keep)  # step 12
        report = _publish(flow, pair, found, mirror, topics, writer, keep)  # step 13
        if flow.sync_group_offsets:
            return _commit(flow, pair, report, writer, owner, keep)  # step 14
        return compare_with_target(pair.target, report, keep)


def show_groups(
    flow: MirrorFlow,
    pair: ClusterPair,
    *,
    only: Collection[str] = (),
    apply: bool = False,
    refine: bool = False,
    owner: str = "",
    tick: Tick,
) -> GroupsReport:
    """Where groups stand on the target; with ``apply`` they are committed there.

    For a flow that has mirrored nothing yet they stand where MirrorMaker 2's offset syncs and checkpoints put them, if
    it mirrored the flow's topics: exact only at a sync of the very record, else so that nothing is missed.

    :param only: these groups, whatever the flow's patterns say; empty: all that the flow selects.
    :param refine: look for the record itself where MirrorMaker 2's state gives no exact position.
    :raises FlowNotPrepared: the flow never ran, and MirrorMaker 2 left nothing of its topics.
    :raises MirrorError: as :func:`finish_groups`; without ``apply`` nothing is written.
    """
    if not apply:
        try:
            report = locate_now(flow, pair, only=only, refine=refine, tick=tick)
        except (ClusterUnreachable, AuthenticationFailed) as error:
            if error.alias != flow.source.alias:
                raise
            report = as_last_read(flow, pair.target, error, only=only, tick=tick)
        return compare_with_target(pair.target, report, tick)
    if _read_open_gate(flow, pair, tick) is None:
        locate_now(flow, pair, only=only, refine=False, tick=tick)  # refused here before anything is made
    ensure_topics(flow, pair.target, [naming.groups_topic(flow.name)])
    with groups_writer(flow, pair.target, owner, tick) as (writer, keep):
        _read_open_gate(flow, pair, keep)
        report = locate_now(flow, pair, only=only, refine=refine, tick=keep)
        return _commit(flow, pair, report, writer, owner, keep)


def _read_open_gate(flow: MirrorFlow, pair: ClusterPair, tick: Tick) -> FlowRecord | None:
    """The gate, which is open; None when the flow never ran."""
    record = find_gate(pair.target, flow.name, tick)
    if record is not None:
        check_open(record)
    return record


def _publish(
    flow: MirrorFlow,
    pair: ClusterPair,
    found: Found,
    mirror: Mirror,
    topics: Mm2Topics,
    writer: StateWriter,
    tick: Tick,
) -> GroupsReport:
    snapshot = read_snapshot(pair.target, flow.name, tick)
    published = publish.read_published(pair.target, flow, topics, snapshot, tick)
    every = [position for positions in found.positions.values() for position in positions]
    checkpoints = publish.due_checkpoints(every, published.checkpoints) if topics.checkpoints else []
    syncs = publish.due_syncs(mirror, published.syncs, flow.offset_lag_max) if topics.syncs else []
    records = [
        *publish.publish_records(flow.name, topics, (checkpoints, syncs), published, snapshot),
        *_snapshot_records(flow, found, snapshot, mirror.source_recreated),
    ]
    if topics.beats and topics.heartbeats is not None:
        records.append(publish.heartbeat_record(flow, topics.heartbeats))
    writer.write(records, tick)
    warnings = tuple(dict.fromkeys((*published.odd, *found.warnings)))
    for text in warnings:
        log.warning("%s", text)
    return replace(report_of(flow, found), checkpoints=len(checkpoints), syncs=len(syncs), warnings=warnings)


def _snapshot_records(
    flow: MirrorFlow, found: Found, snapshot: GroupSnapshot, recreated: Collection[str]
) -> Iterator[StateRecord]:
    """The groups that moved, those that are gone, and the time; a group that could not be read keeps its last.

    Of a topic that was made anew at the source the last offsets of the old one stay: they are what the map is of.
    """
    for name, record in found.records.items():
        before = snapshot.groups.get(name)
        kept = replace(record, found=_of_map(record.found, None if before is None else before.found, recreated))
        if before is None or before.found != kept.found:
            yield group_record(flow.name, kept)
    for name in snapshot.groups.keys() - found.positions.keys():
        yield from group_removals(flow.name, name)
    yield taken_record(flow.name, found.as_of_ms, unread=found.positions.keys() - found.records.keys())


def _of_map(now: GroupOffsets, before: GroupOffsets | None, recreated: Collection[str]) -> GroupOffsets:
    """What a group has committed, with the topics in ``recreated`` as they were before."""

    def chosen(present: Mapping[TopicPartition, T], past: Mapping[TopicPartition, T]) -> dict[TopicPartition, T]:
        new = {part: value for part, value in present.items() if part.topic not in recreated}
        return {**new, **{part: value for part, value in past.items() if part.topic in recreated}}

    past = before or GroupOffsets(offsets={})
    return GroupOffsets(
        offsets=chosen(now.offsets, past.offsets),
        metadata=chosen(now.metadata, past.metadata),
        pending=frozenset(part for part in now.pending if part.topic not in recreated),
    )


def _commit(
    flow: MirrorFlow, pair: ClusterPair, report: GroupsReport, writer: StateWriter, owner: str, tick: Tick
) -> GroupsReport:
    moved = read_moved(pair.target, flow.name, tick)
    wanted = {
        name: target_commits([each for each in positions if not has_moved(moved, name, each.source.topic)])
        for name, positions in report.positions.items()
        if report.outcomes[name].outcome is not Outcome.FAILED and not has_moved(moved, name)
    }
    with sole_committer(flow, pair.target, owner, tick) as keep:
        committer = GroupCommitter(flow.name, pair.target, writer=writer, may_rewind=flow.allow_rewind, tick=keep)
        committer.restore(read_saved(pair.target, flow.name, keep))
        done = committer.commit(wanted)
    outcomes = {**report.outcomes, **{name: surely_ahead(each, report.positions[name]) for name, each in done.items()}}
    outcomes |= {name: GroupOutcome(outcome=Outcome.MOVED) for name in report.outcomes if has_moved(moved, name)}
    for name, outcome in outcomes.items():
        if outcome.outcome in LOUD or outcome.ahead:
            ahead = sum(outcome.ahead.values())
            beyond = f"; {ahead:,} offsets further on the target than on the source" if ahead else ""
            detail = f" ({outcome.detail})" if outcome.detail else ""
            log.warning("group %s: %s%s%s", name, outcome.outcome.value, detail, beyond)
    return replace(report, outcomes=outcomes)
