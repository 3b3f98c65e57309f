"""A hand-over that ends at any moment goes on when it is called again, and until then nothing mirrors twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from airflow_provider_mm2.cli.connections import wanted_here
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.connect.access import connectors_at
from airflow_provider_mm2.mirror.handover.hand_over import as_connect_flow, hand_over
from airflow_provider_mm2.mirror.handover.report import HandOverReport
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state.gate import find_gate
from airflow_provider_mm2.mirror.state_model import Engine
from tests.contract.lab import Side
from tests.mirror.connect.stage import ConnectStage, stage_of
from tests.mirror.handover.load import loading

pytestmark = [pytest.mark.broker, pytest.mark.thorough]
PARTITIONS = 2


class Killed(BaseException):
    """Nothing of the code below can take it for an error of its own."""


@pytest.fixture
def stage(pair: LocalPair, connect_url: str, tmp_path: Path) -> Iterator[ConnectStage]:
    """Give a flow on an empty topic that connectors mirror."""
    changes = {"on_gap": "accept", "emit_heartbeats": False, "emit_checkpoints": False, "lease_session_s": 6}
    with stage_of(pair, connect_url, tmp_path, PARTITIONS, count=0, **changes) as made:
        yield made


def attempt(stage: ConnectStage, engine: str, tick: Callable[[], None]) -> HandOverReport:
    """Hand over, as the command does."""
    stage.document["engine"] = engine
    connectors = connectors_at(as_connect_flow(stage.flow))
    wanted = wanted_here(stage.flow) if engine == "connect" else ()
    pair, said = stage.lab.pair, list[str]()
    return hand_over(stage.flow, pair, connectors, wanted, apply=True, owner="test", tick=tick, say=said.append)


def killed_after(ticks: int) -> Callable[[], None]:
    """Be killed after so many ticks."""
    left = [ticks]

    def tick() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Killed

    return tick


def mirrored(stage: ConnectStage, number: int) -> list[int]:
    """What readers of committed records see of a partition on the target."""
    records = stage.lab.visible(Side.TARGET, TopicPartition(stage.target.topic, number))
    return [int(message.value or b"") for _, message in records]


def test_killed_anywhere(stage: ConnectStage, pair: LocalPair) -> None:
    """Killed at ever later moments, each direction in turn, under load; every record is on the target once."""
    stage.mm2("put", "--apply")
    engines, killed = ("bounded", "connect"), 0
    with loading(pair.addresses["source"], stage.topic, PARTITIONS, seed=7) as load:
        for turn in range(8):
            engine, ticks = engines[turn % 2], 3
            while True:
                try:
                    attempt(stage, engine, killed_after(ticks))
                except Killed:
                    killed, ticks = killed + 1, ticks * 3
                    continue
                break
            if engine == "bounded":
                stage.call("run")
        record = find_gate(stage.lab.pair.target, stage.name, lambda: None)
        assert record is not None
        assert (record.engine, killed > 8) == (Engine.CONNECT, True)
        attempt(stage, "bounded", lambda: None)
    stage.call("run")
    assert {number: mirrored(stage, number) for number in load.sent} == {
        number: list(range(sent)) for number, sent in load.sent.items()
    }


def test_taken_back_half_way(stage: ConnectStage, pair: LocalPair, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hand-over to connectors that ended before they were told where to go on shuts both; runs can have it back."""
    stage.document["engine"] = "bounded"
    stage.lab.produce(Side.SOURCE, stage.source)
    stage.call("run")
    with monkeypatch.context() as patch:
        patch.setattr("airflow_provider_mm2.mirror.connect.source_offsets.SourceOffsets.set", _be_killed)
        with pytest.raises(Killed):
            attempt(stage, "connect", lambda: None)
    assert stage.told("put", "--apply", code=4)["error"]["kind"] == "HandOverUnderWay"
    stage.document["engine"] = "bounded"
    assert stage.call("run", code=4)["error"]["kind"] == "HandOverUnderWay"
    assert stage.call("hand-over")["from"] == "bounded to connect"
    stage.call("hand-over", "--apply")
    assert stage.call("run")["flow"] == stage.name


def _be_killed(*_: object) -> None:
    raise Killed
