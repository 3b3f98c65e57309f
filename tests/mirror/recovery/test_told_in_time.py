"""What changes between a plan and its approval, what is refused at once, and what is not meant for some groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_mm2.mirror.errors import NotOfTheFlow, NotReopenable, PlanChanged
from airflow_provider_mm2.mirror.recovery.failover import Failover
from airflow_provider_mm2.mirror.recovery.moves import NOTHING_LOST
from airflow_provider_mm2.mirror.recovery.repoint.factory import make_repointers
from airflow_provider_mm2.mirror.recovery.steps import Mode
from tests.mirror.recovery.failover_world import FailoverWorld, order


@pytest.fixture
def world() -> FailoverWorld:
    """Give a flow that has mirrored."""
    return FailoverWorld()


def test_written_to_between_plan_and_approval(world: FailoverWorld) -> None:
    """The proof of a quiet source is old by then: it is looked at again, and nothing is applied."""
    held = world.failover().start(order())
    assert held.to_json()["loss_window"] == NOTHING_LOST
    world.produce(2)
    with pytest.raises(PlanChanged, match="the source has grown since it was drained: orders-0 by 2"):
        world.failover().resume(approve=True)
    assert world.offsets() == {}
    world.failover().rollback()
    assert world.is_runnable()


def test_read_from_between_plan_and_approval(world: FailoverWorld) -> None:
    """A group that read on at the source would read it again: refused with both places."""
    world.failover().start(order())
    world.commit("app", 63)
    with pytest.raises(PlanChanged, match="group app, orders-0: stands at 63 on the source, was 60"):
        world.failover().resume(approve=True)
    assert world.offsets() == {}


def test_a_refusal_of_the_first_look_leaves_nothing_open(world: FailoverWorld) -> None:
    """The corrected call begins, and nobody is told that somebody else is at it."""
    with pytest.raises(NotOfTheFlow):
        world.failover().start(order(groups=("ap",)), approve=True)
    assert world.failover().status().state == "rolled back"
    assert world.failover().start(order(groups=("app",)), approve=True).state == "closed"
    with pytest.raises(NotReopenable, match="its last failover moved app alone"):
        world.failover().reopen()


def test_what_names_no_group_is_left_alone_with_some(tmp_path: Path) -> None:
    """A producer's file is not pointed at the target with the first group."""
    files = {name: tmp_path / f"{name}.properties" for name in ("everybody", "app")}
    for file in files.values():
        file.write_text("bootstrap.servers=us:9092\n")
    value = {"bootstrap.servers": {"us": "us:9092", "eu": "eu:9092"}}
    every = {"kind": "file", "path": str(files["everybody"]), "set": value}
    world = FailoverWorld(repoint=[every, {"kind": "file", "path": str(files["app"]), "set": value, "groups": ["app"]}])

    def at_work() -> Failover:
        made = world.failover()
        made.repointers = tuple(make_repointers(world.flow))
        return made

    told = at_work().preview(order(Mode.PLANNED, groups=("app",))).warnings
    assert [line for line in told if "is left alone" in line and "everybody" in line]
    at_work().start(order(groups=("app",)), approve=True)
    assert [file.read_text() for file in files.values()] == [
        "bootstrap.servers=us:9092\n",
        "bootstrap.servers=eu:9092\n",
    ]
