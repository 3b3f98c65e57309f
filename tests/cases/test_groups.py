"""Where consumer groups go on after the mirror, on real Kafka: each case with its numbers."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from airflow_provider_mm2.mirror.offsets.sync_store import OffsetSyncStore
from tests.cases.by_hand import grow, partitions_of
from tests.cases.conftest import MakeStage
from tests.cases.published import syncs_of
from tests.cases.scenario import copied, records
from tests.contract.lab import BASE_MS, COMPACTED, Side, messages
from tests.fakes.log import Message, Outcome

pytestmark = pytest.mark.broker


def test_sparse_topic(make_stage: MakeStage) -> None:
    """K07: sync 100 -> 50, then ten records up to 195 at 51..60: a group at 200 goes on at 61, not at 150."""
    stage = make_stage(settings=COMPACTED)
    kept = {*range(50), 100, *range(105, 200, 10)}
    stage.scenario.produce(
        *(Message(key=b"k%d" % (n if n in kept else 195), value=b"v%d" % n, timestamp_ms=BASE_MS) for n in range(196))
    )
    stage.scenario.transaction(*messages(3), outcome=Outcome.ABORTED)  # 196 to 198, and the marker
    stage.scenario.lab.compact(Side.SOURCE, stage.scenario.source())
    stage.commit("app", 200)
    stage.commit("middle", 101)
    before_the_filler = datetime.fromtimestamp(BASE_MS / 1000 + 60, tz=timezone.utc)
    summary = stage.scenario.run(before_the_filler)
    assert copied(summary) == 61
    assert stage.scenario.progress() == 200
    assert stage.syncs()[-1] == (195, 60)
    report = stage.locate()
    assert [stage.row(report, name)["target_offset"] for name in ("app", "middle")] == [61, 51]
    assert stage.row(report, "app")["exact"] is True
    stage.scenario.run()
    assert [offset for offset, _ in stage.scenario.lab.visible(Side.TARGET, stage.scenario.target())][-1] == 62


def test_partitions_with_and_without_commits(make_stage: MakeStage) -> None:
    """K09: 0 is a commit, 7 is exact, a partition without one is told and left alone, or begun at the log start."""
    stage = make_stage(partitions=3, sync_group_offsets=True)
    for partition in range(3):
        stage.scenario.produce(*records(10), partition=partition)
    stage.commit("app", {0: 0, 1: 7})
    stage.scenario.run()
    report = stage.locate()
    assert [stage.row(report, "app", number)["target_offset"] for number in range(3)] == [0, 7, None]
    assert stage.row(report, "app", 2)["reason"] == "no commit on source"
    assert stage.target_offsets("app") == {0: 0, 1: 7}
    assert stage.checkpoints("app") == {0: [(0, 0)], 1: [(7, 7)]}
    stage.groups(uncommitted="earliest")
    assert stage.target_offsets("app") == {0: 0, 1: 7, 2: 0}


def test_group_behind_the_mirrors_start(make_stage: MakeStage) -> None:
    """K39: the mirror begins at 5000; a group at 1200 misses 3800 offsets, and is moved only if the flow says so."""
    stage = make_stage(sync_group_offsets=True)
    stage.scenario.produce(*records(5_010))
    stage.scenario.retain_from(5_000)
    stage.commit("app", 1_200)
    stage.commit("inside", 5_004)
    assert copied(stage.scenario.run()) == 10
    report = stage.locate()
    assert stage.row(report, "app")["reason"] == "behind the mirror's start by 3800"
    assert stage.row(report, "app")["target_offset"] is None
    assert stage.target_offsets("app") == {}
    assert stage.target_offsets("inside") == {0: 4}
    stage.groups(behind_start="earliest")
    assert stage.target_offsets("app") == {0: 0}


def test_idle_topic(make_stage: MakeStage) -> None:
    """K41: the run writes a sync for its last record, so the end is the end for MirrorMaker 2's readers, too."""
    stage = make_stage()
    stage.scenario.produce(*records(100))
    stage.commit("app", 100)
    stage.scenario.run()
    assert stage.syncs()[0] == (0, 0)
    assert stage.syncs()[-1] == (99, 99)
    assert stage.checkpoints("app") == {0: [(100, 100)]}
    store = OffsetSyncStore()
    for sync in syncs_of(stage.scenario.addresses["target"], stage.scenario.alias, stage.scenario.topic):
        store.add(sync)
    store.mark_read()
    assert store.translate(stage.scenario.source(), 100) == 100


def test_restart_does_not_go_back(make_stage: MakeStage) -> None:
    """K42: 51 is withheld under a published 80; a rewind on purpose publishes, and moves the target if allowed."""
    stage = make_stage(sync_group_offsets=True)
    stage.scenario.produce(*records(300))
    stage.commit("app", 51)
    stage.scenario.run(groups=("nobody",))
    stage.publish("app", source_offset=51, target_offset=80)
    stage.groups()
    assert stage.checkpoints("app") == {0: [(51, 80)]}
    stage.commit("app", 200)
    stage.groups()
    assert stage.checkpoints("app") == {0: [(51, 80), (200, 200)]}
    stage.commit("app", 150)
    report = stage.groups()
    assert stage.checkpoints("app") == {0: [(51, 80), (200, 200), (150, 150)]}
    assert stage.target_offsets("app") == {0: 200}
    ahead = {"topic": stage.scenario.target().topic, "partition": 0, "offsets": 50}
    assert stage.result(report, "app")["ahead"] == [ahead]
    stage.groups(allow_rewind=True)
    assert stage.target_offsets("app") == {0: 150}


def test_grown_topic(make_stage: MakeStage) -> None:
    """K51: 3 partitions become 6, ten records lie in the last: all of it is mirrored, and groups translate there."""
    stage = make_stage(partitions=3, sync_group_offsets=True)
    stage.scenario.produce(*records(10))
    stage.commit("app", 10)
    stage.scenario.run()
    grow(stage.scenario.addresses["source"], stage.scenario.topic, 6)
    stage.scenario.produce(*records(10), partition=5)
    stage.commit("app", {5: 4})
    stage.scenario.run()
    assert partitions_of(stage.scenario.addresses["target"], stage.scenario.target().topic) == 6
    assert stage.scenario.numbers(5) == list(range(10))
    assert stage.target_offsets("app") == {0: 10, 5: 4}


def test_default_filters(make_stage: MakeStage) -> None:
    """K64: MirrorMaker 2's defaults leave three groups out, which are told with the rule; one by its name is taken."""
    stage = make_stage()
    names = ("app", "console-consumer-9", "connect-sink", "__x")
    stage.scenario.produce(*records(10))
    for name in names:
        stage.commit(name, 5)
    stage.scenario.run()
    report = stage.locate()
    assert list(report.positions) == [stage.group("app")]
    assert {name: report.left_out[stage.group(name)] for name in names[1:]} == {
        "console-consumer-9": "groups_exclude: console-consumer-.*",
        "connect-sink": "groups_exclude: connect-.*",
        "__x": "groups_exclude: __.*",
    }
    named = stage.groups(groups=[*stage.scenario.options["groups"], stage.group("connect-sink")])
    assert set(named.positions) == {stage.group("app"), stage.group("connect-sink")}
    assert stage.checkpoints("connect-sink") == {0: [(5, 5)]}


def test_the_same_number_is_another_place(make_stage: MakeStage) -> None:
    """K81: under one name the target is three ahead, by aborted records and their marker: 100 there is 103 here."""
    stage = make_stage(sync_group_offsets=True, replication_policy="identity")
    stage.scenario.create_target()
    stage.scenario.lab.transaction(Side.TARGET, stage.scenario.target(), *records(2), outcome=Outcome.ABORTED)
    stage.scenario.produce(*records(100))
    stage.scenario.run(groups=("nobody",))
    stage.commit("app", 99)
    stage.commit("at-the-end", 100)
    stage.groups()
    assert stage.target_offsets("app") == {0: 102}
    assert stage.target_offsets("at-the-end") == {0: 103}
    assert stage.read_on("app", [stage.scenario.topic], 1) == [b"v99"]


def test_empty_topics_and_partitions(make_stage: MakeStage) -> None:
    """K85: an empty partition and an empty topic hold nothing up, are there on the target, and 0 there is 0 here."""
    stage = make_stage(partitions=3, sync_group_offsets=True)
    scenario, empty = stage.scenario, f"{stage.scenario.topic}-empty"
    scenario.create(topic=empty)
    scenario.topics = (scenario.topic, empty)
    scenario.produce(*records(5), partition=1)
    stage.commit("app", 0)
    summary = scenario.run()
    assert copied(summary) == 5
    assert summary.seconds < 30
    sizes = [partitions_of(scenario.addresses["target"], scenario.target(0, topic).topic) for topic in scenario.topics]
    assert sizes == [3, 1]
    assert stage.target_offsets("app") == {0: 0}


def test_rewound_at_the_source(make_stage: MakeStage) -> None:
    """K95: a group goes back by 25,000 on the source: the target stays, the difference is told, and may be undone."""
    stage = make_stage(sync_group_offsets=True)
    stage.scenario.produce(*records(30_000, step_s=0.001))
    stage.commit("app", 30_000)
    stage.scenario.run()
    assert stage.target_offsets("app") == {0: 30_000}
    stage.commit("app", 5_000)
    report = stage.groups()
    row = stage.row(report, "app")
    assert (row["source_offset"], row["target_offset"]) == (5_000, 5_000)
    ahead = {"topic": stage.scenario.target().topic, "partition": 0, "offsets": 25_000}
    assert stage.result(report, "app")["ahead"] == [ahead]
    assert stage.target_offsets("app") == {0: 30_000}
    stage.locate(apply=True, allow_rewind=True)
    assert stage.target_offsets("app") == {0: 5_000}
