"""A flow goes from connectors to runs and back while its source is written to: nothing is lost, nothing comes twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.contract.lab import Side
from tests.mirror.connect.stage import ConnectStage, stage_of, until
from tests.mirror.handover.load import loading

pytestmark = pytest.mark.broker
PARTITIONS = 3


@pytest.fixture
def stage(pair: LocalPair, connect_url: str, tmp_path: Path) -> Iterator[ConnectStage]:
    """Give a flow on an empty topic of three partitions that connectors mirror."""
    changes = {"on_gap": "accept", "groups": ["name-.*"], "offset_lag_max": 20}
    with stage_of(pair, connect_url, tmp_path, PARTITIONS, count=0, **changes) as made:
        yield made


def visible(stage: ConnectStage, side: Side, number: int) -> list[tuple[int, Any]]:
    """What a reader of committed records sees of a partition, with offsets."""
    topic = stage.topic if side is Side.SOURCE else stage.target.topic
    return [(offset, message.value) for offset, message in stage.lab.visible(side, TopicPartition(topic, number))]


class Journey:
    """Hand-overs one after the other, with groups that stand somewhere in what each engine has copied."""

    def __init__(self, stage: ConnectStage, seed: int) -> None:
        self.stage, self.random = stage, Random(seed)  # noqa: S311 - repeatable, not secret
        self.groups: dict[str, dict[int, int]] = {}

    def let_time_pass(self) -> None:
        """Let the engine at work get somewhere, for a moment that the seed chooses; runs are started for it."""
        before = self.mirrored()
        more, deadline = self.random.randint(20, 200), time.monotonic() + 60
        while self.mirrored() < before + more:
            assert time.monotonic() < deadline
            if self.stage.document["engine"] == "bounded":
                self.stage.call("run")
            time.sleep(0.05)

    def mirrored(self) -> int:
        """How many offsets of the target's partitions are used."""
        parts = [TopicPartition(self.stage.target.topic, number) for number in range(PARTITIONS)]
        if parts[0].topic not in self.stage.lab.pair.target.list_topics():
            return 0
        return sum(log.end for log in self.stage.lab.pair.target.log_offsets(parts).values())

    def place_group(self) -> None:
        """Let a group commit on the source, somewhere in what is on the target by now."""
        name = f"{self.stage.topic}-{len(self.groups)}"
        places: dict[int, int] = {}
        for number in range(PARTITIONS):
            copied = len(visible(self.stage, Side.TARGET, number))
            records = visible(self.stage, Side.SOURCE, number)
            places[number] = records[self.random.randrange(copied)][0] if copied else 0
        offsets = {TopicPartition(self.stage.topic, number): offset for number, offset in places.items()}
        self.stage.lab.commit_offsets(Side.SOURCE, name, offsets)
        self.groups[name] = places

    def hand_over(self, engine: str) -> None:
        """Hand over to an engine; again it changes nothing."""
        self.stage.document["engine"] = engine
        done = self.stage.call("hand-over", "--apply")
        assert (done["to"], done["applied"], done["refused"]) == (engine, True, [])
        assert self.stage.call("hand-over")["done_already"]

    def check_groups(self) -> None:
        """No group is put behind a record that it has not read, and where it is called exact it is."""
        rows = {(row["group"], row["partition"]): row for row in self.stage.call("groups", "--refine")["groups"]}
        for name, places in self.groups.items():
            for number, offset in places.items():
                row = rows[name, number]
                records = visible(self.stage, Side.TARGET, number)
                unread = [value for at, value in visible(self.stage, Side.SOURCE, number) if at >= offset]
                goes_on = [value for at, value in records if at >= row["target_offset"]]
                assert goes_on[-len(unread) :] == unread, (row, offset)
                assert not row["exact"] or goes_on == unread, (row, offset)


@pytest.mark.parametrize("seed", [1])
def test_three_hand_overs(stage: ConnectStage, pair: LocalPair, seed: int) -> None:
    """Connectors, runs, connectors and runs again, each for a while that the seed chooses."""
    journey = Journey(stage, seed)
    stage.mm2("put", "--apply")
    with loading(pair.addresses["source"], stage.topic, PARTITIONS, seed) as load:
        for engine in ("bounded", "connect", "bounded"):
            journey.let_time_pass()
            journey.place_group()
            journey.hand_over(engine)
        journey.let_time_pass()
        journey.place_group()
    stage.call("run")
    for number, sent in load.sent.items():
        assert [int(value) for _, value in visible(stage, Side.TARGET, number)] == list(range(sent))
    journey.check_groups()


def test_refused_before_it_is_handed_over(stage: ConnectStage) -> None:
    """What the file says alone changes nothing: runs of a flow that connectors mirror, and connectors beside runs."""
    stage.lab.produce(Side.SOURCE, stage.source)
    stage.mm2("put", "--apply")
    stage.document["engine"] = "bounded"
    assert stage.call("run", code=4)["error"]["kind"] == "EngineDiffers"
    assert stage.call("hand-over")["from"] == "connect"
    stage.call("hand-over", "--apply")
    assert stage.call("run")["records"] == 0
    stage.document["engine"] = "connect"
    for action in (("put", "--apply"), ("resume",), ("restart",)):
        assert stage.told(*action, code=4)["error"]["kind"] == "EngineDiffers"
    until(lambda: {each["state"] for each in stage.status()["connectors"]} == {"STOPPED"}, "stopped connectors")
