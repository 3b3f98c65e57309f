"""From connectors to runs when the source is gone, numbered: what a failover needs to go on as after runs.

1. Stop the connectors, fence what is left of them, and read the source connector's offsets: they stand still.
2. See that no transaction is open on the target.
3. Put these offsets on record as the flow's progress, shard by shard behind its fence. The map begins anew there: what
   lies before is known by MirrorMaker 2's syncs. Which topic it was on the source cannot be asked, so that stays open.
4. Put on record where MirrorMaker 2's checkpoints say that the groups stood.
5. Record that runs mirror the flow, and disable the connector that copies.

Each may be done again. Nothing is held against the source, so unlike ``to_runs`` this believes Connect.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.group_model import GroupRecord
from airflow_provider_mm2.mirror.handover.work import HandOverWork
from airflow_provider_mm2.mirror.interval.shard_writer import shard_writer
from airflow_provider_mm2.mirror.model import TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpointed import committed_by_checkpoints
from airflow_provider_mm2.mirror.offsets.entry import ensure_topics, groups_writer
from airflow_provider_mm2.mirror.offsets.mm2_reading import topics_on_target
from airflow_provider_mm2.mirror.state.lease import Lease
from airflow_provider_mm2.mirror.state.ledger import read_shards
from airflow_provider_mm2.mirror.state.rebase import Place, Rebased, begun_anew, rebase
from airflow_provider_mm2.mirror.state.snapshot import group_record, taken_record
from airflow_provider_mm2.mirror.state.turns import in_turns
from airflow_provider_mm2.mirror.state_model import Engine, FlowRecord, PartitionLedger

UNKNOWN = TopicInfo(name="", topic_id="", partitions=0, replication_factor=0)
"""A topic of the source, which cannot be asked."""


def take_without_source(work: HandOverWork, record: FlowRecord, lease: Lease, tick: Tick) -> dict[TopicPartition, int]:
    """Steps 1 to 5; gives the next source offset of each partition that the connectors have copied.

    :param lease: the control lease, which the caller holds.
    :raises EndpointUnreachable: the Connect cluster does not answer, so nobody can say that its connectors stand still.
    :raises HandOverRefused: a transaction stays open on the target.
    """
    work.say("stopping the connectors")
    work.offsets.stop(tick)
    progress: dict[TopicPartition, int] = {}
    if record.engine is Engine.CONNECT:
        progress = work.offsets.stand_still(tick)
        pairs, topics = _on_target(work, progress)
        work.see_settled(list(pairs.values()), tick)
        _write_progress(work, record, _places(work, record, progress, pairs, topics), tick)
        _write_groups(work, tick)
    work.record(Engine.BOUNDED, lease, tick)
    work.offsets.disable(tick)
    return progress


def _on_target(
    work: HandOverWork, parts: Collection[TopicPartition]
) -> tuple[dict[TopicPartition, TopicPartition], Mapping[str, TopicInfo]]:
    """The target partition of each source partition that is there, and the topics."""
    target = work.pair.target
    known = {name: remote for name, (remote, _) in topics_on_target(work.flow, target).items()}
    infos = target.describe_topics(sorted(known.values()))
    pairs = {
        part: TopicPartition(known[part.topic], part.partition)
        for part in parts
        if part.topic in known and part.partition < infos[known[part.topic]].partitions
    }
    return pairs, infos


def _places(
    work: HandOverWork,
    record: FlowRecord,
    progress: Mapping[TopicPartition, int],
    pairs: Mapping[TopicPartition, TopicPartition],
    topics: Mapping[str, TopicInfo],
) -> dict[TopicPartition, Place]:
    """Where each partition goes on, with the end of its log as it is once all is settled."""
    logs = work.pair.target.log_offsets(list(pairs.values())) if pairs else {}
    return {
        part: Place(
            source=part,
            target=place,
            source_topic=UNKNOWN,
            target_topic=topics[place.topic],
            source_cluster_id=record.source_cluster_id,
            offset=progress[part],
            target_end=logs[place].end,
            delivery=work.flow.delivery,
        )
        for part, place in pairs.items()
    }


def _write_progress(work: HandOverWork, record: FlowRecord, places: Mapping[TopicPartition, Place], tick: Tick) -> None:
    flow, pair = work.flow, work.pair
    ledgers = read_shards(pair.target, flow.name, record.shards, tick)
    moved = {part: _moved(ledgers.get(part), place) for part, place in places.items()}
    for number in range(record.shards):
        some = {
            part: each
            for part, each in moved.items()
            if each is not None and naming.shard_of(part, record.shards) == number
        }
        if not some:
            continue
        with shard_writer(flow, pair, number, work.owner, tick) as writer:
            records = [
                one for each in some.values() for one in in_turns(flow.name, number, each.unwritten, each.removed)
            ]
            writer.write(records, {places[part].target: places[part].offset for part in some})


def _moved(ledger: PartitionLedger | None, place: Place) -> Rebased | None:
    """The ledger that a partition gets; None where the connectors have copied nothing behind it."""
    if ledger is None:
        return rebase(None, place)
    return begun_anew(ledger, place) if place.offset > ledger.latest.next_offset else None


def _write_groups(work: HandOverWork, tick: Tick) -> None:
    flow, target = work.flow, work.pair.target
    found = committed_by_checkpoints(flow, target, tick)
    if found is None:
        return
    as_of_ms, groups = found
    ensure_topics(flow, target, [naming.groups_topic(flow.name)])
    with groups_writer(flow, target, work.owner, tick) as (writer, keep):
        records = [
            group_record(flow.name, GroupRecord(name=name, taken_ms=as_of_ms, found=group))
            for name, group in groups.items()
        ]
        writer.write([*records, taken_record(flow.name, as_of_ms, unread=())], keep)
