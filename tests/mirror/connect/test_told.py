"""What is told of connectors: no secret in whatever form, what changes, whose it is, how they run."""

from __future__ import annotations

import httpx
import pytest

from airflow_provider_mm2.mirror.connect.access import connectors_at
from airflow_provider_mm2.mirror.connect.connectors import ALIASES, OWNER, PACKAGE, Connector, Part
from airflow_provider_mm2.mirror.connect.difference import Change, changes_of, why_not_ours
from airflow_provider_mm2.mirror.connect.neighbours import beside
from airflow_provider_mm2.mirror.connect.report import ConnectorState, TaskState, progress_of, shortened
from airflow_provider_mm2.mirror.connect.rest import is_rebalancing
from airflow_provider_mm2.mirror.connect.scrubbing import scrub, secrets_of
from airflow_provider_mm2.mirror.errors import ConnectVariableMissing, NotAConnectFlow
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.mirror.connect.flows import connect_flow

JAAS = 'org.example.PlainLoginModule required username="mirror" password="hunter\\"2";'
CONFIG = {
    "topics": "orders",
    "source.cluster.sasl.jaas.config": JAAS,
    "source.cluster.ssl.keystore.key": "-----BEGIN PRIVATE KEY-----\nabcdefghijklmnop\n-----END PRIVATE KEY-----",
}


@pytest.mark.parametrize("quoted", [JAAS, 'hunter"2', 'hunter\\"2', "abcdefghijklmnop"])
def test_a_trace_without_secrets(quoted: str) -> None:
    """A login is taken out as a whole, and the password that is inside it; of a key each line."""
    found = scrub(f"ConfigException: {quoted} of orders", secrets_of(CONFIG))
    assert found == "ConfigException: *** of orders"


def test_secrets_that_the_worker_fills_in() -> None:
    """A worker quotes what stands behind ``${env:NAME}``; where this process knows it, it is taken out, too."""
    settings = {"bootstrap.servers": "us:9092", "sasl.password": "${ORDERS_PASSWORD}"}
    flow = connect_flow(source={"alias": "us", "settings": settings})
    secrets = connectors_at(flow, environment={"ORDERS_PASSWORD": "hunter2"}).secrets
    assert scrub("login of hunter2 failed", secrets_of(*secrets)) == "login of *** failed"
    assert connectors_at(flow, environment={}).secrets[0]["sasl.password"] == "${ORDERS_PASSWORD}"


def test_a_secret_that_changes() -> None:
    """It is seen that it does, and neither what it was nor what it is."""
    wanted = Connector(part=Part.SOURCE, name="a", config={**CONFIG, "source.cluster.sasl.jaas.config": "other"})
    (change,) = changes_of([wanted], {"a": CONFIG}, ["a"])
    assert change.to_json()["keys"] == [
        {"key": "source.cluster.sasl.jaas.config", "before": "***", "after": "***"},
    ]


def test_kinds_of_change() -> None:
    """What is not there is created, what is not wanted deleted, what is the same left; long values are cut."""
    wanted = [Connector(part=Part.SOURCE, name=name, config={"topics": "a" * 400}) for name in ("new", "same")]
    there = {"same": {"topics": "a" * 400}, "old": {"topics": "b"}}
    changes = {each.name: each for each in changes_of(wanted, there, ["new", "same", "old", "never"])}
    assert {name: each.change for name, each in changes.items()} == {
        "new": Change.CREATE,
        "same": Change.NOTHING,
        "old": Change.DELETE,
    }
    assert str(changes["new"].keys[0].after).endswith("a... (400 characters)")


def test_which_are_ours() -> None:
    """Ours has the flow's name in it, is of the class, and mirrors between the two clusters."""
    plugin = PACKAGE + Part.SOURCE.value
    ours = {OWNER: "orders", "connector.class": plugin, ALIASES[0]: "us", ALIASES[1]: "eu"}
    assert why_not_ours(connect_flow(), plugin, ours) is None
    for change, why in {
        "connector.class": "of another class",
        ALIASES[0]: "it mirrors from x to eu",
        OWNER: "of the flow 'x'",
    }.items():
        assert why in str(why_not_ours(connect_flow(), plugin, {**ours, change: "x"}))
    del ours[OWNER]
    assert "no flow has put it" in str(why_not_ours(connect_flow(), plugin, ours))


def test_what_does_not_run() -> None:
    """The connector that copies has tasks once it runs; one for groups may have none, where there are no groups."""
    running = TaskState(number=0, state="RUNNING", worker="w")
    source = ConnectorState(name="s", part=Part.SOURCE, state="RUNNING", worker="w")
    assert source.waits == ["s has no task yet"]
    assert ConnectorState(name="c", part=Part.CHECKPOINT, state="RUNNING").waits == []
    assert ConnectorState(name="s", part=Part.SOURCE, state="RUNNING", tasks=(running,)).waits == []
    failed = TaskState(number=1, state="FAILED", worker="w", trace="why")
    partly = ConnectorState(name="s", part=Part.SOURCE, state="RUNNING", tasks=(running, failed))
    assert (partly.waits, partly.failures) == (["task 1 of s is FAILED"], ["task 1 of s on w: why"])
    assert ConnectorState(name="s", part=Part.SOURCE, state="FAILED", worker="w", trace="x").failures == ["s on w: x"]


def test_a_long_trace() -> None:
    """The beginning is kept, and each cause further down."""
    trace = "\n".join(["Top", *["\tat a.b"] * 50, "Caused by: this", *["\tat a.b"] * 50])
    assert shortened(trace).splitlines()[0::30] == ["Top", "Caused by: this"]


def test_progress_is_the_next_offset() -> None:
    """Connect has the last offset that was copied; forgotten ones and those of another source are left out."""
    rows = [
        {"partition": {"cluster": "us", "topic": "a", "partition": 0}, "offset": {"offset": 4}},
        {"partition": {"cluster": "us", "topic": "a", "partition": 1}, "offset": None},
        {"partition": {"cluster": "x", "topic": "a", "partition": 2}, "offset": {"offset": 4}},
    ]
    assert progress_of(rows, "us") == {TopicPartition("a", 0): 5}


def test_what_keeps_a_flow_from_its_worker() -> None:
    """A flow of the other engine, and a variable of ``connect:`` that is not set."""
    with pytest.raises(NotAConnectFlow, match="so runs mirror it"):
        connectors_at(connect_flow(engine="bounded"))
    secret = {"url": "http://c", "auth": {"token": "${TOKEN}"}}
    with pytest.raises(ConnectVariableMissing, match=r"connect: of flow 'orders' has \$\{TOKEN\}"):
        connectors_at(connect_flow(connect=secret), environment={})
    web = connectors_at(connect_flow(connect=secret), environment={"TOKEN": "t"}).rest.web
    assert web.headers["Authorization"] == "Bearer t"


def test_workers_that_rebalance() -> None:
    """They answer 409 to who changes something, and 500 to who reads; another 500 is no rebalance."""
    text = '{"error_code":500,"message":"Request cannot be completed because a rebalance is expected"}'
    assert is_rebalancing(httpx.Response(409, text="{}"))
    assert is_rebalancing(httpx.Response(500, text=text))
    assert not is_rebalancing(httpx.Response(500, text="java.lang.NullPointerException"))
    assert not is_rebalancing(httpx.Response(200, text="rebalance"))


@pytest.mark.parametrize(
    ("topics", "is_told"),
    [
        ("orders.*", True),
        ("orders", True),
        (".*", True),
        ("order.*", True),
        ("x|orders", True),
        ("orders-eu, stock", True),
        ("customers.*", False),
        ("order-.*, customers", False),
        ("o?rders", True),
    ],
)
def test_connectors_of_others_on_the_same_way(topics: str, is_told: bool) -> None:
    """What may take the same topics is warned of; what cannot, by how its patterns begin, is not."""
    aliases = dict(zip(ALIASES, ("us", "eu"), strict=True))
    config = {"connector.class": PACKAGE + Part.SOURCE.value, **aliases, "topics": topics}
    told = list(beside(connect_flow(topics=["orders.*"]), {"other": config}, []))
    assert bool(told) == is_told
