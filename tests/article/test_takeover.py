"""Real MirrorMaker 2 goes on where our mirror ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import Checkpoint
from tests.article.mirrored import MirroredTopics
from tests.bench.offset_topics import BothSides
from tests.cases.published import checkpoints_of, newest_checkpoints
from tests.cases.scenario import records
from tests.contract.lab import Side
from tests.contract.real_eyes import end_of, read_committed
from tests.contract.real_lab import LIMIT_S
from tests.fakes.log import Outcome
from tests.java.mirror_maker import await_peer, dedicated_settings, mirror_maker

pytestmark = pytest.mark.broker

OFFSETS_PARTITIONS = 25
"""Source: Kafka Connect, default of ``offset.storage.partitions``."""


@pytest.mark.slow
def test_mirror_maker_takes_over(mirrored: MirroredTopics, pair: LocalPair, kafka_folder: Path) -> None:
    """Told our progress, it copies what came since, once and in order, and translates by our offset syncs and its own.

    No checkpoint of a group ever lies behind a record that the group has not read.
    """
    scenario = mirrored.stage.scenario
    scenario.run()
    mirrored.look()
    mirrored.commit_randomly("known", 1)
    ours = scenario.run()
    assert ours.groups.checkpoints == len(mirrored.partitions)
    later = mirrored.commit_randomly("later", 2)
    progress = {part: scenario.progress(part.partition, part.topic) or 0 for part in mirrored.partitions}
    hand_over(mirrored, progress)
    write_more(mirrored)
    behind_ours = {part: end_of_target(mirrored, part) for part in mirrored.partitions}
    with mirror_maker(kafka_folder / "mm2", takeover_settings(mirrored, pair)) as peer:
        left = set(mirrored.partitions)
        await_peer(peer, lambda: not drop(left, lambda part: has_caught_up(mirrored, part, behind_ours[part])))
        known = {part for part, offset in later.items() if offset >= min(mirrored.both[part].source)}
        expected = {mirrored.target(part) for part in known}  # before the first sync it has no answer
        await_peer(peer, lambda: newest(mirrored, "later").keys() == expected, limit_s=120)
        ends = {part: max(mirrored.both[part].source) + 1 for part in mirrored.partitions}
        mirrored.commit("known", ends)
        await_peer(peer, lambda: moved_to(mirrored, "known", ends), limit_s=120)
    mirrored.look()  # each record once and in order, also after the last checkpoint
    assert_no_checkpoint_skips(mirrored)
    assert written_offsets(mirrored).keys() == {connect_key(scenario.alias, part) for part in mirrored.partitions}


def connect_key(alias: str, part: TopicPartition) -> bytes:
    """Key of a partition's offset, byte for byte as Connect writes it, so that the two compact into one."""
    fields = {"cluster": alias, "partition": part.partition, "topic": part.topic}
    return json.dumps(["MirrorSourceConnector", fields], separators=(",", ":")).encode()


def offsets_topic(mirrored: MirroredTopics) -> str:
    """Where MirrorMaker 2 keeps how far it has read."""
    return f"mm2-offsets.{mirrored.stage.scenario.alias}.internal"


def hand_over(mirrored: MirroredTopics, progress: dict[TopicPartition, int]) -> None:
    """Tell MirrorMaker 2 the last record that was mirrored of each partition, in the partition where it would."""
    scenario, topic = mirrored.stage.scenario, offsets_topic(mirrored)
    compact = {"cleanup.policy": "compact"}
    scenario.lab.create_topic(Side.TARGET, topic, partitions=OFFSETS_PARTITIONS, settings=compact)
    producer = Producer({**scenario.addresses["target"], "partitioner": "murmur2_random", "acks": "all"})
    for part, next_offset in progress.items():
        value = json.dumps({"offset": next_offset - 1}, separators=(",", ":")).encode()
        producer.produce(topic, value, connect_key(scenario.alias, part))
    assert producer.flush(LIMIT_S) == 0


def written_offsets(mirrored: MirroredTopics) -> dict[bytes, list[int]]:
    """Offsets that ours and MirrorMaker 2 have written, by key; each key is in one partition."""
    target, topic = mirrored.stage.scenario.addresses["target"], offsets_topic(mirrored)
    found: dict[bytes, list[int]] = {}
    for number in range(OFFSETS_PARTITIONS):
        here: dict[bytes, list[int]] = {}
        for _, message in read_committed(target, AdminClient({**target}), TopicPartition(topic, number)):
            if (message.key or b"").startswith(b'["MirrorSourceConnector"'):
                here.setdefault(message.key or b"", []).append(json.loads(message.value or b"")["offset"])
        assert not here.keys() & found.keys()
        found |= here
    return found


def takeover_settings(mirrored: MirroredTopics, pair: LocalPair) -> dict[str, str]:
    """Exactly once, offset syncs on the target, no heartbeats written or copied: other tests use the clusters, too."""
    scenario = mirrored.stage.scenario
    return {
        **dedicated_settings(pair, scenario.alias, ",".join(mirrored.topics)),
        f"{scenario.alias}->target.groups": mirrored.stage.group(".*"),
        "offset-syncs.topic.location": "target",
        "emit.heartbeats.enabled": "false",
        "heartbeats.replication.enabled": "false",
        "emit.checkpoints.interval.seconds": "1",
        "offset.flush.interval.ms": "1000",
    }


def write_more(mirrored: MirroredTopics) -> None:
    """Write records that our mirror never sees, some of them aborted."""
    scenario = mirrored.stage.scenario
    for number, part in enumerate(mirrored.partitions):
        first = 1_000 * (number + 1)
        scenario.lab.transaction(Side.SOURCE, part, *records(5, first=first), outcome=Outcome.ABORTED)
        scenario.lab.transaction(Side.SOURCE, part, *records(20, first=first + 5), outcome=Outcome.COMMITTED)
        scenario.lab.produce(Side.SOURCE, part, *records(10, first=first + 25))


def end_of_target(mirrored: MirroredTopics, part: TopicPartition) -> int:
    """Log end on the target."""
    return end_of(AdminClient({**mirrored.stage.scenario.addresses["target"]}), mirrored.target(part))


def drop(left: set[TopicPartition], is_done: Callable[[TopicPartition], bool]) -> set[TopicPartition]:
    """Drop the partitions that are done; those that are left."""
    left.difference_update({part for part in left if is_done(part)})
    return left


def has_caught_up(mirrored: MirroredTopics, part: TopicPartition, before: int) -> bool:
    """Whether the target has all of a partition; it is read only once its end has moved."""
    if end_of_target(mirrored, part) == before:
        return False
    addresses = mirrored.stage.scenario.addresses
    both = BothSides.of(addresses["source"], addresses["target"], part, mirrored.target(part))
    mirrored.both[part] = both
    return len(both.target) >= len(both.source)


def newest(mirrored: MirroredTopics, name: str) -> dict[TopicPartition, Checkpoint]:
    """Newest checkpoints of a group, by target partition."""
    stage = mirrored.stage
    return newest_checkpoints(stage.scenario.addresses["target"], stage.scenario.alias, stage.group(name))


def moved_to(mirrored: MirroredTopics, name: str, expected: dict[TopicPartition, int]) -> bool:
    """Whether a group's checkpoints are of these source offsets."""
    found = newest(mirrored, name)
    return {part: found[mirrored.target(part)].source_offset for part in expected} == expected


def assert_no_checkpoint_skips(mirrored: MirroredTopics) -> None:
    """From each checkpoint ever published, ours and MirrorMaker 2's, a consumer is given all it has not read."""
    scenario = mirrored.stage.scenario
    source_of = {mirrored.target(part): part for part in mirrored.partitions}
    published = checkpoints_of(scenario.addresses["target"], scenario.alias)
    assert {found.group for found in published} == {mirrored.stage.group("known"), mirrored.stage.group("later")}
    for found in published:
        given = mirrored.both[source_of[found.target]].given(found.source_offset, found.target_offset)
        assert (given.skipped, given.missing) == (0, 0), found
