"""What comes before steps 10 to 14: the topics they write to, and one writer at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from airflow_provider_mm2.mirror.clusters import mm2_topics, naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, StateWriter, TargetCluster, Tick
from airflow_provider_mm2.mirror.clusters.selection import select_topics
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import NewTopic
from airflow_provider_mm2.mirror.offsets.publish import Mm2Topics
from airflow_provider_mm2.mirror.state.claims import claims_of_others
from airflow_provider_mm2.mirror.state.lease import held_lease


def find_topics(flow: MirrorFlow, pair: ClusterPair, tick: Tick) -> Mm2Topics:
    """MirrorMaker 2's topics of a flow, by whether the source's own heartbeats are mirrored.

    Somebody has to write heartbeats on the target, or MirrorMaker 2's clients take the source for one that is gone: the
    flow that mirrors the source's, or, where none does, each flow.
    """
    policy = naming.policy_of(flow)
    own = mm2_topics.heartbeats_topic(policy)
    if own not in pair.source.list_topics():
        return Mm2Topics.of(flow, source_beats=False)
    if own in select_topics(flow, policy, [own]).topics:
        return Mm2Topics.of(flow, source_beats=True)
    remote = mm2_topics.heartbeats_topic(policy, flow.source.alias)
    return Mm2Topics.of(flow, source_beats=remote in claims_of_others(pair.target, flow.name, tick))


def ensure_topics(flow: MirrorFlow, target: TargetCluster, names: Collection[str]) -> None:
    """Create what this step writes to, on its first run."""
    present = target.describe_topics(names)
    target.create_topics(
        [
            NewTopic(
                name=name,
                partitions=1,
                replication_factor=flow.internal_replication_factor,
                settings={"cleanup.policy": "compact"},
            )
            for name in names
            if name not in present
        ]
    )


@contextmanager
def sole_committer(flow: MirrorFlow, target: TargetCluster, owner: str, tick: Tick) -> Iterator[Tick]:
    """Be the one flow that writes groups on the target; gives a tick that keeps that lease, too."""
    group, topic = naming.renewals_lease(flow.name), naming.renewals_topic(flow.name)
    ensure_topics(flow, target, [topic])
    with held_lease(flow, target, group=group, topic=topic, owner=owner, tick=tick) as lease:
        yield lease.keeping(tick)


@contextmanager
def groups_writer(
    flow: MirrorFlow, target: TargetCluster, owner: str, tick: Tick
) -> Iterator[tuple[StateWriter, Tick]]:
    """The fenced writer of what is known of groups, and a tick that keeps its lease."""
    group, topic = naming.lease_group(naming.groups_id(flow.name)), naming.groups_topic(flow.name)
    with held_lease(flow, target, group=group, topic=topic, owner=owner, tick=tick) as lease:
        keep = lease.keeping(tick)
        writer = target.state_writer(naming.groups_id(flow.name))
        try:
            writer.fence(keep)
            yield writer, keep
        finally:
            writer.close()
