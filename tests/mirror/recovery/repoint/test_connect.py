"""Sink connectors of a real Connect worker: stopped, repointed with their offsets, resumed, and all of it undone."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.connect.rest import ConnectRest
from airflow_provider_mm2.mirror.errors import (
    EndpointRefused,
    RepointChangedMeanwhile,
    RepointPlaceMissing,
    RepointRefused,
)
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.recovery.repoint.connect import named
from airflow_provider_mm2.mirror.recovery.repoint.ports import Move, Stops
from airflow_provider_mm2.mirror.web.endpoint import Web
from tests.java.connect_worker import connect_worker
from tests.mirror.recovery.repoint.moves import Noted, die_in, planned, repointer, states

pytestmark = pytest.mark.broker
LIMIT_S = 60.0


@pytest.fixture(scope="module")
def worker(_guarded: Path, pair: LocalPair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the address of a worker."""
    folder = _guarded / tmp_path_factory.mktemp("connect").parent.name
    with connect_worker(folder, pair) as url:
        yield url


class Sink:
    """A file sink with its topic on both sides, ten records on each."""

    def __init__(self, url: str, pair: LocalPair, topic: str, folder: Path) -> None:
        self.url, self.name, self.topic, self.file = url, f"sink-{topic}", topic, folder / "sink.txt"
        sides = {"us": (pair.source, topic), "eu": (pair.target, f"us.{topic}")}
        self.addresses = {
            alias: str(cluster.client_settings["bootstrap.servers"]) for alias, (cluster, _) in sides.items()
        }
        for alias, (_, name) in sides.items():
            admin = AdminClient({"bootstrap.servers": self.addresses[alias]})
            admin.create_topics([NewTopic(name, 1, 1)])[name].result(LIMIT_S)
            producer = Producer({"bootstrap.servers": self.addresses[alias]})
            for number in range(10):
                producer.produce(name, f"{alias}-{number}", partition=0)
            assert producer.flush(LIMIT_S) == 0
        self.move = Move(
            flow="orders",
            from_alias="us",
            to_alias="eu",
            bootstrap=self.addresses,
            topics={topic: {"us": topic, "eu": f"us.{topic}"}},
            groups=(f"connect-{self.name}",),
            offsets={f"connect-{self.name}": {TopicPartition(f"us.{topic}", 0): 7}},
        )
        config = {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
            "tasks.max": "1",
            "topics": topic,
            "file": str(self.file),
            "consumer.override.auto.offset.reset": "earliest",
        }
        self.ask("PUT", "config", json=config)

    @property
    def item(self) -> dict[str, Any]:
        """The entry of the flow."""
        return {"kind": "connect", "url": self.url, "connectors": [self.name], "wait_s": LIMIT_S}

    def ask(self, method: str, path: str, **options: Any) -> Any:
        """Ask Connect itself."""
        url = f"{self.url}/connectors/{self.name}/{path}"
        answers: list[httpx.Response] = []

        def answered() -> bool:
            answers.append(httpx.request(method, url, timeout=30, trust_env=False, **options))
            return answers[-1].status_code not in (404, 409)

        await_so(answered)
        answers[-1].raise_for_status()
        return answers[-1].json() if answers[-1].content else None

    def lines(self) -> list[str]:
        """Give what the sink has written."""
        return self.file.read_text().splitlines() if self.file.exists() else []


def await_so(is_so: Callable[[], bool]) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture
def sink(worker: str, pair: LocalPair, topic_name: Callable[..., str], tmp_path: Path) -> Sink:
    """Give a sink that has read its topic on the source."""
    made = Sink(worker, pair, topic_name("orders"), tmp_path)
    await_so(lambda: len(made.lines()) == 10)
    return made


def test_forth_and_back(sink: Sink) -> None:
    """Stopped, moved, resumed: it goes on at the translated offset of the other cluster; undone, where it stood."""
    made, note = repointer(**sink.item), Noted()
    assert isinstance(made, Stops)
    before = sink.ask("GET", "config")
    plan = planned(made, sink.move)
    assert states(plan) == ["to change"] * 4
    with pytest.raises(RepointRefused, match="is RUNNING, and its offsets can be set only while it is stopped"):
        made.apply(plan, note, no_tick)
    assert sink.ask("GET", "config") == before
    stopped = made.stop(sink.move, note, no_tick)
    assert (stopped.items[0].before, sink.ask("GET", "status")["connector"]["state"]) == ("RUNNING", "STOPPED")
    done = made.apply(plan, note, no_tick)
    assert states(made.verify(done, no_tick)) == ["in place already"] * 4
    made.start(stopped, note, no_tick)
    await_so(lambda: len(sink.lines()) >= 13)
    assert sink.lines()[10:] == ["eu-7", "eu-8", "eu-9"]
    stopped = made.stop(sink.move, note, no_tick)
    undone = made.undo(done, note, no_tick)
    assert [item.detail for item in undone.items] == ["put back"] * 3 + ["left as it is, on the side that is given up"]
    assert sink.ask("GET", "config") == before
    made.start(stopped, note, no_tick)
    await_so(lambda: sink.ask("GET", "status")["connector"]["state"] == "RUNNING")
    assert [item["offset"] for item in sink.ask("GET", "offsets")["offsets"]] == [{"kafka_offset": 10}]


@pytest.mark.parametrize("onwards", ["apply", "undo"])
def test_killed_in_the_middle(sink: Sink, onwards: str) -> None:
    """A process that dies in the middle is gone on with, or undone, by the next one; so is a stop."""
    made, before = repointer(**sink.item), sink.ask("GET", "config")
    assert isinstance(made, Stops)
    made.stop(made.plan_stop(sink.move, no_tick), Noted(), no_tick)
    recorded = die_in("apply", sink.item, planned(made, sink.move), writes=2)
    done = getattr(made, onwards)(recorded, Noted(), no_tick)
    assert states(made.verify(done, no_tick)) == ["in place already" if onwards == "apply" else "to change"] * 4
    assert (sink.ask("GET", "config") == before) == (onwards == "undo")


def test_somebody_else(sink: Sink) -> None:
    """A connector that is not there; one that was changed since the plan; what stood paused is not resumed."""
    rest = ConnectRest(web=Web(url=sink.url), wait_s=1)
    with pytest.raises(EndpointRefused, match="Partitions / offsets need to be provided"):
        rest.change("PATCH", sink.name, "offsets", {"offsets": []}, {}, no_tick)
    with pytest.raises(RepointPlaceMissing, match=f"near it: {sink.name}"):
        named(rest, (f"{sink.name}x",), no_tick)
    made = repointer(**sink.item)
    assert isinstance(made, Stops)
    sink.ask("PUT", "pause")
    await_so(lambda: sink.ask("GET", "status")["connector"]["state"] == "PAUSED")
    stopped = made.stop(sink.move, Noted(), no_tick)
    plan = planned(made, sink.move)
    other = {"consumer.override.bootstrap.servers": "127.0.0.1:1"}
    sink.ask("PUT", "config", json={**sink.ask("GET", "config"), **other})
    note = Noted()
    with pytest.raises(RepointChangedMeanwhile, match=r"is '127\.0\.0\.1:1' by now"):
        made.apply(plan, note, no_tick)
    assert states(note.last) == ["in place already", "problem", "to change", "to change"]
    assert states(made.undo(note.last, note, no_tick)) == ["to change", "unexpected value", "to change", "to change"]
    config = sink.ask("GET", "config")
    assert (config["topics"], config["consumer.override.bootstrap.servers"]) == (sink.topic, "127.0.0.1:1")
    made.start(stopped, Noted(), no_tick)
    assert sink.ask("GET", "status")["connector"]["state"] == "PAUSED"
    assert json.loads(json.dumps(stopped.to_json()))["items"][0]["before"] == "PAUSED"
