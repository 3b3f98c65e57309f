"""What a connection's settings may not do, and settings that cannot be used."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.errors import LeaseHeld, RecordTooLarge, SettingRefused, VariableMissing
from tests.cases.by_hand import set_group
from tests.cases.conftest import MakeScenario
from tests.cases.scenario import MIDNIGHT, Scenario, copied, ms, records
from tests.contract.lab import Side
from tests.contract.real_lab import until
from tests.fakes.log import Message

pytestmark = pytest.mark.broker


def cluster(scenario: Scenario, side: Side, settings: dict[str, Any]) -> dict[str, Any]:
    """One cluster of the flow with settings added."""
    alias = {Side.SOURCE: "us", Side.TARGET: "eu"}[side]
    return {"alias": alias, "settings": {**scenario.addresses[side.value], **settings}}


def business_offsets(scenario: Scenario, group: str) -> object:
    """Offsets of a group on the source."""
    groups = scenario.snapshot()["source"]
    assert isinstance(groups, dict)
    return groups["groups"][group]


def test_a_business_group_in_the_connection_stays_where_it_is(make_scenario: MakeScenario) -> None:
    """K16: group.id app in the connection, auto-commit left alone, and a run that fails half way: app has not moved."""
    scenario = make_scenario(settings={"max.message.bytes": "5000000"}, chunk={"bytes": 1024})
    scenario.options["sync_topics"] = {"configs": False}
    scenario.create_target()
    group = f"app-{scenario.topic}"
    big = Message(value=b"x" * 2_000_000, timestamp_ms=ms(MIDNIGHT))
    scenario.produce(*records(2500), big)
    set_group(scenario.addresses["source"], group, {scenario.source(): 7})
    before = business_offsets(scenario, group)
    source = cluster(scenario, Side.SOURCE, {"group.id": group, "auto.commit.interval.ms": 10})
    target = cluster(scenario, Side.TARGET, {"group.id": group})
    scenario.fails(RecordTooLarge, source=source, target=target)
    assert business_offsets(scenario, group) == before
    assert scenario.progress() == len(scenario.mirrored())
    assert group not in str(scenario.snapshot()["target"])


HARMLESS = [
    {"enable.auto.commit": True, "enable.auto.offset.store": True, "auto.commit.interval.ms": 1},
    {"isolation.level": "read_uncommitted"},
    {"auto.offset.reset": "latest"},
    {"enable.partition.eof": False},
    {"allow.auto.create.topics": True},
    {"group.instance.id": "node-1"},
    {"group.protocol": "consumer"},
    {"partition.assignment.strategy": "range"},
    {"session.timeout.ms": 45000, "max.poll.interval.ms": 60000},
    {"message.max.bytes": 104857600},
    {"fetch.max.bytes": 1000000, "max.partition.fetch.bytes": 1000, "fetch.min.bytes": 100000},
    {"queued.max.messages.kbytes": 1, "queued.min.messages": 1},
    {"transactional.id": "theirs", "enable.idempotence": False, "acks": 1},
    {"queue.buffering.max.messages": 10, "linger.ms": 1000, "batch.num.messages": 1},
    {"compression.type": "zstd"},
    {"client.id": "theirs", "client.rack": "r1", "statistics.interval.ms": 0},
]


@pytest.mark.parametrize("settings", HARMLESS, ids=lambda settings: next(iter(settings)))
def test_settings_that_may_not_change_the_copy(scenario: Scenario, settings: dict[str, Any]) -> None:
    """K16 and K26: what a connection says of commits, isolation, groups, sizes or producers changes nothing."""
    scenario.produce(*records(20))
    sides: dict[str, Any] = {
        "source": cluster(scenario, Side.SOURCE, settings),
        "target": cluster(scenario, Side.TARGET, settings),
    }
    assert copied(scenario.run(**sides)) == 20
    scenario.produce(*records(20, first=20))
    assert copied(scenario.run(**sides)) == 20
    assert scenario.numbers() == list(range(40))


@pytest.mark.parametrize("side", [Side.SOURCE, Side.TARGET])
@pytest.mark.parametrize(
    "settings",
    [
        {"no.such.setting": "1"},
        {"security.protocol": "SASL"},
        {"sasl.jaas.config": "org.apache.kafka... password=planted"},
        {"ssl.ca.location": "/no/such/ca.pem", "security.protocol": "ssl"},
        {"oauth_cb": "os.system"},
        {"socket.timeout.ms": "soon"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_settings_that_no_client_takes(scenario: Scenario, side: Side, settings: dict[str, Any]) -> None:
    """A setting that the client library does not take is refused with the cluster's name, and never its value."""
    scenario.produce(*records(3))
    changed: dict[str, Any] = {side.value: cluster(scenario, side, settings)}
    error = scenario.refuses(SettingRefused, **changed)
    assert error.alias == {"source": "us", "target": "eu"}[side.value]
    assert error.exit_code == 2
    assert "planted" not in str(error)


def test_a_variable_that_is_not_set(scenario: Scenario) -> None:
    """A ${VARIABLE} that is not there is refused with its name, before anything is contacted."""
    scenario.produce(*records(3))
    source = cluster(scenario, Side.SOURCE, {"sasl.password": "${MM2_NOT_SET_ANYWHERE}"})
    error = scenario.refuses(VariableMissing, source=source)
    assert (error.alias, error.setting, error.variable) == ("us", "sasl.password", "MM2_NOT_SET_ANYWHERE")
    assert error.exit_code == 2


def test_a_static_member_cannot_take_the_lease(scenario: Scenario) -> None:
    """K16, neighbour: group.instance.id in the connection does not let a second run throw out the first."""
    target = cluster(scenario, Side.TARGET, {"group.instance.id": "node-1"})
    scenario.produce(*records(3))
    scenario.run(target=target)
    pair = connect(scenario.mirror_flow(target=target))
    holder = pair.target.membership(f"mm2.{scenario.flow}.0.lease", f"mm2-flow.{scenario.flow}.internal", "first", 6)

    def is_held() -> bool:
        holder.poll(0.1)
        return holder.held

    try:
        until(is_held, "the lease")
        error = scenario.fails(LeaseHeld, target=target, lease_wait_s=1)
        holder.poll(1)
        assert holder.held
        assert "first" in error.holder
    finally:
        holder.leave()
        pair.close()
