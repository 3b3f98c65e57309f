"""A process that dies anywhere in a failover or a rollback: whoever comes next ends in the same state."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.recovery.failover import Failover
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.mirror.state_model import ActiveSide, Delivery
from tests.mirror.offsets.group_world import Killed, Trapped
from tests.mirror.recovery.failover_world import FailoverWorld, order

pytestmark = pytest.mark.thorough

PART, THEIRS = TopicPartition("us.orders", 0), TopicPartition("theirs", 0)


class TrappedPair:
    """A pair whose process dies at the ``number``-th change on the target; counts the changes."""

    def __init__(self, world: FailoverWorld, number: int, *, after: bool) -> None:
        self.made = 0
        self._number = number
        self.source = world.pair.source
        self.copier = world.pair.copier
        self.target: Any = Trapped(world.pair.target, self._count, after=after)

    def _count(self) -> bool:
        self.made += 1
        return self.made == self._number

    def close(self) -> None:
        """Nothing to let go."""


def world_of(delivery: Delivery = Delivery.EXACTLY_ONCE) -> FailoverWorld:
    """A flow whose group ``app`` was on the target before, and reads a topic of others there."""
    world = FailoverWorld()
    world.pair.eu.create_topic("theirs", 1)
    world.set_target("app", 10, once_used=True)
    world.pair.eu.commit_offsets("app", {THEIRS: 5})
    return world


def changes_of(act: Callable[[Failover], Any], world: FailoverWorld) -> int:
    """How many changes an act makes when nobody kills it."""
    pair = TrappedPair(world, 0, after=False)
    act(world.failover(pair))
    return pair.made


def to_the_end(world: FailoverWorld, mode: Mode) -> None:
    """Start, or go on with what is there, as a person would."""
    failover = world.failover(owner="second")
    if failover.status().state in ("none", "closed"):
        if failover.status().state == "none":
            failover.start(order(mode), approve=True)
        return
    failover.resume(approve=True)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("mode", list(Mode))
def test_killed_anywhere_and_resumed(mode: Mode, *, after: bool) -> None:
    """Each group's offset is the same however often it is written, and the gate is as after an undisturbed one."""
    total = changes_of(lambda failover: failover.start(order(mode), approve=True), world_of())
    assert total > 15
    for number in range(1, total + 1):
        world = world_of()
        with pytest.raises(Killed):
            world.failover(TrappedPair(world, number, after=after)).start(order(mode), approve=True)
        world.pair.clock.advance(120)
        to_the_end(world, mode)
        assert world.offsets() == {"app": {PART: 61, THEIRS: 5}, "idle": {PART: 101}}, number
        assert (world.gate().active_side, world.gate().frozen) == (ActiveSide.TARGET, False), number


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_anywhere_and_rolled_back(*, after: bool) -> None:
    """What groups had on the target is there again, and mirror runs go on."""
    total = changes_of(lambda failover: failover.start(order(), approve=True), world_of())
    for number in range(1, total + 1):
        world = world_of()
        with pytest.raises(Killed):
            world.failover(TrappedPair(world, number, after=after)).start(order(), approve=True)
        world.pair.clock.advance(120)
        if world.failover().status().state != "running":
            continue
        world.failover(owner="second").rollback()
        assert world.offsets() == {"app": {PART: 10, THEIRS: 5}}, number
        assert world.is_runnable(), number
        world.run()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_rollback_killed_anywhere(*, after: bool) -> None:
    """A rollback that died is gone on with by the same call."""
    made = count(1)

    def almost_done() -> FailoverWorld:
        world = world_of()
        failover = world.failover()
        failover.report = lambda line: world.die(line, "step 9")
        with pytest.raises(RuntimeError):
            failover.start(order(), approve=True)
        next(made)
        return world

    total = changes_of(lambda failover: failover.rollback(), almost_done())
    for number in range(1, total + 1):
        world = almost_done()
        with pytest.raises(Killed):
            world.failover(TrappedPair(world, number, after=after)).rollback()
        world.pair.clock.advance(120)
        if world.failover().status().state != "rolled back":
            world.failover(owner="second").rollback()
        assert world.offsets() == {"app": {PART: 10, THEIRS: 5}}, number
        assert world.is_runnable(), number
