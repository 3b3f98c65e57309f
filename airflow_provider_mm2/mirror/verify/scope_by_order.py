"""What is compared where no map is asked: the topics that a flow selects, from the first record of each side on."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, ClusterReader
from airflow_provider_mm2.mirror.clusters.selection import check_known, select_topics
from airflow_provider_mm2.mirror.errors import NothingToVerify, OptionsDisagree
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.verify.findings import Kind, Mismatch
from airflow_provider_mm2.mirror.verify.scope import Part, Scope, VerifyOrder, read_facts

Copied = Mapping[TopicPartition, int]
"""The next source offset to copy, by partition, as whoever copies has it; what is not named has not begun."""


def scope_by_order(flow: MirrorFlow, pair: ClusterPair, order: VerifyOrder, copied: Copied | None = None) -> Scope:
    """The topics of a flow as its replication policy names them on the target; nothing that is recorded is asked.

    The source's ends are read after the target's: so whatever lies below those had its original there.

    :param copied: read before, so that all of it is on the target by now; None: nobody knows, and all is due.
    :raises OptionsDisagree: a range or a sample is asked for, which nobody can place on the target without a map.
    :raises NotOfTheFlow: a topic is named that the flow does not select.
    :raises NothingToVerify: none of the topics is on the target.
    """
    if order.since is not None or order.until is not None or order.sample is not None:
        problem = "without a map nobody knows where a part of the source lies on the target"
        why = "--by-order" if flow.engine == "bounded" else f"engine: {flow.engine}"
        raise OptionsDisagree(options=(why, "--from, --to or --sample"), problem=problem)
    selected = select_topics(flow, naming.policy_of(flow), pair.source.list_topics()).topics
    check_known(flow.name, "topic", order.topics, selected)
    wanted = {name: there for name, there in selected.items() if not order.topics or name in order.topics}
    targets = pair.target.describe_topics(sorted(wanted.values()))
    sources = pair.source.describe_topics(sorted(wanted))
    if not targets:
        problem = f"not on the target: {', '.join(list(wanted.values())[:10]) or 'no topic is selected'}"
        raise NothingToVerify(flow=flow.name, problem=problem)
    pairs: dict[TopicPartition, TopicPartition] = {}
    alone: dict[TopicPartition, str] = {}
    for name, info in sources.items():
        target = targets.get(wanted[name])
        there = 0 if target is None else target.partitions
        pairs |= {TopicPartition(name, n): TopicPartition(wanted[name], n) for n in range(min(info.partitions, there))}
        problem = f"there is no topic {wanted[name]}" if target is None else f"{wanted[name]} has {there} partition(s)"
        alone |= {TopicPartition(name, n): problem for n in range(there, info.partitions)}
    due = alone if copied is None else {part: problem for part, problem in alone.items() if part in copied}
    return Scope(parts=_parts(pair, pairs, sources, targets, copied), absent=_absent(pair.source, due))


def _absent(source: ClusterReader, parts: Mapping[TopicPartition, str]) -> tuple[Mismatch, ...]:
    """Partitions with records that have no place on the target; their records are offsets, so at most so many."""
    logs = source.log_offsets(list(parts))
    return tuple(
        Mismatch(
            kind=Kind.MISSING,
            partition=part,
            source=(log.start, log.stable),
            target=None,
            records=log.stable - log.start,
            detail=parts[part],
        )
        for part, log in sorted(logs.items())
        if log.stable > log.start
    )


def _parts(
    pair: ClusterPair,
    pairs: Mapping[TopicPartition, TopicPartition],
    sources: Mapping[str, TopicInfo],
    targets: Mapping[str, TopicInfo],
    copied: Copied | None,
) -> tuple[Part, ...]:
    facts = read_facts(pair, pairs)
    return tuple(
        Part(
            source=source,
            target=target,
            start=facts.source_logs[source].start,
            end=facts.source_logs[source].stable,
            target_start=facts.target_logs[target].start,
            target_end=facts.target_logs[target].stable,
            offset_map=None,
            starts=facts.starts(source, target),
            compacted=facts.compacted_sides(source, target),
            topic_ids=(sources[source.topic].topic_id, targets[target.topic].topic_id),
            due=None if copied is None else copied.get(source, 0),
        )
        for source, target in sorted(pairs.items())
    )
