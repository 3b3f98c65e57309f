"""Seeding as a task, on the in-memory pair: shown or written, refused, templates as text."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.operators import flow_task
from airflow_provider_mm2.operators.seed import ROWS_IN_XCOM, SeedOffsetsOperator
from airflow_provider_mm2.version_compat import AirflowFailException
from tests.mirror.interval.seed_world import SeedWorld
from tests.operators.task_context import task_context


@pytest.fixture
def make_world(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make a topic of ten records on the source, and have the operator connect to it."""

    def make(partitions: int = 1) -> SeedWorld:
        made = SeedWorld(partitions=partitions)
        made.write(10)
        monkeypatch.setattr(flow_task, "_connect", lambda flow, settings: made.pair)
        return made

    return make


def seed(world: SeedWorld, **arguments: Any) -> dict[str, Any]:
    """Run the task."""
    task = SeedOffsetsOperator(**{"task_id": "seed", "flow": world.flow, "seed_from": "latest", **arguments})
    result: dict[str, Any] = task.execute(task_context())
    return result


def test_shown_first_and_written_when_asked(make_world: Any) -> None:
    """Without ``apply`` nothing is written; with it progress is set, and once it is, nothing changes any more."""
    world = make_world()
    assert seed(world)["partitions"] == [
        {"topic": "orders", "partition": 0, "old": None, "new": 10, "reason": "the source's end"}
    ]
    assert world.progress() is None
    assert seed(world, apply="True")["changes"] == 1
    assert world.progress() == 10
    again = seed(world, apply=True)
    assert (again["applied"], again["changes"]) == (True, 0)


def test_a_refused_seed_fails_for_good(make_world: Any) -> None:
    """What would be copied once more is told in the failure, which no retry changes; ``force`` takes it."""
    world = make_world()
    seed(world, apply=True)
    for apply in (False, True):
        with pytest.raises(AirflowFailException, match="copies 10 record") as caught:
            seed(world, seed_from="earliest", apply=apply)
        assert "give the task another seed_from= or topics=, or force=True if" in str(caught.value)
        assert "--" not in str(caught.value).partition("Next move")[2]
    assert seed(world, seed_from="earliest", apply=True, force="true")["changes"] == 1
    assert world.progress() == 0


@pytest.mark.parametrize("arguments", [{"seed_from": "first"}, {"apply": "perhaps"}, {"topics": "orders others"}])
def test_arguments_that_cannot_be_meant(make_world: Any, arguments: dict[str, Any]) -> None:
    """A kind, a switch or a topic that is none is refused, and nothing is written."""
    world = make_world()
    with pytest.raises(AirflowFailException, match="Next move: "):
        seed(world, **{"apply": True, **arguments})
    assert world.pair.eu.topics == {}


def test_what_goes_to_xcom_is_bounded(make_world: Any) -> None:
    """A flow of many partitions returns some of them, and how many there are to change."""
    world = make_world(ROWS_IN_XCOM + 50)
    result = seed(world)
    assert len(result["partitions"]) == ROWS_IN_XCOM
    assert result["changes"] == ROWS_IN_XCOM + 50
