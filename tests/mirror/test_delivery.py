"""A flow that delivers in either way: what is recorded, told, and allowed to change."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.errors import Overtaken
from airflow_provider_mm2.mirror.interval import admission
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.run import mirror_shard, plan_flow, prepare, run_mirror
from airflow_provider_mm2.mirror.state.gate import read_gate
from airflow_provider_mm2.mirror.state_model import Delivery
from airflow_provider_mm2.mirror.status import flow_status
from tests.fakes.log import Message
from tests.mirror.histories import REMOTE, TOPIC, Killed
from tests.mirror.least_histories import LeastHistory

LEAST, ONCE = Delivery.AT_LEAST_ONCE, Delivery.EXACTLY_ONCE


def no_tick() -> None:
    """Let it wait."""


def bounds() -> RunBounds:
    """All there is as of now."""
    return RunBounds(until=None, since=None, started=datetime.now(timezone.utc))


@pytest.fixture(autouse=True)
def _quick_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look twice without the two seconds between: nothing moves in the fake meanwhile."""
    monkeypatch.setattr(admission, "SECOND_LOOK_S", 0.0)


@pytest.fixture
def history() -> LeastHistory:
    """Give a flow without transactions, and five records to copy."""
    made = LeastHistory(1)
    made.write(0, made.messages(5, b"k", 1), None)
    return made


def recorded(history: LeastHistory) -> Delivery:
    """What the gate says."""
    record = read_gate(history.pair.target, history.flow.name, no_tick)
    assert record is not None
    return record.delivery


def test_recorded_and_changed(history: LeastHistory) -> None:
    """The way of delivery is recorded by the first run, and by the first one of each change, which says so."""
    history.run()
    assert recorded(history) is LEAST
    for delivery in (ONCE, LEAST):
        history.switch()
        history.pair.deliver(delivery)
        (planned,) = (text for text in plan_flow(history.flow, history.pair, bounds=bounds()).warnings)
        assert recorded(history) is not delivery
        summary = run_mirror(history.flow, history.pair, bounds=bounds())
        assert recorded(history) is delivery
        assert [text for text in summary.warnings if "delivery changes" in text] == [planned]
        assert f"to {delivery.value}: {delivery.cost}" in planned
        assert run_mirror(history.flow, history.pair, bounds=bounds()).warnings == ()
    assert history.mirrored(0) == history.expected(0)


def test_told_by_run_plan_and_status(history: LeastHistory) -> None:
    """What a flow costs its readers stands in every document."""
    plan = plan_flow(history.flow, history.pair, bounds=bounds()).to_json()
    run = run_mirror(history.flow, history.pair, bounds=bounds()).to_json()
    status = flow_status(history.flow, history.pair, tick=no_tick).to_json()
    for document in (plan, run, status):
        assert document["delivery"] == "at_least_once"
        assert "twice after a failure" in document["delivery_cost"]
        assert "read_committed spares a reader nothing" in document["delivery_cost"]


def kill() -> None:
    """End the process."""
    raise Killed


def test_repeats_are_counted_once(history: LeastHistory) -> None:
    """A run tells what a dead one left, plan and status stop for nothing, and the run after it tells nothing."""
    history.run_disturbed(None, "add", False, 2, kill)
    arrived = len(history.mirrored(0))
    assert 0 < arrived < 5
    (told,) = plan_flow(history.flow, history.pair, bounds=bounds()).warnings
    assert told.startswith(
        f"{REMOTE}-0: {arrived} record(s) beyond the recorded end 0: repeats of an attempt that died"
    )
    assert flow_status(history.flow, history.pair, tick=no_tick).to_json()["problems"] == []
    assert run_mirror(history.flow, history.pair, bounds=bounds()).warnings == (told,)
    assert run_mirror(history.flow, history.pair, bounds=bounds()).warnings == ()
    assert len(history.mirrored(0)) == 5 + arrived
    assert history.first_seen(0) == history.expected(0)


def test_foreign_records_stop_nothing(history: LeastHistory) -> None:
    """A stranger's record is counted as what may be a repeat; the mirror goes on behind it and stays exact."""
    history.run()
    history.pair.eu.produce(REMOTE, 0, history.messages(1, b"k", 1)[0])
    history.write(0, history.messages(3, b"k", 1), None)
    (told,) = run_mirror(history.flow, history.pair, bounds=bounds()).warnings
    assert "1 record(s) beyond the recorded end 5" in told
    assert [offset for offset, _ in history.pair.eu.visible(REMOTE, 0)] == list(range(9))


def test_progress_group_that_lags_is_set_right(history: LeastHistory) -> None:
    """A kill between ledger and progress group leaves a group that lags; the next run tells it and copies nothing."""
    history.run_disturbed(None, "progress", False, 3, kill)
    place = TopicPartition(TOPIC, 0)
    assert history.progress(0) < history.pair.us.log(place).end
    summary = run_mirror(history.flow, history.pair, bounds=bounds())
    (lag,) = (text for text in summary.warnings if "behind the ledger" in text)
    assert lag.startswith(f"{REMOTE}-0: the progress group stood at 3")
    assert history.mirrored(0) == history.expected(0)
    assert history.progress(0) == 5


def test_a_task_of_the_other_way_ends(history: LeastHistory) -> None:
    """A shard whose flow was recorded in another way since it was prepared copies nothing."""
    ready = prepare(history.flow, history.pair, bounds=bounds())
    history.switch()
    history.pair.deliver(ONCE)
    prepare(history.flow, history.pair, bounds=bounds())
    history.switch()
    history.pair.deliver(LEAST)
    for prepared in (ready, None):
        with pytest.raises(Overtaken) as caught:
            mirror_shard(history.flow, history.pair, 0, bounds=bounds(), prepared=prepared)
        assert "recorded with delivery exactly_once" in caught.value.what
        assert caught.value.retriable
    assert history.mirrored(0) == []


def test_a_change_ends_a_run_that_is_at_work(history: LeastHistory) -> None:
    """An attempt that finds the flow's record written to ends before it counts what it copied."""
    gate = TopicPartition(naming.gate_topic("f"), 0)

    def change() -> None:
        (stands,) = history.pair.target.read_state(gate, no_tick)
        history.pair.eu.produce(gate.topic, 0, Message(key=stands.key, value=stands.value))

    history.run_disturbed(None, "flush", True, 1, change)
    assert history.ended == 1
    assert history.progress(0) == 0
