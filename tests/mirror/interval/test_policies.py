"""What a run does with ``on_gap``, ``on_recreated`` and ``on_foreign_writes``, on the in-memory pair."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from airflow_provider_mm2.mirror.errors import (
    ForeignWrites,
    MirrorError,
    SourceGap,
    SourceTopicRecreated,
    SourceTruncated,
    TargetLostData,
    TargetTopicGone,
    TargetTopicRecreated,
)
from airflow_provider_mm2.mirror.incident_model import IncidentKind
from airflow_provider_mm2.mirror.interval import admission, health
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.run import plan_flow
from airflow_provider_mm2.mirror.state import lease
from airflow_provider_mm2.mirror.status import flow_status
from tests.mirror.interval.seed_world import KEPT, SeedWorld

PART = TopicPartition("orders", 0)


@pytest.fixture(autouse=True)
def _short_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "SECOND_LOOK_S", 0.0)
    monkeypatch.setattr(health, "SECOND_LOOK_S", 0.0)
    monkeypatch.setattr(lease, "WAKE_POLL_S", 0.01)


@pytest.fixture
def world() -> SeedWorld:
    """Give a flow that has mirrored 10 records."""
    world = SeedWorld()
    world.write(10)
    world.run()
    return world


def status(world: SeedWorld, **options: Any) -> dict[str, Any]:
    """What ``mm2 status --json`` says."""
    return flow_status(world.flow.model_copy(update=options), world.pair, tick=lambda: None).to_json()


def stops(world: SeedWorld, error: type[MirrorError], **options: Any) -> MirrorError:
    """Run, and give the error; the target is as before."""
    before = world.values()
    with pytest.raises(error) as caught:
        world.run(**options)
    assert world.values() == before
    assert status(world, **options)["problems"][0]["kind"] == error.__name__
    return caught.value


def test_a_gap(world: SeedWorld) -> None:
    """K10: retention went past the progress: a stop with the range, or on behind it and the gap on record for ever."""
    world.write(20, first=10)
    world.commit("slow", 12)
    world.pair.us.log(PART).advance_start(15)
    error = stops(world, SourceGap)
    assert (error.facts["start"], error.facts["end"]) == (10, 15)
    stops(world, SourceGap, on_recreated="restart", on_foreign_writes="accept")
    told = status(world, on_gap="accept")
    assert not told["problems"]
    assert any("the next run accepts this: orders-0: source offsets [10, 15)" in text for text in told["warnings"])
    warned = world.run(on_gap="accept", sync_group_offsets=True).warnings
    assert any("source offsets [10, 15) were gone before they were copied" in text for text in warned)
    assert world.values() == [*range(10), *range(15, 30)]
    assert world.values_from(world.target_offsets("slow")[0]) == list(range(15, 30))
    assert not any("gone" in text for text in world.run(on_gap="accept").warnings)
    (incident,) = status(world)["incidents"]
    assert (incident["kind"], incident["start"], incident["end"]) == ("gap", 10, 15)
    assert incident["decided_by"] == "on_gap: accept"


def test_a_truncated_source(world: SeedWorld) -> None:
    """The source lost records that are copied: a stop, or on from its end; the map below keeps its answers."""
    world.commit("app", 4)
    world.pair.us.truncate("orders", 0, 7)
    error = stops(world, SourceTruncated)
    assert (error.facts["progress"], error.facts["end"]) == (10, 7)
    world.run(on_gap="accept")
    world.write(3, first=70)
    world.commit("late", 8)
    world.run(on_gap="accept", sync_group_offsets=True)
    assert world.values() == [*range(10), 70, 71, 72]
    assert world.values_from(world.target_offsets("app")[0])[:3] == [4, 5, 6]
    assert world.values_from(world.target_offsets("late")[0]) == [71, 72]
    assert world.incidents() == [(IncidentKind.TRUNCATED, 7, 10, None)]


@pytest.mark.parametrize("records", [5, 25])
def test_a_source_topic_made_anew(world: SeedWorld, records: int) -> None:
    """K20: with fewer or more records than were copied: a stop in both, or all of the new topic behind the old one."""
    world.commit("app", 6)
    world.run()
    world.make_anew()
    world.write(records, first=100)
    stops(world, SourceTopicRecreated, on_gap="accept")
    world.commit("app", 2)
    world.run(on_recreated="restart", sync_group_offsets=True, allow_rewind=True)
    assert world.values() == [*range(10), *range(100, 100 + records)]
    assert world.values_from(world.target_offsets("app")[0]) == list(range(102, 100 + records))
    assert world.incidents() == [(IncidentKind.SOURCE_RECREATED, 0, 10, 10)]
    world.run(on_recreated="restart")
    assert len(world.incidents()) == 1


@pytest.mark.parametrize("is_there", [True, False])
def test_a_target_topic_made_anew(world: SeedWorld, is_there: bool) -> None:
    """K19: the target topic was deleted, and made anew or not: a stop, or all of it again from the source's start."""
    world.commit("app", 6)
    world.pair.eu.delete_topic("us.orders")
    if is_there:
        world.pair.eu.create_topic("us.orders", 1, KEPT)
        with pytest.raises(TargetTopicRecreated):
            world.run()
    else:
        with pytest.raises(TargetTopicGone):
            world.run(on_gap="accept")
    world.run(on_recreated="restart", sync_group_offsets=True)
    assert world.values() == list(range(10))
    assert world.target_offsets("app") == {0: 6}
    assert world.incidents() == [(IncidentKind.TARGET_RECREATED, 0, 10, 10)]
    assert status(world)["partitions"][0]["records"] == 10


BOUNDS = RunBounds(until=None, since=None, started=datetime(2024, 1, 1, tzinfo=timezone.utc))


def test_plan_of_target_topics_that_are_gone(world: SeedWorld) -> None:
    """All of them are told at once, beside the plan; with a policy what is copied once more is counted."""
    world.pair.us.create_topic("orders2", 1, KEPT)
    world.pair.us.produce("orders2", 0, *world.numbered(4))
    world.run()
    world.pair.eu.delete_topic("us.orders")
    world.pair.eu.delete_topic("us.orders2")
    plan = plan_flow(world.flow, world.pair, bounds=BOUNDS).to_json()
    assert [problem["kind"] for problem in plan["problems"]] == ["TargetTopicGone"] * 2
    restarting = world.flow.model_copy(update={"on_recreated": "restart"})
    plan = plan_flow(restarting, world.pair, bounds=BOUNDS).to_json()
    assert (plan["problems"], plan["to_copy"]) == ([], 14)
    assert sum("a run would accept this" in warning for warning in plan["warnings"]) == 2


def test_a_target_topic_made_anew_with_somebody_s_records(world: SeedWorld) -> None:
    """Records that lie in the new topic already are strangers': only a flow that accepts those, too, goes on."""
    world.pair.eu.delete_topic("us.orders")
    world.copy_by_hand(*world.numbered(3, 500))
    with pytest.raises(ForeignWrites) as caught:
        world.run(on_recreated="restart")
    assert caught.value.records == 3
    world.run(on_recreated="restart", on_foreign_writes="accept")
    assert world.values() == [500, 501, 502, *range(10)]


def test_a_target_that_lost_records(world: SeedWorld) -> None:
    """A target log that ends before the recorded end is no policy's business: it stops whatever is accepted."""
    world.pair.eu.truncate("us.orders", 0, 4)
    everything = {"on_gap": "accept", "on_recreated": "restart", "on_foreign_writes": "accept"}
    stops(world, TargetLostData, **everything)


def test_foreign_writes(world: SeedWorld) -> None:
    """Somebody else's records are counted: a stop, a warning in each run that finds some, or only a record of them."""
    world.copy_by_hand(*world.numbered(3, 500))
    error = stops(world, ForeignWrites)
    assert error.facts["records"] == 3
    world.write(5, first=10)
    world.commit("app", 10)
    assert any("somebody else wrote" in text for text in world.run(on_foreign_writes="warn").warnings)
    world.copy_by_hand(*world.numbered(2, 600))
    world.write(5, first=15)
    summary = world.run(on_foreign_writes="accept", sync_group_offsets=True)
    assert not any("somebody else wrote" in text for text in summary.warnings)
    assert world.values() == [*range(10), 500, 501, 502, *range(10, 15), 600, 601, *range(15, 20)]
    assert world.values_from(world.target_offsets("app")[0])[-12:-7] == list(range(10, 15))
    (incident,) = status(world)["incidents"]
    assert (incident["records"], incident["times"]) == (5, 2)
    assert world.run(on_foreign_writes="warn").warnings == ()


def test_a_writer_that_never_stops(world: SeedWorld) -> None:
    """Records of a stranger between ours, even inside a chunk, leave the map exact where the flow accepts them."""
    append = world.pair.eu.log(TopicPartition("us.orders", 0)).append
    copied = 0

    def beside(message: Any, transaction: Any = None) -> int:
        nonlocal copied
        copied += 1
        offset = append(message, transaction)
        if copied % 7 == 0:
            append(world.numbered(1, 5000 + copied)[0])
        return offset

    world.pair.eu.log(TopicPartition("us.orders", 0)).append = beside  # type: ignore[method-assign]
    world.write(50, first=10)
    for offset in range(10, 60):
        world.commit(f"g{offset}", offset)
    with pytest.raises(MirrorError):
        world.run()
    world.run(on_foreign_writes="accept", sync_group_offsets=True)
    ours = [value for value in world.values() if value < 1000]
    assert ours == list(range(60))
    for offset in range(10, 60):
        following = world.values_from(world.target_offsets(f"g{offset}")[0])
        assert [value for value in following if value < 1000] == list(range(offset, 60))
