"""Runs and statuses that must not claim more than is so, on the in-memory pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_provider_mm2.mirror.errors import (
    ChangedMeanwhile,
    CommitNotVisible,
    MirrorError,
    SourceTopicRecreated,
    TargetTopicGone,
    TargetTopicRecreated,
    TopicDeleted,
)
from airflow_provider_mm2.mirror.interval import admission, health, identity
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.state import lease
from airflow_provider_mm2.mirror.status import flow_status
from tests.fakes.log import Message, Outcome
from tests.mirror.interval.seed_world import KEPT, SeedWorld
from tests.mirror.offsets.group_world import BASE_MS


@pytest.fixture(autouse=True)
def _short_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (admission, health):
        monkeypatch.setattr(module, "SECOND_LOOK_S", 0.0)
    monkeypatch.setattr(identity, "ABSENT_S", 0.01)
    monkeypatch.setattr(lease, "WAKE_POLL_S", 0.01)


def status(world: SeedWorld, **options: Any) -> dict[str, Any]:
    """What ``mm2 status --json`` says."""
    return flow_status(world.flow.model_copy(update=options), world.pair, tick=lambda: None).to_json()


def remake_source(world: SeedWorld) -> None:
    """Delete the source topic and make it anew, longer than it was."""
    world.make_anew()
    world.write(50, first=500)


def remake_target(world: SeedWorld) -> None:
    """Delete the target topic and make it anew."""
    world.pair.eu.delete_topic("us.orders")
    world.pair.eu.create_topic("us.orders", 1, KEPT)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (remake_source, SourceTopicRecreated),
        (lambda world: world.pair.us.delete_topic("orders"), TopicDeleted),
        (remake_target, TargetTopicRecreated),
        (lambda world: world.pair.eu.delete_topic("us.orders"), TargetTopicGone),
    ],
    ids=["source made anew", "source gone", "target made anew", "target gone"],
)
@pytest.mark.parametrize("chunk", [1, 3])
def test_a_topic_that_changes_while_a_run_copies(
    change: Callable[[SeedWorld], None], error: type[MirrorError], chunk: int
) -> None:
    """It stops before the chunk is committed: nothing of a new topic is joined to the old one's copy."""
    world = SeedWorld()
    world.pair.us.produce(
        "orders", 0, *(Message(key=b"k", value=b"%d" % n + b" " * 600, timestamp_ms=BASE_MS) for n in range(8))
    )
    flow = world.flow.model_copy(update={"chunk": world.flow.chunk.model_copy(update={"bytes": 1024})})
    world.flow = flow
    copies = 0

    def step_in(step: str) -> None:
        nonlocal copies
        copies += step == "copy"
        if step == "copy" and copies == chunk:
            change(world)

    world.pair.hooks.after = step_in
    with pytest.raises(error):
        world.run()
    copied = world.values() if "us.orders" in world.pair.eu.topics else []
    assert all(value < 8 for value in copied)
    assert len(copied) <= 2 * (chunk - 1)


@pytest.mark.parametrize("change", [remake_source, remake_target], ids=["source", "target"])
def test_a_change_that_the_flow_accepts(change: Callable[[SeedWorld], None]) -> None:
    """While a run copies it ends that run alone, worth a retry, with how far it got; the next one accepts it."""
    world = SeedWorld()
    world.write(5)
    world.run()
    world.write(5, first=5)
    world.flow = world.flow.model_copy(update={"on_recreated": "restart"})
    world.pair.hooks.after = lambda step: change(world) if step == "copy" else None
    with pytest.raises(ChangedMeanwhile) as caught:
        world.run()
    assert caught.value.retriable
    assert "on_recreated: restart accepts it" in str(caught.value)
    assert change is remake_target or "up to offset 5" in str(caught.value)
    world.pair.hooks.after = lambda step: None
    world.run()
    assert world.values()[-3:] == ([547, 548, 549] if change is remake_source else [7, 8, 9])


def test_a_target_topic_made_anew_behind_a_commit() -> None:
    """A commit that cannot be seen is told by its cause, where that is a topic which is another one by now."""
    world = SeedWorld()
    world.write(5)

    def not_seen(step: str) -> None:
        if step == "see":
            remake_target(world)
            raise CommitNotVisible(transactional_id="mm2.f.0", seconds=30, partitions=("us.orders-0",))

    world.pair.hooks.before = not_seen
    with pytest.raises(TargetTopicRecreated):
        world.run()


def test_a_topic_named_in_full_that_is_gone() -> None:
    """The next run would stop for it, and a status says so before it."""
    world = SeedWorld()
    world.flow = world.flow.model_copy(update={"topics": ("orders",)})
    world.write(5)
    world.run()
    assert status(world)["problems"] == []
    world.pair.us.delete_topic("orders")
    with pytest.raises(TopicDeleted):
        world.run()
    assert [problem["kind"] for problem in status(world)["problems"]] == ["TopicDeleted"]


def test_nothing_is_claimed_behind_an_open_transaction() -> None:
    """What lies behind an open transaction cannot be read: mirrored through its first record's stamp, not later."""
    world = SeedWorld()
    world.write(5)
    opened = [Message(key=b"k", value=b"90", timestamp_ms=BASE_MS + 60_000)]
    transaction = world.pair.us.transaction("orders", 0, *opened, outcome=Outcome.OPEN)
    world.write(20, first=100)
    world.run()
    (row,) = status(world)["partitions"]
    assert row["mirrored_through"] == show(BASE_MS + 60_000)
    assert row["open_transaction_at"] == 5
    assert any("a transaction is open on the source at offset 5" in text for text in world.run().warnings)
    told = status(world, lso_stuck_s=-1)["problems"]
    assert [problem["kind"] for problem in told] == ["TransactionHangs"]
    world.pair.us.end(transaction, Outcome.COMMITTED)
    world.run()
    (row,) = status(world)["partitions"]
    assert row["mirrored_through"] > show(BASE_MS + 60_000)
    assert len(world.values()) == 26


def test_a_transaction_without_a_stamp() -> None:
    """Where the open transaction's first record has no timestamp nothing is claimed at all."""
    world = SeedWorld()
    world.write(5)
    transaction = world.pair.us.transaction("orders", 0, Message(key=b"k", value=b"9"), outcome=Outcome.OPEN)
    world.run()
    document = status(world)
    assert (document["partitions"][0]["mirrored_through"], document["rpo_s"]) == (None, None)
    world.pair.us.end(transaction, Outcome.ABORTED)


def test_partitions_that_were_never_mirrored() -> None:
    """A status lists what the flow selects and has not copied; while that has records there is no recovery point."""
    world = SeedWorld(partitions=2)
    world.write(5)
    world.run()
    world.pair.us.create_topic("orders2", 1, KEPT)
    assert status(world)["rpo_s"] is not None  # it is empty
    world.pair.us.produce("orders2", 0, *world.numbered(7))
    document = status(world)
    assert document["rpo_s"] is None
    row = document["partitions"][-1]
    assert (row["topic"], row["progress"], row["source_end"], row["lag"]) == ("orders2", None, 7, 7)
    world.pair.us.grow_topic("orders", 3)
    assert len(status(world)["partitions"]) == 4


def test_a_ledger_that_is_gone() -> None:
    """Progress that only the group still has is a problem of the next run, and a status says so."""
    world = SeedWorld()
    world.write(5)
    world.run()
    world.pair.eu.delete_topic("mm2-offset-map.f.internal")
    assert [problem["kind"] for problem in status(world)["problems"]] == ["ProgressLost"]


def test_records_on_the_target_that_nobody_knows() -> None:
    """A first run that was refused has recorded the flow; a status says why the next one would be, too."""
    world = SeedWorld()
    world.write(5)
    world.copy_by_hand(*world.numbered(3))
    with pytest.raises(MirrorError):
        world.run()
    assert [problem["kind"] for problem in status(world)["problems"]] == ["ProgressUnknown"]


def test_damage_in_what_is_known_of_groups() -> None:
    """It is a problem by its name, and what is known of the data is told all the same."""
    world = SeedWorld()
    world.write(5)
    world.commit("app", 3)
    world.run()
    world.pair.eu.produce("mm2-groups.f.internal", 0, Message(key=b"odd", value=b"odd"))
    document = status(world)
    assert [problem["kind"] for problem in document["problems"]] == ["StateDamaged"]
    assert document["partitions"][0]["progress"] == 5
    assert document["groups"] is None


@pytest.mark.parametrize("stamp", [253_402_300_800_000, 2**62])
def test_stamps_beyond_the_calendar(stamp: int) -> None:
    """A record stamped beyond the year 9999 is copied and told of; it breaks no message."""
    world = SeedWorld()
    world.pair.us.topics["orders"].settings["message.timestamp.after.max.ms"] = str(2**63 - 1)
    world.pair.us.produce("orders", 0, Message(key=b"k", value=b"1", timestamp_ms=stamp))
    summary = world.run()
    assert any("stamped in the future" in text for text in summary.warnings)
    assert world.values() == [1]
