"""Step 0 on the in-memory pair: what is set, remembered, refused and told, also when it is cut off at any place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from itertools import count
from typing import Any

import pytest

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.errors import (
    FlowFrozen,
    NotAuthorized,
    OppositeFlow,
    ReplicationImpossible,
    TooFewReplicas,
    TopicSettingsRefused,
)
from airflow_provider_mm2.mirror.flow import TopicSync
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.interval.outlook import Outlook
from airflow_provider_mm2.mirror.interval.topics import Prepared
from airflow_provider_mm2.mirror.model import TopicAcl, TopicPartition
from airflow_provider_mm2.mirror.run import plan_flow, prepare
from airflow_provider_mm2.mirror.state import gate
from airflow_provider_mm2.mirror.state.topic_settings import read_topic_settings
from airflow_provider_mm2.mirror.state_model import ActiveSide
from tests.contract.route import no_tick
from tests.fakes.log import Message
from tests.fakes.pair import FakePair
from tests.fakes.reader import FakeReader, FakeTarget
from tests.mirror.offsets.group_world import GroupWorld, Killed, Trapped

DAY_MS = 24 * 3600 * 1000


class World(GroupWorld):
    """A pair on which only step 0 is done."""

    def prepare(self, **options: Any) -> Prepared:
        """Do step 0."""
        return prepare(self.flow.model_copy(update=options), self.pair, bounds=now())

    def plan(self, **options: Any) -> Outlook:
        """Tell what would be done."""
        return plan_flow(self.flow.model_copy(update=options), self.pair, bounds=now())

    @property
    def source(self) -> dict[str, str]:
        """What the source's topic overrides."""
        return self.pair.us.topics["orders"].settings

    @property
    def target(self) -> dict[str, str]:
        """What the target's topic overrides."""
        return self.pair.eu.topics["us.orders"].settings

    @property
    def own(self) -> dict[str, Any]:
        """What is remembered as set by the mirror."""
        return dict(read_topic_settings(self.pair.target, "f", no_tick).get("us.orders", {}))

    @property
    def notes_end(self) -> int:
        """Where the gate's topic ends."""
        return self.pair.eu.log(TopicPartition(naming.gate_topic("f"), 0)).end


def now() -> RunBounds:
    """Bounds of a run that is asked for now."""
    return RunBounds(until=None, since=None, started=datetime.now(timezone.utc))


CREATE_TIME = {"message.timestamp.type": "CreateTime"}


def test_a_second_run_changes_nothing() -> None:
    """K78: it alters nothing, writes nothing, and says so."""
    world = World()
    world.source["retention.ms"] = "1000"
    assert not world.prepare().nothing_changed
    assert (world.target, world.own) == ({**CREATE_TIME, "retention.ms": "1000"}, {"retention.ms": ("1000",)})
    end = world.notes_end
    again = world.prepare()
    assert (again.nothing_changed, again.to_json()["nothing_changed"]) == (True, True)
    assert (world.pair.eu.altered, world.notes_end) == ([], end)


def test_settings_come_and_go_with_the_source() -> None:
    """An override that comes, changes and goes on the source does so on the target; each is planned before."""
    world = World()
    world.prepare()
    for value in ("1000", "2000", None):
        if value is None:
            del world.source["retention.ms"]
        else:
            world.source["retention.ms"] = value
        row = {"topic": "us.orders", "setting": "retention.ms", "value": value}
        assert world.plan().to_json()["settings"] == [row]
        assert world.prepare().to_json()["altered"] == [row]
        assert world.target.get("retention.ms") == value
        assert world.own == ({} if value is None else {"retention.ms": (value,)})
        assert world.plan().to_json()["settings"] == []
        assert world.prepare().nothing_changed


def test_what_the_target_alone_sets_is_kept() -> None:
    """K78: 30 days on the target stay; ``min.insync.replicas`` differs and stays so."""
    world = World()
    world.prepare()
    world.target.update({"retention.ms": "2592000000", "min.insync.replicas": "1"})
    world.source.update({"retention.bytes": "7", "min.insync.replicas": "2"})
    world.prepare()
    kept = {"retention.ms": "2592000000", "min.insync.replicas": "1"}
    assert world.target == {**CREATE_TIME, **kept, "retention.bytes": "7"}


def test_a_value_changed_by_hand_is_not_removed() -> None:
    """K78: the mirror set 1000, somebody made it 5000, the source has none any more: 5000 stays."""
    world = World()
    world.source["retention.ms"] = "1000"
    world.prepare()
    world.target["retention.ms"] = "5000"
    del world.source["retention.ms"]
    world.prepare()
    assert (world.target["retention.ms"], world.own) == ("5000", {})


def change_source(world: World) -> None:
    """Take one override away, change one, and add one."""
    del world.source["retention.ms"]
    world.source["retention.bytes"] = "2"
    world.source["segment.bytes"] = "3"


CHANGED = {**CREATE_TIME, "retention.bytes": "2", "segment.bytes": "3"}
CHANGES = (*Trapped.CHANGES, "alter_topic_settings")


def cut_off(world: World, number: int, *, after: bool) -> bool:
    """Do step 0 and die at the ``number``-th call that changes something; whether it died."""
    calls, target = count(), world.pair.target

    class TrappedHere(Trapped):
        CHANGES = CHANGES

    def hit() -> bool:
        return next(calls) == number

    try:
        world.pair.target = TrappedHere(target, hit, after=after)
        world.prepare()
    except Killed:
        return True
    finally:
        world.pair.target = target
        for lock in world.pair.eu.locks.values():
            lock.expire()
    return False


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("first", [True, False])
def test_step_0_is_cut_off_anywhere(number: int, after: bool, first: bool) -> None:
    """Killed at any change: the next run makes it right, and what the mirror set it also removes in the end."""
    world = World()
    world.source.update({"retention.ms": "1", "retention.bytes": "1"})
    if not first:
        world.prepare()
        change_source(world)
    cut_off(world, number, after=after)
    if first:
        change_source(world)
    world.prepare()
    assert world.target == CHANGED
    assert world.own == {"retention.bytes": ("2",), "segment.bytes": ("3",)}
    world.source.clear()
    world.prepare()
    assert (world.target, world.own) == (CREATE_TIME, {})
    assert world.prepare().nothing_changed


def test_no_place_to_cut_is_left_out() -> None:
    """The test above dies at every call that changes something, and its last number finds none any more."""
    world = World()
    world.source.update({"retention.ms": "1", "retention.bytes": "1"})
    assert not cut_off(world, 7, after=False)
    change_source(world)
    assert not cut_off(world, 7, after=False)


def test_a_refused_setting_keeps_no_other_out() -> None:
    """It is told by name; the topic's other settings and the other topics are altered; no value is remembered wrong."""
    world = World()
    world.pair.us.create_topic("orders-2")
    world.prepare()
    world.source.update({"retention.ms": "soon", "retention.bytes": "7"})
    world.pair.us.topics["orders-2"].settings["retention.ms"] = "1000"
    prepared = world.prepare()
    assert prepared.altered == {"us.orders": {"retention.bytes": "7"}, "us.orders-2": {"retention.ms": "1000"}}
    (warning,) = prepared.warnings
    assert warning.startswith("'eu' refuses settings of the topic 'us.orders': retention.ms (retention.ms=soon)")
    world.source["retention.ms"] = "1000"
    assert world.prepare().altered == {"us.orders": {"retention.ms": "1000"}}
    assert world.own == {"retention.bytes": ("7",), "retention.ms": ("1000",)}


def test_a_setting_that_only_the_source_knows() -> None:
    """It is left out at the creation and later, and told each time."""
    world = World()
    world.source["remote.storage.enable"] = "true"
    for _ in range(2):
        (warning,) = world.prepare().warnings
        assert "knows no topic setting 'remote.storage.enable', which the source of 'us.orders' has" in warning
        assert world.plan().warnings == (warning,)
    assert world.target == CREATE_TIME


def test_a_value_refused_at_creation() -> None:
    """A topic is not made without a setting of its source: it stops, with topic and broker's words; others are made."""
    world = World()
    world.pair.us.create_topic("orders-2")
    world.source["retention.ms"] = "soon"
    with pytest.raises(TopicSettingsRefused, match=r"'us\.orders': message\.timestamp\.type, retention\.ms"):
        world.prepare()
    assert "us.orders-2" in world.pair.eu.topics
    flow = world.flow.model_copy(update={"sync_topics": TopicSync(config_exclude=(r"retention\.ms",))})
    world.flow = flow
    assert world.prepare().created == ("us.orders",)


def test_a_setting_may_not_be_altered() -> None:
    """K78: a missing right is told and hinders no copy: the topic is there, only its setting is the old one."""
    world = World()
    world.prepare()
    world.source["retention.ms"] = "1000"
    refusal = NotAuthorized(alias="eu", operation="alter the settings of topic 'us.orders'", problem="no")
    world.pair.target.alter_topic_settings = lambda changes, tick: dict.fromkeys(changes, refusal)  # type: ignore[method-assign]
    prepared = world.prepare()
    assert prepared.altered == {}
    assert prepared.warnings == (f"{refusal.first_line}; it stays as it is",)


def test_a_failover_forbids_it() -> None:
    """Settings are written under the control lease, and not once a failover has begun."""
    world = World()
    world.prepare()
    record = gate.read_gate(world.pair.target, "f", no_tick)
    assert record is not None
    world.source["retention.ms"] = "1000"
    frozen = Message(key=gate.KEY, value=gate.encode(replace(record, frozen=True)))
    acquire = world.pair.target.membership

    def freeze_first(*args: Any) -> Any:
        world.pair.eu.produce(naming.gate_topic("f"), 0, frozen)
        return acquire(*args)

    world.pair.target.membership = freeze_first  # type: ignore[assignment,method-assign]
    with pytest.raises(FlowFrozen):
        world.prepare()
    assert world.pair.eu.altered == []


def test_more_replicas_than_the_target_has_brokers() -> None:
    """It is refused before anything is created, with the key, the number of brokers and all topics."""
    for key in ("replication_factor", "internal_replication_factor"):
        world = World()
        for ask in (world.prepare, world.plan):
            with pytest.raises(ReplicationImpossible) as caught:
                ask(**{key: 4})
            assert (caught.value.factor, caught.value.brokers) == (f"{key}: 4", 3)
        assert world.pair.eu.topics == {}
    assert caught.value.topics == ("mm2-flow.f.internal", "mm2-offset-map.f.internal")


def test_brokers_are_down() -> None:
    """What exists is not asked for again: a run goes on while brokers of the target are down."""
    world = World()
    world.prepare(replication_factor=3, internal_replication_factor=3)
    world.pair.eu.brokers = 2
    assert world.prepare(replication_factor=3, internal_replication_factor=3).nothing_changed


@pytest.mark.parametrize("topic", ["us.orders", "mm2-offset-map.f.internal", "mm2-flow.f.internal"])
def test_fewer_replicas_than_a_write_needs(topic: str) -> None:
    """K78: it is refused by name before the copy, for topics of applications and of the flow itself."""
    world = World()
    world.prepare()
    world.pair.eu.topics[topic].settings["min.insync.replicas"] = "2"
    with pytest.raises(TooFewReplicas) as caught:
        world.prepare()
    assert (caught.value.topic, caught.value.replicas, caught.value.needed) == (topic, 1, 2)


def test_a_new_topic_with_fewer_replicas_than_a_write_needs() -> None:
    """What a new topic has from the target's brokers is known once it is there, which is before the copy."""
    world = World()
    world.pair.eu.defaults["min.insync.replicas"] = "2"
    with pytest.raises(TooFewReplicas) as caught:
        world.prepare(internal_replication_factor=2)
    assert caught.value.topic == "us.orders"


def test_less_safety_than_on_the_source_is_told_once() -> None:
    """One warning names all topics; ``min.insync.replicas`` of the source is not carried over."""
    world = World()
    for number in range(12):
        world.pair.us.create_topic(f"orders-{number:02}", settings={"min.insync.replicas": "2"}, replication_factor=3)
    (warning,) = world.prepare().warnings
    assert warning.startswith("fewer replicas on the target than on the source: 'us.orders-00' (1, source 3), ")
    assert warning.endswith(" and 2 more")
    assert "min.insync.replicas" not in world.pair.eu.topics["us.orders-00"].settings
    assert world.plan().warnings == (warning,)


def acl(name: str, operation: str = "READ", **changes: Any) -> TopicAcl:
    """An access rule."""
    rule = {"prefixed": False, "principal": "User:app", "host": "*", "permission": "ALLOW"}
    return TopicAcl(name=name, operation=operation, **{**rule, **changes})


ACLS = {"sync_topics": TopicSync(acls=True)}


def test_access_rules_are_carried_over_where_asked_for() -> None:
    """Only what is missing is created, and nothing is deleted; the plan tells it before."""
    world = World()
    world.pair.us.acls = {acl("orders"), acl("other"), acl("*")}
    world.pair.eu.acls = {acl("us.orders", "DESCRIBE")}
    assert world.prepare().acls.create == ()
    planned = world.plan(**ACLS).to_json()["acls"]["create"]
    prepared = world.prepare(**ACLS)
    assert prepared.acls.create == (acl("us.orders"),)
    assert (prepared.to_json()["acls"], prepared.to_json()["acls_left_out"]) == (planned, 1)
    assert world.pair.eu.acls == {acl("us.orders"), acl("us.orders", "DESCRIBE")}
    world.pair.us.acls = {acl("other")}
    assert world.prepare(**ACLS).nothing_changed
    assert acl("us.orders") in world.pair.eu.acls


def test_clusters_that_check_no_access() -> None:
    """Each is told once and is no error."""
    world = World()
    assert world.prepare(**ACLS).warnings == ("'us' has no access rules of topics to carry over, or checks no access",)
    world.pair.us.acls = {acl("orders")}
    prepared = world.prepare(**ACLS)
    assert prepared.warnings == ("'eu' checks no access, so it keeps no access rules",)
    assert prepared.nothing_changed


def old_message(days: float) -> Message:
    """A record of some days ago."""
    return Message(value=b"v", timestamp_ms=int(datetime.now(timezone.utc).timestamp() * 1000 - days * DAY_MS))


def test_records_older_than_the_target_keeps_them() -> None:
    """K37: 1000 records of 30 days ago to a topic of 7 days are warned about, by plan and run, while uncopied."""
    world = World()
    world.pair.clock.advance((datetime.now(timezone.utc).timestamp() * 1000 - world.pair.clock.now_ms) / 1000)
    world.pair.us.produce("orders", 0, *[old_message(30)] * 1000, *[old_message(1)] * 5)
    world.pair.eu.create_topic("us.orders", settings={"retention.ms": str(7 * DAY_MS)})
    for warnings in (world.plan().warnings, world.prepare().warnings):
        (warning,) = warnings
        assert warning.startswith("about 1000 records to be copied of 'orders' are older than its target topic keeps")
        assert "(retention.ms=604800000, 7 days)" in warning
    assert len(world.run().warnings) == 1
    assert world.prepare().warnings == ()


@pytest.mark.parametrize(
    ("settings", "source", "days", "warned"),
    [
        ({"retention.ms": str(7 * DAY_MS)}, {}, 6.9, False),
        ({"retention.ms": "-1"}, {}, 30, False),
        ({"retention.ms": "1000", "cleanup.policy": "compact"}, {}, 30, False),
        ({"retention.ms": "1000", "cleanup.policy": "compact,delete"}, {}, 30, True),
        ({"retention.ms": "1000"}, {"retention.ms": "-1"}, 30, False),
        ({"retention.ms": "-1"}, {"retention.ms": "1000"}, 30, True),
        ({"retention.ms": "1000", "message.timestamp.type": "LogAppendTime"}, {}, 30, False),
        ({"retention.ms": "9223372036854775807"}, {}, 30, False),
    ],
)
def test_what_counts_is_what_the_topic_will_have(
    settings: dict[str, str], source: dict[str, str], days: float, warned: bool
) -> None:
    """K37: for ever, by key, by arrival, young enough, or a setting that this very run will alter."""
    world = World()
    world.source.update(source)
    world.pair.us.produce("orders", 0, old_message(days))
    world.pair.eu.create_topic("us.orders", settings=settings)
    for warnings in (world.plan().warnings, world.prepare().warnings):
        assert any("older than its target" in text for text in warnings) is warned


def test_all_that_is_left_out_is_listed() -> None:
    """K48: the plan lists every topic and every group that is left out, each with its rule."""
    world = World()
    for name in ("billing.internal", "stock"):
        world.pair.us.create_topic(name)
    for group in ("app", "console-consumer-1", "mm2.x.progress"):
        world.commit(group, 0)
    document = world.plan().to_json()
    assert document["left_out"] == [
        {"topic": "billing.internal", "rule": "not in topics"},
        {"topic": "stock", "rule": "not in topics"},
    ]
    assert document["groups_left_out"] == [
        {"group": "console-consumer-1", "rule": "groups_exclude: console-consumer-.*"},
        {"group": "mm2.x.progress", "rule": "a mirror's own group"},
    ]


def opposite(world: World, **options: Any) -> World:
    """The flow ``g`` back, with its state on the first one's source."""
    other = World(name="g", **options)
    other.pair = FakePair("eu", "us")
    other.pair.us, other.pair.eu = world.pair.eu, world.pair.us
    other.pair.source, other.pair.target = FakeReader(world.pair.eu), FakeTarget(world.pair.us)
    aliases = {"source": ("source", "eu"), "target": ("target", "us")}
    clusters = {
        key: getattr(other.flow, side).model_copy(update={"alias": alias}) for key, (side, alias) in aliases.items()
    }
    other.flow = other.flow.model_copy(update=clusters)
    return other


def refuses(world: World, ask: Callable[[], object]) -> OppositeFlow:
    """The refusal, which leaves both clusters as they are."""
    before = [sorted(cluster.topics) for cluster in (world.pair.us, world.pair.eu)]
    with pytest.raises(OppositeFlow) as caught:
        ask()
    assert [sorted(cluster.topics) for cluster in (world.pair.us, world.pair.eu)] == before
    return caught.value


def test_two_flows_in_opposite_directions() -> None:
    """K46: names are kept, one record; after ten runs in turn it is there once on each side."""
    there = World(replication_policy="identity")
    there.produce(1)
    there.run()
    back = opposite(there, replication_policy="identity")
    for _ in range(5):
        there.run()
        error = refuses(back, back.run)
        assert (error.flow, error.alias, error.topics) == ("f", "eu", ("orders",))
        refuses(back, back.plan)
    assert [len(cluster.visible("orders", 0)) for cluster in (there.pair.us, there.pair.eu)] == [1, 1]


def test_aliases_that_differ_hide_a_cycle_from_the_names() -> None:
    """K46: ``us.orders`` on eu is no cycle for a flow with another alias for us; its state tells it all the same."""
    there = World()
    there.produce(1)
    there.run()
    back = opposite(there, topics=(".*",))
    back.flow = back.flow.model_copy(update={"target": back.flow.target.model_copy(update={"alias": "west"})})
    assert refuses(back, back.run).topics == ("us.orders",)


@pytest.mark.parametrize("change", [{"frozen": True}, {"active_side": ActiveSide.TARGET}, {"source_cluster_id": "x"}])
def test_a_flow_that_is_not_at_work_hinders_nothing(change: dict[str, Any]) -> None:
    """After a failover the other direction has to run; and a flow from a third cluster is no cycle."""
    there = World(replication_policy="identity")
    there.produce(1)
    there.run()
    record = gate.read_gate(there.pair.target, "f", no_tick)
    assert record is not None
    changed = Message(key=gate.KEY, value=gate.encode(replace(record, **change)))
    there.pair.eu.produce(naming.gate_topic("f"), 0, changed)
    back = opposite(there, replication_policy="identity")
    assert set(back.plan().survey.selection.topics) == {"orders"}


def test_opposite_flows_that_cannot_be_seen() -> None:
    """A missing right on their state is told, and hinders nothing."""
    there = World(replication_policy="identity")
    there.produce(1)
    there.run()
    back = opposite(there, replication_policy="identity")
    read = back.pair.source.read_state

    def refused(partition: TopicPartition, *args: Any, **kwargs: Any) -> Any:
        if partition.topic.startswith("mm2-flow"):
            raise NotAuthorized(alias="eu", operation=f"read {partition}", problem="no")
        return read(partition, *args, **kwargs)

    back.pair.source.read_state = refused  # type: ignore[method-assign]
    (warning,) = back.prepare().warnings
    assert warning.startswith("what the flow 'f' writes on 'eu' cannot be seen")
    assert "(no)" in warning
