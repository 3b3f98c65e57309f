"""What MirrorMaker 2's own integration tests ask of offsets, asked of our runs.

Source: MirrorMaker 2, ``MirrorConnectorsIntegrationBaseTest``; its tests are named. There a connector is waited for,
here a run is over when it is over. Where its answer may be ``offset.lag.max`` off, ours is exact. Three partitions of
ten records stand for its ten.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient

from tests.cases.conftest import MakeStage
from tests.cases.group_stage import GroupStage
from tests.cases.published import checkpoints_of, topics_of
from tests.cases.scenario import copied, records
from tests.contract.lab import Side
from tests.contract.real_eyes import end_of

pytestmark = pytest.mark.broker

PARTITIONS, EACH = 3, 10


def fill(stage: GroupStage, *, first: int = 0, each: int = EACH, skipped: int | None = None) -> None:
    """Write ``each`` records to every partition but one."""
    for partition in range(PARTITIONS):
        if partition != skipped:
            stage.scenario.produce(*records(each, first=first), partition=partition)


def commit_all(stage: GroupStage, name: str, offset: int) -> None:
    """Let a group stand at one offset in every partition."""
    stage.commit(name, dict.fromkeys(range(PARTITIONS), offset))


def assert_monotonic(stage: GroupStage, name: str) -> None:
    """Published target offsets of a group never go back."""
    newest: dict[tuple[str, int], int] = {}
    checkpoints = checkpoints_of(stage.scenario.addresses["target"], stage.scenario.alias, group=stage.group(name))
    assert checkpoints
    for found in checkpoints:
        assert found.target_offset >= newest.get(found.target, 0)
        newest[found.target] = found.target_offset


def reachable(stage: GroupStage, topic: str | None = None) -> Iterator[tuple[int, int, int]]:
    """By partition of a target topic: its number, the offset behind its last record, and its end."""
    admin = AdminClient({**stage.scenario.addresses["target"]})
    for number in range(PARTITIONS):
        part = stage.scenario.target(number, topic)
        last = [offset for offset, _ in stage.scenario.lab.visible(Side.TARGET, part)][-1:]
        yield number, last[0] + 1 if last else 0, end_of(admin, part)


def assert_full_sync(stage: GroupStage, name: str, topic: str | None = None) -> None:
    """A group that has read all stands behind the last record of each partition, and never beyond the log's end."""
    offsets = stage.target_offsets(name, topic=topic)
    for number, behind_last, end in reachable(stage, topic):
        assert behind_last == offsets[number] <= end


def test_empty_partition(make_stage: MakeStage) -> None:
    """``testReplicationWithEmptyPartition``: the committed offset of the one empty partition exists and is 0."""
    stage = make_stage(partitions=PARTITIONS, sync_group_offsets=True)
    fill(stage, skipped=2)
    stage.commit("app", {0: EACH, 1: EACH, 2: 0})
    assert copied(stage.scenario.run()) == 20
    assert stage.target_offsets("app") == {0: EACH, 1: EACH, 2: 0}
    assert_full_sync(stage, "app")


def test_one_way_with_group_sync(make_stage: MakeStage) -> None:
    """``testOneWayReplicationWithAutoOffsetSync``, ``...FrequentOffsetSyncs``: all translate exactly to the end.

    No lag is negative, a consumer of the group is given nothing again, and a topic made later joins in.
    """
    stage = make_stage(partitions=PARTITIONS, sync_group_offsets=True, offset_lag_max=10)
    scenario, later = stage.scenario, f"{stage.scenario.topic}-2"
    scenario.topics = (f"{scenario.topic}.*",)
    fill(stage)
    commit_all(stage, "app", EACH)
    scenario.run()
    assert_full_sync(stage, "app")
    assert stage.syncs(2) == [(0, 0), (9, 9)]
    scenario.create(topic=later, partitions=PARTITIONS)
    for partition in range(PARTITIONS):
        scenario.produce(*records(EACH), partition=partition, topic=later)
    stage.commit("app", dict.fromkeys(range(PARTITIONS), EACH), topic=later)
    scenario.run(offset_lag_max=0)
    assert_full_sync(stage, "app")
    assert_full_sync(stage, "app", later)
    targets = [scenario.target(0, topic).topic for topic in (scenario.topic, later)]
    assert stage.read_on("app", targets, 0) == []
    assert_monotonic(stage, "app")
    assert not any(name.endswith(f"us.{scenario.topic}") for name in topics_of(scenario.addresses["source"]))


def test_no_offset_syncs_topic(make_stage: MakeStage) -> None:
    """``testReplicationWithoutOffsetSyncWillNotCreateOffsetSyncsTopic``: data and groups go over all the same."""
    stage = make_stage(emit_offset_syncs=False, alias="us-without-syncs")
    stage.scenario.produce(*records(EACH))
    stage.commit("app", 7)
    assert copied(stage.scenario.run()) == EACH
    for side in ("source", "target"):
        names = topics_of(stage.scenario.addresses[side])
        assert not [name for name in names if "offset-syncs" in name and "us-without-syncs" in name]
    assert stage.checkpoints("app") == {0: [(7, 7)]}


def test_offset_syncs_on_the_target(make_stage: MakeStage) -> None:
    """``testOffsetSyncsTopicsOnTarget``: syncs lie on the target and not on the source, checkpoints appear and rise."""
    stage = make_stage(alias="us-with-syncs")
    stage.scenario.produce(*records(EACH))
    stage.commit("app", 4)
    stage.scenario.run()
    stage.commit("app", 9)
    stage.groups()
    assert "mm2-offset-syncs.us-with-syncs.internal" in topics_of(stage.scenario.addresses["target"])
    either = {f"mm2-offset-syncs.{alias}.internal" for alias in ("us-with-syncs", "eu")}
    assert not either & topics_of(stage.scenario.addresses["source"])
    assert stage.checkpoints("app") == {0: [(4, 4), (9, 9)]}
    assert_monotonic(stage, "app")


def test_checkpoints_once_records_are_mirrored(make_stage: MakeStage) -> None:
    """``testNoCheckpointsIfNoRecordsAreMirrored``: a topic that was not mirrored yet has none, and has them after.

    Its second topic is there and empty. We know the place of an empty partition's start, so that has one: 0 is 0.
    """
    stage = make_stage()
    scenario = stage.scenario
    empty, unknown = f"{scenario.topic}-empty", f"{scenario.topic}-unknown"
    topics = (scenario.topic, empty, unknown)
    scenario.topics = (f"{scenario.topic}.*",)
    scenario.create(topic=empty)
    scenario.produce(*records(EACH))
    stage.commit("app", EACH)
    stage.commit("app", 0, topic=empty)
    scenario.run()
    scenario.create(topic=unknown)
    scenario.produce(*records(EACH), topic=unknown)
    stage.commit("app", EACH, topic=unknown)
    report = stage.groups()
    assert stage.row(report, "app", topic=unknown)["reason"] == "topic not mirrored"
    assert [stage.checkpoints("app", topic=topic) for topic in topics] == [
        {0: [(10, 10)]},
        {0: [(0, 0)]},
        {},
    ]
    scenario.produce(*records(EACH), topic=empty)
    stage.commit("app", EACH, topic=empty)
    scenario.run()
    newest = [stage.checkpoints("app", topic=topic)[0][-1] for topic in topics]
    assert newest == [(10, 10), (10, 10), (10, 10)]


def test_restart(make_stage: MakeStage) -> None:
    """``testRestartReplication``: each run is a restart; checkpoints rise over it, and 30 more make 60 in sync."""
    stage = make_stage(partitions=PARTITIONS, sync_group_offsets=True)
    fill(stage)
    commit_all(stage, "app", EACH)
    stage.scenario.run()
    assert_full_sync(stage, "app")
    stage.scenario.run()
    assert_monotonic(stage, "app")
    fill(stage, first=EACH)
    commit_all(stage, "app", 2 * EACH)
    stage.scenario.run()
    assert_full_sync(stage, "app")
    assert_monotonic(stage, "app")
    assert sum(len(stage.scenario.mirrored(number)) for number in range(PARTITIONS)) == 60


def test_translation_behind_the_flow(make_stage: MakeStage) -> None:
    """``testOffsetTranslationBehindReplicationFlow``: at 90% of the records checkpoints go on, at 10% they go back.

    There they have to move in the right direction; here each is the exact place.
    """
    stage = make_stage(partitions=PARTITIONS)
    fill(stage)
    commit_all(stage, "app", 5)
    stage.scenario.run()
    assert stage.checkpoints("app") == {number: [(5, 5)] for number in range(PARTITIONS)}
    fill(stage, first=EACH, each=990)
    stage.scenario.run()
    for part in (900, 100):
        commit_all(stage, "app", part)
        stage.groups()
    checkpoints = stage.checkpoints("app")
    for number in range(PARTITIONS):
        placed = [offset for offset, _ in stage.scenario.lab.visible(Side.TARGET, stage.scenario.target(number))]
        assert checkpoints[number] == [(5, 5), (900, placed[900]), (100, placed[100])]
