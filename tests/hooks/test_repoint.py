"""Airflow's side of a repoint: what is read in a task, what goes to Airflow's API, what is told where there is none."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from airflow_provider_mm2.hooks import repoint
from airflow_provider_mm2.hooks.cluster import refuse_plain_secrets
from airflow_provider_mm2.hooks.repoint import AirflowRepoint
from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.errors import EndpointRefused, SecretInRepoint
from airflow_provider_mm2.mirror.recovery.repoint.factory import make_repointers
from airflow_provider_mm2.mirror.recovery.repoint.ports import Repointer
from tests.mirror.recovery.repoint.moves import EU, MOVE, US, Noted, flow_with, planned, states
from tests.mirror.recovery.repoint.server import Answer, Asked, DocumentService, Service, serving

SECRET = "hunter2-of-airflow"  # noqa: S105 # planted, to be looked for


@dataclass
class Api(Service):
    """Airflow's API: a token for a log-in, and a Connection that is patched by its mask."""

    env: Any = None
    patched: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answer:
        """Log in or patch."""
        if asked.path == "/auth/token":
            right = asked.json == {"username": "admin", "password": SECRET}
            return (201, '{"access_token": "a-token"}', {}) if right else (401, "", {})
        assert (asked.method, asked.path) == ("PATCH", "/api/v2/connections/kafka_app")
        if asked.headers.get("Authorization") != "Bearer a-token":
            return 403, "", {}
        self.patched.append(asked.json)
        stored = json.loads(self.env["AIRFLOW_CONN_KAFKA_APP"])
        stored |= {name: value for name, value in asked.json.items() if name in ("host", "port", "extra")}
        self.env["AIRFLOW_CONN_KAFKA_APP"] = json.dumps(stored)
        return 200, "{}", {}


def under_airflow(**item: Any) -> Repointer:
    """Make the one repointer of a flow under Airflow."""
    (made,) = make_repointers(flow_with(item), airflow=AirflowRepoint())
    return made


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Give Variables that a task reads and writes, without Airflow's database."""
    stored: dict[str, str] = {}

    class Stored:
        get = staticmethod(lambda key, default=None: stored.get(key, default))
        set = staticmethod(stored.__setitem__)
        delete = staticmethod(stored.__delitem__)

    monkeypatch.setattr(repoint, "Variable", Stored)
    return stored


def test_a_variable(variables: dict[str, str]) -> None:
    """As a whole, and a value in its JSON; undone to the very text."""
    variables |= {"plain": "orders", "json": f'{{ "kafka": {{"servers": "{US}"}}, "n": 1.0 }}'}
    before = dict(variables)
    for item in (
        {"kind": "variable", "key": "plain", "value": "{topic:orders}"},
        {"kind": "variable", "key": "json", "set": {"kafka.servers": "{bootstrap.servers}"}},
        {"kind": "variable", "key": "new", "value": "{alias}", "create": True},
    ):
        made, note = under_airflow(**item), Noted()
        done = made.apply(planned(made), note, no_tick)
        assert states(made.verify(done, no_tick)) == ["in place already"]
        after = dict(variables)
        made.undo(note.last, note, no_tick)
        assert variables == before
        made.apply(done, note, no_tick)
        assert variables == after
        before = after
    assert variables == {"plain": "us.orders", "json": f'{{ "kafka": {{"servers": "{EU}"}}, "n": 1.0 }}', "new": "eu"}


def test_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields and keys of the extra are changed by Airflow's API, one at a time, the rest of the extra kept."""
    import os

    extra = {"bootstrap.servers": US, "sasl.password": SECRET}
    stored = {"conn_type": "kafka", "host": "us-1", "port": 9092, "extra": json.dumps(extra)}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_APP", json.dumps(stored))
    item: dict[str, Any] = {"kind": "connection", "connection": "kafka_app"}
    item["set"] = {"host": {"us": "us-1", "eu": "eu-1"}, "extra.bootstrap.servers": "{bootstrap.servers}"}
    with serving(Api(env=os.environ)) as api:
        assert isinstance(api, Api)
        access = {"conn_type": "http", "host": api.url, "login": "admin", "password": SECRET}
        monkeypatch.setenv("AIRFLOW_CONN_AIRFLOW_API", json.dumps(access))
        made, note = under_airflow(**item), Noted()
        done = made.apply(planned(made), note, no_tick)
        assert [set(one) - {"connection_id", "conn_type"} for one in api.patched] == [{"host"}, {"extra"}]
        assert json.loads(api.patched[1]["extra"]) == {**extra, "bootstrap.servers": EU}
        assert api.asked[-1].query == {"update_mask": "extra"}
        made.undo(done, note, no_tick)
        assert json.loads(json.loads(os.environ["AIRFLOW_CONN_KAFKA_APP"])["extra"]) == extra
        monkeypatch.setenv("AIRFLOW_CONN_AIRFLOW_API", json.dumps({**access, "password": "another"}))
        with pytest.raises(EndpointRefused, match="/auth/token refused it: status 401"):
            made.apply(planned(made), note, no_tick)
    assert states(note.last) == ["problem", "to change"]
    assert SECRET not in "".join(note.texts)


def test_an_endpoint_behind_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Address, log-in and headers come from an Airflow http connection."""
    service = DocumentService(text='{"topic": "orders"}')
    masked: list[str] = []
    monkeypatch.setattr(repoint, "mask_secret", masked.append)
    with serving(service):
        port = service.url.rpartition(":")[2]
        extra = json.dumps({"X-Team": "orders", "verify": False})
        stored = {"conn_type": "http", "host": "localhost", "port": int(port), "login": "u", "password": SECRET}
        monkeypatch.setenv("AIRFLOW_CONN_APP", json.dumps({**stored, "extra": extra}))
        made = under_airflow(kind="http", connection="app", path="/config", set={"topic": "{topic:orders}"})
        made.apply(planned(made), Noted(), no_tick)
    assert json.loads(service.text) == {"topic": "us.orders"}
    assert service.asked[0].headers["Authorization"].startswith("Basic ")
    assert (service.asked[0].headers["X-Team"], "verify" in service.asked[0].headers) == ("orders", False)
    assert SECRET in masked


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ({"kind": "variable", "key": "v", "value": "{alias}"}, "set the whole of Variable v to eu, in Airflow"),
        ({"kind": "connection", "connection": "c", "set": {"host": "{alias}"}}, "set host of Connection c to eu"),
        ({"kind": "http", "connection": "c", "set": {"a": "{alias}"}}, "set a of what Connection c leads to to eu"),
    ],
)
def test_without_airflow(item: dict[str, Any], told: str) -> None:
    """What only Airflow can change is told exactly, at every step, and never passed over."""
    (made,) = make_repointers(flow_with(item))
    plan, note = planned(made), Noted()
    assert states(plan) == states(made.apply(plan, note, no_tick)) == ["to do in Airflow"]
    assert told in plan.items[0].detail
    assert "to us" in made.undo(plan, note, no_tick).items[0].detail
    assert states(made.verify(plan, no_tick)) == ["to do in Airflow"]
    (made,) = make_repointers(flow_with({**item, "groups": ["billing"]}))
    assert planned(made).detail == "none of its groups moves (billing)"


def test_what_is_not_there(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    """A Variable, a Connection, a field: problems of the plan, with what is near."""
    plan = planned(under_airflow(kind="variable", key="nothing", value="x"))
    assert "Variable nothing is not there: no such key" in plan.items[0].detail
    plan = planned(under_airflow(kind="connection", connection="nothing", set={"host": "x"}))
    assert "Airflow knows none of this id" in plan.items[0].detail
    monkeypatch.setenv("AIRFLOW_CONN_C", json.dumps({"conn_type": "kafka", "extra": '{"bootstrap.servers": "x"}'}))
    plan = planned(under_airflow(kind="connection", connection="c", set={"extra.bootstrap.server": "x"}))
    assert "near it: extra.bootstrap.servers" in plan.items[0].detail
    plan = planned(under_airflow(kind="http", connection="nowhere", set={"a": "b"}))
    assert "Connection nowhere is not there" in plan.items[0].detail


@pytest.mark.parametrize(
    ("item", "key"),
    [
        ({"kind": "consul", "url": "http://c", "set": {"a": "b"}, "auth": {"token": SECRET}}, "auth.token"),
        ({"kind": "consul", "url": "http://c", "set": {"a": "b"}, "headers": {"X-Token": SECRET}}, "headers.X-Token"),
        ({"kind": "file", "path": "/x.env", "set": {"DB_PASSWORD": SECRET}}, "set.DB_PASSWORD"),
        ({"kind": "file", "path": "/x.env", "set": {"DB": f"db://u:{SECRET}@h"}}, "set.DB"),
    ],
)
def test_plain_secrets_are_refused(item: dict[str, Any], key: str) -> None:
    """K23: what a flow holds ends in Airflow's database; a secret there is refused by its key, and not shown."""
    flow = flow_with(item)
    with pytest.raises(SecretInRepoint, match=key) as caught:
        refuse_plain_secrets(flow)
    assert SECRET not in f"{caught.value!r}{flow!r}{flow.serialize()}"
    assert MOVE.flow == flow.name
