"""A drill on fakes: what it leaves when it dies anywhere, and the next one takes away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.drill import drill as drill_module
from airflow_provider_mm2.mirror.drill.drill import Drill, DrillOrder
from airflow_provider_mm2.mirror.drill.report import DrillReport
from airflow_provider_mm2.mirror.errors import ClusterUnreachable, DrillClash, NotAuthorized
from airflow_provider_mm2.mirror.model import TopicAcl
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.mirror.recovery.work import Report
from tests.fakes.applications import FakeApplications
from tests.fakes.pair import FakePair
from tests.mirror.drill.game_world import GameWorld
from tests.mirror.offsets.group_world import Killed
from tests.mirror.recovery.failover_world import no_tick

CHANGES = ("create_topics", "delete_topics", "commit_groups", "delete_group", "fence", "write", "commit")


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Applications on fakes write all at once: there is nothing to give time to."""
    monkeypatch.setattr(drill_module, "AFTER_S", 0)


class Life:
    """The life of a process, which ends before or after its ``number``-th change; 0: it does not."""

    def __init__(self, number: int = 0, *, after: bool = False) -> None:
        self.made = 0
        self.number = number
        self.after = after
        self.calls: list[str] = []

    @property
    def is_over(self) -> bool:
        """Whether nothing is done any more."""
        return 0 < self.number <= self.made


class Dying:
    """A port that changes nothing any more once the process is dead."""

    def __init__(self, inner: Any, life: Life) -> None:
        self._inner = inner
        self._life = life

    def __getattr__(self, name: str) -> Any:
        """The port's own attribute; calls that change something are counted."""
        found = getattr(self._inner, name)
        if name == "state_writer":
            return lambda *args: Dying(found(*args), self._life)
        return self._counted(name, found) if name in CHANGES else found

    def _counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            if self._life.is_over:
                raise Killed
            self._life.made += 1
            self._life.calls.append(name)
            if self._life.is_over and not self._life.after:
                raise Killed
            answer = call(*args, **kwargs)
            if self._life.is_over:
                raise Killed
            return answer

        return counted


class DyingPair:
    """A pair in the hands of a process that dies."""

    def __init__(self, pair: FakePair, life: Life) -> None:
        self._pair = pair
        self._life = life
        self.source = pair.source
        self.target: Any = Dying(pair.target, life)

    def copier(self, settings: Any) -> Any:
        """A copy engine of the same process."""
        return Dying(self._pair.copier(settings), self._life)

    def turned(self) -> Any:
        """The same the other way round."""
        return DyingPair(self._pair.turned(), self._life)

    def close(self) -> None:
        """Nothing to let go."""


def run_drill(
    world: GameWorld, pair: Any = None, *, tick: Tick = no_tick, say: Report = lambda line: None, **order: Any
) -> DrillReport:
    """One drill, without any load but the first burst."""
    applications = {"us": FakeApplications(world.pair.us), "eu": FakeApplications(world.pair.eu)}
    at_work = Drill(world.flow, pair or world.pair, applications, owner="ops", tick=tick, report=say)
    return at_work.run(DrillOrder(**{"mode": Mode.UNPLANNED, "load_s": 0, **order}))


def world_with_rules() -> GameWorld:
    """A flow between clusters that keep access rules."""
    world = GameWorld()
    rule = TopicAcl(name="orders", prefixed=False, principal="User:a", host="*", operation="READ", permission="ALLOW")
    world.pair.us.acls, world.pair.eu.acls = {rule}, {replace_name(rule, "us.orders")}
    return world


def replace_name(rule: TopicAcl, name: str) -> TopicAcl:
    """The same rule of another topic."""
    return TopicAcl(
        name=name,
        prefixed=rule.prefixed,
        principal=rule.principal,
        host=rule.host,
        operation=rule.operation,
        permission=rule.permission,
    )


@pytest.mark.parametrize("failback", [False, True])
@pytest.mark.thorough
def test_no_trace(*, failback: bool) -> None:
    """Topics, groups and access rules of both clusters are after a drill what they were before."""
    world = world_with_rules()
    before = world.there()
    report = run_drill(world, failback=failback)
    assert (report.passed, report.left_behind) == (True, ())
    assert world.there() == before
    home = report.to_json()["failback"]
    assert (home is not None) == failback
    if home is not None:
        # two topics of three partitions with five records each, and two groups
        assert home == {"records": 30, "records_wrong": 0, "positions": 12, "positions_wrong": 0}


def test_lines_that_worry_nobody() -> None:
    """Nobody is asked for a word in a drill, and no group is waited for: no line says so."""
    lines: list[str] = []
    run_drill(GameWorld(), say=lines.append)
    assert [line for line in lines if "approval" in line] == ["step 6, approval: given"]
    assert not [line for line in lines if "word of a person" in line or "seen at work" in line]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.thorough
def test_killed_at_every_change(*, after: bool) -> None:
    """Wherever a drill dies, after the next one all topics, groups and access rules are what they were before."""
    life = Life()
    world = world_with_rules()
    run_drill(world, DyingPair(world.pair, life))
    assert life.made > 30
    assert set(life.calls) == set(CHANGES)
    for number in range(1, life.made + 1):
        world = world_with_rules()
        before = world.there()
        with pytest.raises(Killed):
            run_drill(world, DyingPair(world.pair, Life(number, after=after)))
        world.pair.clock.advance(120)
        assert world.game_day().passed
        assert world.there() == before, (number, life.calls[number - 1])


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_game_day_killed_at_every_change(*, after: bool) -> None:
    """The same of a game day, which makes nothing on the source at all."""
    life = Life()
    world = world_with_rules()
    world.game_day(DyingPair(world.pair, life))
    for number in range(1, life.made + 1):
        world = world_with_rules()
        before = world.there()
        with pytest.raises(Killed):
            world.game_day(DyingPair(world.pair, Life(number, after=after)))
        assert world.there()["us"] == before["us"]
        world.pair.clock.advance(120)
        assert run_drill(world).passed if number == life.made else world.game_day().passed
        assert world.there() == before, (number, life.calls[number - 1])


class Forbidding(Dying):
    """A port whose user lacks the right to one kind of change."""

    def __init__(self, inner: Any, name: str) -> None:
        super().__init__(inner, Life())
        self._name = name

    def _counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def refused(*args: Any, **kwargs: Any) -> Any:
            raise NotAuthorized(alias="us", operation=name, problem="an ACL is missing")

        return refused if name == self._name else call


class ForbiddingPair(DyingPair):
    """A pair whose source refuses one kind of change."""

    def __init__(self, pair: FakePair, name: str) -> None:
        super().__init__(pair, Life())
        self._name = name

    def turned(self) -> Any:
        """The source as it is written to."""
        turned = DyingPair(self._pair.turned(), Life())
        turned.target = Forbidding(self._pair.turned().target, self._name)
        return turned


@pytest.mark.parametrize("name", ["create_topics", "commit_groups"])
def test_a_right_is_missing(name: str) -> None:
    """What was made before a right turned out to be missing is taken away at once, the lock group too."""
    world = world_with_rules()
    before = world.there()
    with pytest.raises(NotAuthorized):
        run_drill(world, ForbiddingPair(world.pair, name))
    assert world.there() == before


def test_a_source_that_is_down() -> None:
    """A drill and a game day are refused before anything is made on the target."""
    world = world_with_rules()
    before = world.there()
    world.pair.us.reachable = False
    for attempt in (run_drill, GameWorld.game_day):
        with pytest.raises(ClusterUnreachable):
            attempt(world)
    world.pair.us.reachable = True
    assert world.there() == before


@pytest.mark.parametrize(
    ("topic", "where"),
    [("mm2-drill.f.plain", "us"), ("mm2-drill.f.transactions", "us"), ("us.mm2-drill.f.plain", "eu")],
)
def test_names_that_are_taken(topic: str, where: str) -> None:
    """A real topic of a drill's name, on either side, is named and not touched."""
    world = world_with_rules()
    cluster = world.pair.us if where == "us" else world.pair.eu
    cluster.create_topic(topic)
    cluster.commit_offsets("mm2-drill.f.classic", {})
    before = world.there()
    with pytest.raises(DrillClash) as caught:
        run_drill(world)
    assert caught.value.topics == (f"{topic} on {where}",)
    assert world.there() == before
