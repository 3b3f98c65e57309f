"""State on the target that does not fit: flow record, ledger and progress group."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.errors import (
    COUNT_LIMIT,
    FlowChanged,
    FlowFrozen,
    ProgressDisagrees,
    ProgressLost,
    ProgressUnknown,
    StateDamaged,
    StateTopicUnfit,
)
from airflow_provider_mm2.mirror.model import LogRecord, TopicPartition
from airflow_provider_mm2.mirror.state.gate import read_gate, write_gate
from airflow_provider_mm2.mirror.state.lease import Lease
from airflow_provider_mm2.mirror.state_model import ActiveSide
from tests.cases.by_hand import delete_group, produce_keyed, set_group, set_topic_setting
from tests.cases.conftest import MakeScenario
from tests.cases.scenario import Scenario, copied, record, records
from tests.contract.lab import Side
from tests.fakes.log import Outcome

pytestmark = pytest.mark.broker


def nothing() -> None:
    """A tick."""


@pytest.fixture
def mirrored(scenario: Scenario) -> Scenario:
    """Give a flow that has mirrored 10 records, with 5 more waiting on the source."""
    scenario.produce(*records(10))
    scenario.run()
    scenario.produce(*records(5, first=10))
    return scenario


def change_gate(scenario: Scenario, **changes: Any) -> None:
    """Write the flow record as a failover does."""
    pair = connect(scenario.mirror_flow())
    group = naming.lease_group(naming.control_id(scenario.flow))
    membership = pair.target.membership(group, naming.gate_topic(scenario.flow), "test", 6)
    try:
        with Lease(membership, group=group, session_s=6) as lease:
            lease.acquire(30, nothing)
            standing = read_gate(pair.target, scenario.flow, nothing)
            assert standing is not None
            new = replace(standing, **changes)
            write_gate(pair.target, expected=standing, new=new, lease=lease, tick=nothing)
    finally:
        pair.close()


@pytest.mark.parametrize("changes", [{"frozen": True}, {"active_side": ActiveSide.TARGET}], ids=["frozen", "moved"])
def test_a_flow_that_may_not_run(mirrored: Scenario, changes: dict[str, Any]) -> None:
    """A frozen gate, or a target that is the active side, stops a run before anything; opened again it goes on."""
    change_gate(mirrored, **changes)
    error = mirrored.refuses(FlowFrozen)
    assert error.flow == mirrored.flow
    assert not error.retriable
    change_gate(mirrored, frozen=False, active_side=ActiveSide.SOURCE)
    assert copied(mirrored.run()) == 5


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"shards": 2}, "shards"),
        ({"replication_policy": "identity"}, "policy"),
        ({"separator": "-"}, "separator"),
    ],
)
def test_a_flow_that_was_changed(mirrored: Scenario, changes: dict[str, Any], setting: str) -> None:
    """A recorded fact that the settings contradict stops the run, and names both values."""
    error = mirrored.refuses(FlowChanged, **changes)
    assert error.setting == setting
    assert error.given == str(next(iter(changes.values())))
    assert copied(mirrored.run()) == 5


@pytest.mark.parametrize(("side", "setting"), [("source", "source alias"), ("target", "target alias")])
def test_an_alias_that_was_changed(mirrored: Scenario, side: str, setting: str) -> None:
    """Another alias would give the topics other names, so it stops the run."""
    changed: dict[str, Any] = {side: {"alias": "ap", "settings": dict(mirrored.addresses[side])}}
    assert mirrored.refuses(FlowChanged, **changed).setting == setting


def state_of(scenario: Scenario, topic: str) -> LogRecord:
    """The last record of a state topic."""
    return scenario.lab.pair.target.read_state(TopicPartition(topic, 0), nothing)[-1]


def altered(value: bytes, **changes: Any) -> bytes:
    """A JSON record with some fields changed."""
    return json.dumps({**json.loads(value), **changes}).encode()


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda value: b"\x00\xffgarbage",
    "not an object": lambda value: b"[1, 2]",
    "cut": lambda value: value[: len(value) // 2],
    "empty": lambda value: b"",
    "a newer version": lambda value: altered(value, version=2),
    "a number that was changed": lambda value: altered(value, next_offset=3, shards=7, extra=1),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("topic", ["mm2-flow", "mm2-offset-map"])
def test_a_damaged_state_record(mirrored: Scenario, topic: str, damage: str) -> None:
    """A state record that cannot be believed stops the run with its place; nothing is written or guessed."""
    name = f"{topic}.{mirrored.flow}.internal"
    last = state_of(mirrored, name)
    produce_keyed(mirrored.addresses["target"], TopicPartition(name, 0), last.key, DAMAGES[damage](last.value or b""))
    error = mirrored.refuses(StateDamaged)
    assert (error.topic, error.partition) == (name, 0)
    assert error.offset > last.offset
    assert not error.retriable
    assert len(mirrored.mirrored()) == 10


def test_a_ledger_entry_with_a_foreign_key(mirrored: Scenario) -> None:
    """A record under a key that no flow writes is not passed over."""
    name = f"mm2-offset-map.{mirrored.flow}.internal"
    produce_keyed(mirrored.addresses["target"], TopicPartition(name, 0), b"hello", b"world")
    assert mirrored.refuses(StateDamaged).topic == name


def test_a_flow_record_that_was_deleted(mirrored: Scenario) -> None:
    """A ledger without its flow record is damage, not a first run."""
    name = f"mm2-flow.{mirrored.flow}.internal"
    produce_keyed(mirrored.addresses["target"], TopicPartition(name, 0), state_of(mirrored, name).key, None)
    assert mirrored.refuses(StateDamaged).topic == name


@pytest.mark.parametrize("how", ["topic", "records"])
def test_a_ledger_that_was_deleted(mirrored: Scenario, how: str) -> None:
    """A ledger that is gone while the progress group is there stops the run: it is no first run."""
    name = f"mm2-offset-map.{mirrored.flow}.internal"
    if how == "topic":
        mirrored.lab.delete_topic(Side.TARGET, name)
    else:
        produce_keyed(mirrored.addresses["target"], TopicPartition(name, 0), state_of(mirrored, name).key, None)
    error = mirrored.fails(ProgressLost)
    assert (error.target_topic, error.partition, error.group_offset) == (mirrored.target().topic, 0, 10)
    assert (len(mirrored.mirrored()), mirrored.progress()) == (10, 10)


def test_a_ledger_and_a_group_that_are_both_gone(mirrored: Scenario) -> None:
    """Without any progress a target that holds records is not written to."""
    mirrored.lab.delete_topic(Side.TARGET, f"mm2-offset-map.{mirrored.flow}.internal")
    delete_group(mirrored.addresses["target"], mirrored.progress_group)
    error = mirrored.fails(ProgressUnknown)
    assert error.records == 10
    assert len(mirrored.mirrored()) == 10


@pytest.mark.parametrize("offset", [0, 9, 11, 15])
def test_a_group_set_by_hand(mirrored: Scenario, offset: int) -> None:
    """A progress group that says another offset than the ledger stops the run: somebody wrote it."""
    set_group(mirrored.addresses["target"], mirrored.progress_group, {mirrored.target(): offset})
    error = mirrored.refuses(ProgressDisagrees)
    assert (error.ledger_offset, error.group_offset) == (10, offset)
    set_group(mirrored.addresses["target"], mirrored.progress_group, {mirrored.target(): 10})
    assert copied(mirrored.run()) == 5


def test_a_group_that_is_gone_is_restored(mirrored: Scenario) -> None:
    """K97, core: a progress group that expired or was deleted is written again from the ledger, and told."""
    delete_group(mirrored.addresses["target"], mirrored.progress_group)
    summary = mirrored.run()
    assert copied(summary) == 5
    assert any("restored from the ledger" in warning for warning in summary.warnings)
    assert mirrored.progress() == 15
    assert mirrored.numbers() == list(range(15))


def test_an_internal_topic_with_another_cleanup(mirrored: Scenario) -> None:
    """A ledger topic that forgets its records is refused before it does."""
    name = f"mm2-offset-map.{mirrored.flow}.internal"
    set_topic_setting(mirrored.addresses["target"], name, "cleanup.policy", "delete")
    error = mirrored.refuses(StateTopicUnfit)
    assert error.topic == name
    assert "compact" in error.problem


def test_an_internal_topic_with_another_layout(make_scenario: MakeScenario) -> None:
    """A ledger topic made by hand with too few partitions is refused before the first record."""
    scenario = make_scenario(shards=3)
    name = f"mm2-offset-map.{scenario.flow}.internal"
    scenario.lab.create_topic(Side.TARGET, name, partitions=2, settings={"cleanup.policy": "compact"})
    scenario.produce(record(0))
    assert scenario.refuses(StateTopicUnfit).topic == name


@pytest.mark.parametrize("outcome", [None, Outcome.COMMITTED], ids=["plain", "transactional"])
def test_a_target_topic_that_is_not_empty(scenario: Scenario, outcome: Outcome | None) -> None:
    """A target topic with records that nobody knows the origin of is not written to."""
    scenario.create_target()
    if outcome is None:
        scenario.lab.produce(Side.TARGET, scenario.target(), *records(3))
    else:
        scenario.lab.transaction(Side.TARGET, scenario.target(), *records(3), outcome=outcome)
    scenario.produce(*records(5))
    error = scenario.fails(ProgressUnknown)
    assert (error.records, error.start) == (3, 0)
    assert len(scenario.mirrored()) == 3
    assert scenario.progress() is None


def test_a_large_target_topic_is_not_counted_to_its_end(scenario: Scenario) -> None:
    """What makes a target not empty is one record: a topic that another tool filled is not read through to say so."""
    scenario.create_target()
    scenario.lab.produce(Side.TARGET, scenario.target(), *records(25_000))
    scenario.produce(*records(5))
    error = scenario.fails(ProgressUnknown)
    assert (error.records, error.end) == (COUNT_LIMIT, 25_000)
    assert f"at least {COUNT_LIMIT} records" in str(error)


@pytest.mark.parametrize("how", ["aborted", "expired"])
def test_a_target_topic_without_a_visible_record_counts_as_empty(scenario: Scenario, how: str) -> None:
    """Aborted data and an expired past are no records: the first run mirrors behind them."""
    scenario.create_target()
    if how == "aborted":
        scenario.lab.transaction(Side.TARGET, scenario.target(), *records(3), outcome=Outcome.ABORTED)
    else:
        scenario.lab.produce(Side.TARGET, scenario.target(), *records(3))
        scenario.lab.delete_records(Side.TARGET, scenario.target(), 3)
    scenario.produce(*records(5))
    assert copied(scenario.run()) == 5
    assert copied(scenario.run()) == 0
