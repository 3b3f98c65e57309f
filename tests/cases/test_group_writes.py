"""Committing to groups on the target, on real Kafka: somebody is there, something is away, something is not settled."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.local.wait import poll
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
from airflow_provider_mm2.mirror.errors import GroupAway, GroupsIncomplete
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.group_model import GroupKind, GroupState
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.group_report import GroupsReport
from airflow_provider_mm2.mirror.run import mirror_groups
from tests.cases.conftest import MakeCluster, MakeStage
from tests.cases.group_stage import GroupStage
from tests.cases.scenario import records
from tests.cases.snapshot import group_offsets
from tests.contract.lab import Side
from tests.contract.real_lab import Settings
from tests.proof.conftest import SOAK

pytestmark = pytest.mark.broker


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """A pair of which one side is stood in for."""

    source: Any
    target: Any

    def copier(self, settings: Any) -> Any:
        """No data is copied here."""
        raise NotImplementedError

    def close(self) -> None:
        """Both sides are closed by whoever opened them."""


class StandIn:
    """A cluster of whose calls one is answered otherwise."""

    def __init__(self, inner: Any, **calls: Any) -> None:
        self._inner = inner
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        """The other answer, else the cluster's own."""
        return self._calls.get(name) or getattr(self._inner, name)


def test_active_group(make_stage: MakeStage) -> None:
    """K05: a group that reads on the target stays at 150 where 100 was due, its member is named, others are written."""
    stage = make_stage(sync_group_offsets=True)
    stage.scenario.produce(*records(200))
    stage.commit("app", 100)
    stage.commit("other", 120)
    stage.scenario.run(groups=("nobody",))
    stage.commit_on_target("app", {stage.scenario.target(): 150})
    with stage.member("app", GroupKind.CLASSIC):
        report = stage.groups()
        result = stage.result(report, "app")
        assert result["result"] == "active on target, skipped"
        assert result["detail"] == "1 member(s): somebody (127.0.0.1)"
        assert stage.target_offsets("app") == {0: 150}
        assert stage.target_offsets("other") == {0: 120}
        report.raise_incomplete()  # that somebody is there is no failure


def test_group_that_becomes_active(make_stage: MakeStage) -> None:
    """K05: a group that comes alive between the look and the write is refused by the broker, and told so."""
    stage = make_stage()
    stage.scenario.produce(*records(200))
    stage.commit("app", 100)
    stage.commit("other", 120)
    stage.scenario.run()
    stage.commit_on_target("app", {stage.scenario.target(): 150})
    came: list[str] = []

    def sync(flow: MirrorFlow, pair: ClusterPair) -> GroupsReport:
        def describe(names: list[str], tick: Any) -> Any:
            found = pair.target.describe_groups(names, tick)
            if not came:
                came.append("app")
                members.enter_context(stage.member("app", GroupKind.CONSUMER))
            return found

        return mirror_groups(flow, Between(source=pair.source, target=StandIn(pair.target, describe_groups=describe)))

    with ExitStack() as members:
        report = stage.with_pair(sync, sync_group_offsets=True)
        assert stage.result(report, "app")["result"] == "active on target, skipped"
        assert "somebody" in stage.result(report, "app")["detail"]
        assert stage.target_offsets("app") == {0: 150}
        assert stage.target_offsets("other") == {0: 120}


def test_one_group_that_is_away(make_stage: MakeStage) -> None:
    """K63: of five groups three are written, one's coordinator is away, one has nothing here; the next run mends it."""
    stage = make_stage(sync_group_offsets=True)
    elsewhere = f"{stage.scenario.topic}-elsewhere"
    stage.scenario.create(topic=elsewhere)
    stage.scenario.produce(*records(50))
    for number, name in enumerate(("one", "two", "three", "away")):
        stage.commit(name, 10 * number)
    stage.commit("unrelated", 0, topic=elsewhere)

    def sync(flow: MirrorFlow, pair: ClusterPair) -> GroupsReport:
        def offsets(names: list[str], tick: Any) -> Any:
            away = GroupAway(alias="us", group=stage.group("away"), code="COORDINATOR_NOT_AVAILABLE", problem="away")
            return {**pair.source.group_offsets(names, tick), stage.group("away"): away}

        return mirror_groups(flow, Between(source=StandIn(pair.source, group_offsets=offsets), target=pair.target))

    stage.scenario.run(groups=("nobody",))
    report = stage.with_pair(sync)
    results = {name: stage.result(report, name)["result"] for name in ("one", "two", "three", "away", "unrelated")}
    assert results == {
        **dict.fromkeys(("one", "two", "three"), "written"),
        "away": "failed",
        "unrelated": "nothing to do",
    }
    with pytest.raises(GroupsIncomplete, match="1 of 5"):
        report.raise_incomplete()
    assert [stage.target_offsets(name) for name in ("two", "away", "unrelated")] == [{0: 10}, {}, {}]
    assert [stage.checkpoints(name) for name in ("two", "away", "unrelated")] == [{0: [(10, 10)]}, {}, {}]
    stage.groups().raise_incomplete()
    assert stage.target_offsets("away") == {0: 30}


def test_pending_offsets(make_stage: MakeStage) -> None:
    """K67: an offset that an open transaction holds is waited for, then the last one counts, marked; others go on."""
    stage = make_stage(sync_group_offsets=True)
    stage.scenario.produce(*records(20))
    stage.commit("app", 3)
    stage.commit("other", 9)
    stage.scenario.run(groups=("nobody",))
    source = stage.scenario.addresses["source"]
    application = Producer({**source, "transactional.id": stage.group("app")})
    consumer = Consumer({**source, "group.id": stage.group("app")})
    application.init_transactions(30)
    application.begin_transaction()
    newer = [KafkaPartition(*stage.scenario.source(), 8)]
    application.send_offsets_to_transaction(newer, consumer.consumer_group_metadata(), 30)
    report = stage.groups()
    row = stage.row(report, "app")
    assert (row["source_offset"], row["target_offset"], row["exact"]) == (3, 3, False)
    assert row["reason"] == "pending: an open transaction holds a newer offset"
    assert stage.row(report, "other")["reason"] is None
    assert [stage.target_offsets(name) for name in ("app", "other")] == [{0: 3}, {0: 9}]
    application.commit_transaction(30)
    consumer.close()
    stage.groups()
    assert stage.target_offsets("app") == {0: 8}


@pytest.fixture
def once_used(make_cluster: MakeCluster, make_stage: MakeStage, pair: LocalPair) -> GroupStage:
    """Give a flow whose group ``app`` stands at 60 on the source, and had offsets and a member on the target.

    In the long form the target forgets offsets after a minute.
    """
    addresses: Mapping[str, Settings] | None = None
    if SOAK:
        forgets = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"}
        addresses = {**pair.addresses, "target": make_cluster(properties=forgets).client_settings}
    stage = make_stage(addresses=addresses)
    stage.scenario.produce(*records(100))
    stage.commit("app", 60)
    stage.scenario.run()
    other = other_of(stage)
    stage.scenario.lab.create_topic(Side.TARGET, other.topic)
    stage.commit_on_target("app", {stage.scenario.target(): 10, other: 4})
    with stage.member("app", GroupKind.CLASSIC):
        pass
    return stage


def other_of(stage: GroupStage) -> TopicPartition:
    """A partition on the target that is no mirror of anything."""
    return TopicPartition(f"other-{stage.scenario.flow}", 0)


def test_offsets_of_a_once_used_group(once_used: GroupStage) -> None:
    """K99: a group whose members left is made anew, all its offsets with it, so that they outlive its being empty.

    In the long form they outlive the minute after which an empty group loses all it has; then each run renews its own,
    for two minutes more, and a consumer that comes goes on there.
    """
    stage = once_used
    assert state_of(stage, "app").once_used
    if SOAK:
        assert not poll(lambda: not offsets_of(stage, "app"), timeout_s=45)
    assert stage.result(stage.locate(apply=True), "app")["result"] == "written"
    assert state_of(stage, "app") == GroupState(name=stage.group("app"), exists=True)
    expected = {stage.scenario.target(): 60, other_of(stage): 4}
    assert not poll(lambda: offsets_of(stage, "app") != expected, timeout_s=50 if SOAK else 0)
    for _ in range(3 if SOAK else 0):
        assert stage.result(stage.locate(apply=True), "app")["result"] == "written"
        assert not poll(lambda: stage.target_offsets("app") != {0: 60}, timeout_s=45)
    assert stage.read_on("app", [stage.scenario.target().topic], 40) == [b"v%d" % number for number in range(60, 100)]


def offsets_of(stage: GroupStage, name: str) -> Mapping[tuple[str, int], int]:
    """All that a group has committed on the target."""
    return group_offsets(AdminClient({**stage.scenario.addresses["target"]}), stage.group(name))


def state_of(stage: GroupStage, name: str) -> GroupState:
    """Who is in a group on the target, and whether somebody ever was."""
    group = stage.group(name)
    found = stage.with_pair(lambda _, pair: pair.target.describe_groups([group], lambda: None)[group])
    assert isinstance(found, GroupState)
    return found
