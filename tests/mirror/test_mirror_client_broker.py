"""The client on real clusters, after runs of a real mirror."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.local.ports import pick_ports
from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.errors import ClusterUnreachable, ReadTimedOut
from airflow_provider_mm2.mirror.flow import ClusterSettings, MirrorFlow
from airflow_provider_mm2.mirror.mirror_client import MirrorClient
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import Checkpoint
from airflow_provider_mm2.mirror.remote_offsets import AnsweredBy
from airflow_provider_mm2.mirror.run import run_mirror
from tests.cases.scenario import bounds
from tests.contract.lab import Side, messages
from tests.contract.real_lab import LIMIT_S, RealLab
from tests.fakes.log import Message

pytestmark = pytest.mark.broker


@pytest.fixture
def lab(pair: LocalPair) -> Iterator[RealLab]:
    """Give hands and eyes on both clusters."""
    real = RealLab(pair.addresses)
    yield real
    real.close()


@pytest.fixture
def client(pair: LocalPair) -> Iterator[MirrorClient]:
    """Give a client on the target alone."""
    with MirrorClient.connect(pair.addresses["target"], alias="eu") as made:
        yield made


class Mirrored:
    """A topic from a source with an alias of its own, mirrored in three runs with two markers between; and a group."""

    def __init__(self, lab: RealLab, pair: LocalPair, *, committed: int) -> None:
        self.alias, self.group, self.topic = lab.new_name(), lab.new_name(), lab.new_name()
        self.source, self.target = TopicPartition(self.topic, 0), TopicPartition(f"{self.alias}.{self.topic}", 0)
        flow = MirrorFlow(
            name=lab.new_name(),
            source=ClusterSettings(alias=self.alias, settings={**pair.addresses["source"]}),
            target=ClusterSettings(alias="eu", settings={**pair.addresses["target"]}),
            topics=(self.topic,),
            groups=(self.group,),
        )
        lab.create_topic(Side.SOURCE, self.topic, settings={"retention.ms": "-1"})
        for first in (0, 10, 20):
            lab.produce(Side.SOURCE, self.source, *messages(10, first=first))
            if first == 20:
                lab.commit_offsets(Side.SOURCE, self.group, {self.source: committed})
            clusters = connect(flow)
            run_mirror(flow, clusters, bounds=bounds(None))
            clusters.close()


def test_a_mirror_is_found(lab: RealLab, pair: LocalPair, client: MirrorClient) -> None:
    """K71: the source is upstream by the mirror's heartbeats; its topics, checkpoints and group are there."""
    mirrored = Mirrored(lab, pair, committed=25)
    alias = mirrored.alias
    assert alias in client.upstream_clusters()
    assert client.replication_hops(alias) == 1
    assert f"{alias}.heartbeats" in client.heartbeat_topics()
    assert f"{alias}.checkpoints.internal" in client.checkpoint_topics()
    assert client.remote_topics(alias) == {mirrored.target.topic, f"{alias}.heartbeats"}
    found = client.remote_consumer_offsets(re.compile(".*"), alias)
    assert {name: group.offsets for name, group in found.groups.items()} == {mirrored.group: {mirrored.target: 27}}


def test_a_consumer_goes_on_at_the_unread_record(lab: RealLab, pair: LocalPair, client: MirrorClient) -> None:
    """What translation gives goes straight into ``assign``: the next record is the 26th, for all the markers."""
    mirrored = Mirrored(lab, pair, committed=25)
    for by in AnsweredBy:
        position = client.translate_offsets(mirrored.group, mirrored.alias, by=by)
        assert (position.answered_by, position.offsets) == (by, {mirrored.target: 27})
        consumer = Consumer({**pair.addresses["target"], "group.id": mirrored.group, "enable.auto.commit": False})
        consumer.assign(position.to_assign())
        message = consumer.poll(LIMIT_S)
        consumer.close()
        assert message is not None
        assert (message.error(), message.value()) == (None, b"v25")
    assert client.translate_offsets(mirrored.group, mirrored.alias).answered_by is AnsweredBy.MAP


def test_offsets_come_whole_or_not_at_all(lab: RealLab, client: MirrorClient) -> None:
    """10,000 checkpoints are read to their end, odd ones passed over; out of time there are none."""
    alias = lab.new_name()
    topic = TopicPartition(f"{alias}.checkpoints.internal", 0)
    lab.create_topic(Side.TARGET, topic.topic, settings={"cleanup.policy": "compact"})
    records = []
    for number in range(10_000):
        found = Checkpoint(
            group=f"g{number % 5}", topic=f"{alias}.t", partition=number % 7, source_offset=number, target_offset=number
        )
        records.append(Message(key=found.encode_key(), value=found.encode_value(), timestamp_ms=1_700_000_000_000))
    lab.produce(Side.TARGET, topic, *records, Message(key=b"odd", value=b"\x00"), Message(key=b"odd"))
    found_all = client.remote_consumer_offsets(re.compile(r"g\d"), alias)
    assert len(found_all.passed_over) == 2
    newest = {(f"g{n % 5}", n % 7): n for n in range(10_000)}
    assert {
        (name, part.partition): offset
        for name, group in found_all.groups.items()
        for part, offset in group.offsets.items()
    } == newest
    with pytest.raises(ReadTimedOut):
        client.remote_consumer_offsets("g1", alias, limit_s=0)


def test_nothing_is_left_behind(lab: RealLab, pair: LocalPair, client: MirrorClient) -> None:
    """Asking commits nothing and joins no group: what the target knows of groups is what it knew."""
    mirrored = Mirrored(lab, pair, committed=5)
    before = {group.name for group in lab.pair.target.list_groups()}
    client.translate_offsets(mirrored.group, mirrored.alias)
    client.translate_offsets(mirrored.group, mirrored.alias, by=AnsweredBy.CHECKPOINTS)
    after = {group.name for group in lab.pair.target.list_groups()}
    assert not {name for name in after - before if name in (mirrored.group, "mm2.reader")}


def test_a_cluster_that_nobody_listens_at() -> None:
    """It is told within the limit of a call, as an error that may pass."""
    settings = {"bootstrap.servers": f"127.0.0.1:{pick_ports(1)[0].client}"}
    with MirrorClient.connect(settings) as client, pytest.raises(ClusterUnreachable) as caught:
        client.upstream_clusters()
    assert caught.value.retriable
