"""A process that dies anywhere on the way home: whoever comes next ends in the same state."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from airflow_provider_mm2.mirror.model import CopierSettings, TopicPartition
from airflow_provider_mm2.mirror.recovery.failback import Failback
from airflow_provider_mm2.mirror.recovery.failback_report import PREPARED
from airflow_provider_mm2.mirror.recovery.steps import Mode, Stage
from airflow_provider_mm2.mirror.state.stranded_notes import Stranded
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.hypothesis_profiles import is_long
from tests.mirror.offsets.group_world import Killed, Trapped
from tests.mirror.recovery.failover_world import no_tick, order
from tests.mirror.recovery.home_world import HomeWorld

pytestmark = pytest.mark.thorough


class TrappedHome:
    """Both clusters of the way home; the process dies at the ``number``-th change on either. Counts the changes."""

    def __init__(self, inner: Any, trap: Callable[[], bool], *, after: bool) -> None:
        self._inner, self._trap, self._after = inner, trap, after
        self.source: Any = inner.source
        self.target: Any = Trapped(inner.target, trap, after=after)

    def copier(self, settings: CopierSettings) -> Any:
        """A copier that is trapped, too."""
        return Trapped(self._inner.copier(settings), self._trap, after=self._after)

    def turned(self) -> TrappedHome:
        """The other direction."""
        return TrappedHome(self._inner.turned(), self._trap, after=self._after)

    def close(self) -> None:
        """Nothing to let go."""


def world_of(delivery: Delivery) -> HomeWorld:
    """Five records are stranded, and six were written on the other side."""
    world = HomeWorld(delivery=delivery)
    world.produce(5)
    world.fail_over(Mode.UNPLANNED)
    world.write(world.pair.eu, world.away, 6)
    world.pair.eu.commit_offsets("idle", {TopicPartition(world.away, 0): 103})
    return world


def come_home(world: HomeWorld, pair: Any, owner: str) -> None:
    """Go on with what is there, or begin, as a person would."""
    homeward = world.homeward(pair)
    homeward.owner = owner
    coming = Failback(world.flow, pair, owner=owner, tick=no_tick, report=lambda line: None)
    stage = world.stage_of_the_way()
    if stage is Stage.CLOSED:
        return
    if stage is not None and stage.is_open:
        homeward.resume(approve=True)
        return
    assert coming.prepare(Stranded.COPY).state == PREPARED
    homeward.start(order(), approve=True)


def killed_at(world: HomeWorld, number: int, *, after: bool) -> int:
    """Come home until the ``number``-th change; gives how many there were."""
    made = count(1)
    seen = 0

    def trap() -> bool:
        nonlocal seen
        seen = next(made)
        return seen == number

    come_home(world, TrappedHome(world.pair.turned(), trap, after=after), "first")
    return seen


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("delivery", list(Delivery))
def test_killed_anywhere_and_gone_on_with(delivery: Delivery, *, after: bool) -> None:
    """Nothing is home twice, no stranded record is copied twice, and the flow goes on."""
    total = killed_at(world_of(delivery), 0, after=after)
    assert total > 30
    step = 1 if is_long() or delivery is Delivery.EXACTLY_ONCE else 5
    for number in range(1, total + 1, step):
        world = world_of(delivery)
        with pytest.raises(Killed):
            killed_at(world, number, after=after)
        world.pair.clock.advance(120)
        come_home(world, world.pair.turned(), "second")
        check(world, number, exactly=delivery is Delivery.EXACTLY_ONCE)


def check(world: HomeWorld, number: int, *, exactly: bool) -> None:
    """All of it is there once (or, without transactions, at least once), and groups stand where they read on."""
    stranded, new = list(range(100, 105)), list(range(105, 111))
    home, away = world.home(), world.values(world.pair.eu, world.away)
    if exactly:
        assert home == [*range(100), *stranded, *new, *stranded], number
        assert away == [*range(100), *new, *stranded], number
        next_of = {offset: message.value for offset, message in world.pair.us.visible("orders", 0)}
        assert next_of[world.pair.us.groups["idle"][TopicPartition("orders", 0)]] == b"106", number
    else:
        assert set(home) == set(away) == set(range(111)), number
    assert world.is_runnable(), number
    world.produce(2)
    world.run()
    assert world.values(world.pair.eu, world.away)[-2:] == [111, 112], number
    assert world.failover().status().state == Stage.FAILED_BACK.value, number
