"""Where a way home begins, partition by partition, and where the forward flow goes on after it; only reads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
from airflow_provider_mm2.mirror.clusters.selection import select_topics
from airflow_provider_mm2.mirror.model import TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.reverse_flow import ReverseFlow
from airflow_provider_mm2.mirror.state.rebase import Place
from airflow_provider_mm2.mirror.state_model import PartitionLedger

Ledgers = Mapping[TopicPartition, PartitionLedger]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """Where the way home of one partition begins.

    :param offset: on the active side; ``log_start`` is where its log begins.
    :param ledger: what the forward flow recorded of it; None: nothing of the topics as they are now.
    :param place: None: there is no such partition at home yet, so nothing has to be recorded of it.
    """

    target: TopicPartition
    offset: int
    log_start: int
    ledger: PartitionLedger | None
    place: Place | None


def _exists(part: TopicPartition, topics: Mapping[str, TopicInfo]) -> bool:
    return part.topic in topics and part.partition < topics[part.topic].partitions


def _is_of(ledger: PartitionLedger, away: TopicInfo, home: TopicInfo | None) -> bool:
    """Whether a forward ledger is of both topics as they are now."""
    latest = ledger.latest
    is_home = home is not None and latest.is_of(home.topic_id)
    return is_home and latest.target_topic_id == away.topic_id


def beginnings(
    flow: ReverseFlow, pair: ClusterPair, ledgers: Ledgers
) -> tuple[dict[TopicPartition, Beginning], tuple[str, ...]]:
    """Where a way home begins, by partition of the active side, and what there is to be said of it; only reads.

    What the forward flow mirrored begins at the failover point. A topic that is new on the active side, or was made
    anew on either, has nothing at home that came from there: all of it is brought, behind what is at home.

    :param pair: in the direction of the way home.
    :param ledgers: of the forward flow.
    """
    home, away = pair.target, pair.source
    listed = away.list_topics()
    names = select_topics(flow, naming.policy_of(flow), listed).topics
    topics_away, topics_home = away.describe_topics(list(names)), home.describe_topics(list(names.values()))
    parts = {
        TopicPartition(name, number): TopicPartition(names[name], number)
        for name, info in topics_away.items()
        for number in range(info.partitions)
    }
    known = {ledger.latest.target: ledger for ledger in ledgers.values()}
    there = [part for part in parts.values() if _exists(part, topics_home)]
    ends = home.log_offsets(there) if there else {}
    starts = away.log_offsets(list(parts)) if parts else {}
    found: dict[TopicPartition, Beginning] = {}
    told: list[str] = []
    for part, at_home in sorted(parts.items()):
        info, info_home = topics_away[part.topic], topics_home.get(at_home.topic)
        ledger = known.get(part)
        if ledger is not None and not _is_of(ledger, info, info_home):
            told.append(f"topic {part.topic!r} or {at_home.topic!r} was made anew: all of it comes home")
            ledger = None
        end = ends[at_home].end if at_home in ends else None
        offset, lost = _offset(ledger, starts[part].start, end)
        if lost:
            told.append(f"{at_home} on {home.alias!r} {lost}: it has lost records, which come home again")
        place = None
        if info_home is not None and end is not None:
            place = Place(
                source=part,
                target=at_home,
                source_topic=info,
                target_topic=info_home,
                source_cluster_id=away.cluster_id(),
                offset=offset,
                target_end=end,
                delivery=flow.delivery,
            )
        found[part] = Beginning(target=at_home, offset=offset, log_start=starts[part].start, ledger=ledger, place=place)
    return found, (*dict.fromkeys(told), *_left_out(ledgers, listed, names, away.alias))


def _offset(ledger: PartitionLedger | None, start: int, end: int | None) -> tuple[int, str]:
    """Where it begins, and how the log at home has become shorter than what was mirrored."""
    if ledger is None:
        return start, ""
    mirrored = ledger.latest.next_offset
    if end is None or end >= mirrored:
        return ledger.latest.target_end, ""
    return OffsetMap.of(ledger).to_target(end), f"ends at {end:,} and was mirrored to {mirrored:,}"


def _left_out(ledgers: Ledgers, listed: Collection[str], selected: Collection[str], alias: str) -> Iterator[str]:
    for name in sorted({ledger.latest.target_topic for ledger in ledgers.values()} - set(selected)):
        why = "is not selected by the flow any more" if name in listed else f"is gone from {alias!r}"
        yield f"topic {name!r} {why}: it does not come home"


def endings(
    flow: ReverseFlow, pair: ClusterPair, home: Ledgers, decided: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Place]:
    """Where the forward flow goes on, by partition of the way home's source."""
    latest = {part: ledger.latest for part, ledger in home.items()}
    policy, alias = naming.policy_of(flow), flow.source.alias
    never = {
        part: TopicPartition(policy.format_remote_topic(alias, part.topic), part.partition)
        for part in decided.keys() - latest.keys()
    }
    targets = {**never, **{part: entry.target for part, entry in latest.items()}}
    here = pair.target.describe_topics(sorted({target.topic for target in targets.values()}))
    there = pair.source.describe_topics(sorted({part.topic for part in targets}))
    both = {part: target for part, target in targets.items() if _exists(target, here) and _exists(part, there)}
    starts = pair.target.log_offsets([both[part] for part in never if part in both]) if never else {}
    return {
        part: Place(
            source=target,
            target=part,
            source_topic=here[target.topic],
            target_topic=there[part.topic],
            source_cluster_id=pair.target.cluster_id(),
            offset=latest[part].target_end if part in latest else starts[target].start,
            target_end=max(latest[part].next_offset if part in latest else 0, decided.get(part, 0)),
            delivery=flow.forward.delivery,
        )
        for part, target in both.items()
    }
