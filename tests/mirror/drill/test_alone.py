"""One drill of a flow at a time; and what is taken away when it is asked to stop, or was somebody's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.membership import Membership
from airflow_provider_mm2.mirror.clusters.selection import select_topics
from airflow_provider_mm2.mirror.drill import alone
from airflow_provider_mm2.mirror.drill import drill as drill_module
from airflow_provider_mm2.mirror.drill import flow as drill_flows
from airflow_provider_mm2.mirror.drill.files import check_writable
from airflow_provider_mm2.mirror.errors import (
    DrillClash,
    DrillUnderWay,
    FileNotWritable,
    NoDrillOfReverse,
    OptionsDisagree,
    Stopped,
)
from airflow_provider_mm2.mirror.group_model import GroupKind, GroupListing
from airflow_provider_mm2.mirror.model import NewTopic, TopicPartition
from airflow_provider_mm2.mirror.offsets.positions import select_groups
from airflow_provider_mm2.mirror.reverse_flow import reverse_of
from tests.fakes.log import Message
from tests.mirror.drill.game_world import GameWorld
from tests.mirror.drill.test_traces import DyingPair, Life, run_drill, world_with_rules
from tests.mirror.offsets.group_world import Killed

pytestmark = pytest.mark.thorough

PART = TopicPartition("orders", 0)
JOURNAL, LEASE = "mm2-drill.f.internal", "mm2.f.drill.lease"
HELD: tuple[Callable[..., Any], ...] = (run_drill, GameWorld.game_day)


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Applications on fakes write all at once, and nobody else needs long."""
    monkeypatch.setattr(drill_module, "AFTER_S", 0)
    monkeypatch.setattr(drill_flows, "WAIT_SESSIONS", 0.2)
    monkeypatch.setattr(alone, "LOOK_S", 0.05)


def another(world: GameWorld) -> Membership:
    """Somebody who holds a drill of the flow."""
    world.pair.target.create_topics([NewTopic(name=JOURNAL, partitions=1, replication_factor=None, settings={})])
    member = world.pair.target.membership(LEASE, JOURNAL, "colleague", 6)
    while not member.held:
        member.poll(0.1)
    return member


@pytest.mark.parametrize("hold", HELD, ids=["drill", "game day"])
def test_another_is_at_work(hold: Callable[..., Any]) -> None:
    """Whoever comes second is told who is at work, and has made nothing."""
    world = world_with_rules()
    another(world)
    before = world.there()
    with pytest.raises(DrillUnderWay, match="colleague"):
        hold(world)
    assert world.there() == before


@pytest.mark.parametrize("hold", HELD, ids=["drill", "game day"])
def test_another_ends_meanwhile(hold: Callable[..., Any]) -> None:
    """It takes its note away and leaves: whoever waited has its turn, on a note of its own."""
    world = world_with_rules()
    before = world.there()
    member = another(world)
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        if ticks == 3:
            world.pair.target.delete_topics([JOURNAL])
            member.leave()

    assert hold(world, tick=tick).passed
    assert ticks > 3
    assert world.there() == before


@pytest.mark.parametrize("hold", HELD, ids=["drill", "game day"])
def test_asked_to_stop(hold: Callable[..., Any]) -> None:
    """Wherever it is asked to stop, all that was made is taken away, the lock group too."""
    heard = 0

    def count() -> None:
        nonlocal heard
        heard += 1

    hold(world_with_rules(), tick=count)
    for number in range(1, heard, max(1, heard // 12)):
        world = world_with_rules()
        before, left = world.there(), number

        def tick() -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Stopped

        with pytest.raises(Stopped):
            hold(world, tick=tick)
        assert world.there() == before, number


def test_a_dead_note_is_no_claim_to_a_strangers_group() -> None:
    """What a dead drill noted are its own groups: one of such a name that it did not make is refused, and stays."""
    life = Life()
    world = world_with_rules()
    run_drill(world, DyingPair(world.pair, life))
    for hold in HELD:
        world = world_with_rules()
        before = world.there()
        with pytest.raises(Killed):
            run_drill(world, DyingPair(world.pair, Life(life.made // 2)))
        world.pair.us.commit_offsets("mm2-drill.f.mine", {PART: 3})
        world.pair.clock.advance(120)
        with pytest.raises(DrillClash) as caught:
            hold(world)
        assert caught.value.groups == ("mm2-drill.f.mine on us",)
        assert world.pair.us.groups.pop("mm2-drill.f.mine") == {PART: 3}
        assert hold(world).passed
        assert world.there() == before


@pytest.mark.parametrize("topic", [JOURNAL, "mm2-flow.f.drill.internal", "mm2-offset-map.f.drill.internal"])
def test_a_strangers_topic_of_a_drills_state(topic: str) -> None:
    """It was there before any drill noted itself, with records: refused by name, and not touched."""
    world = world_with_rules()
    world.pair.eu.create_topic(topic)
    world.pair.eu.produce(topic, 0, Message(key=b"k", value=b"v", timestamp_ms=1))
    before = world.there()
    for hold in HELD:
        with pytest.raises(DrillClash) as caught:
            hold(world)
        assert caught.value.topics == (f"{topic} on eu",)
    assert world.there() == before


def test_a_topic_of_the_notes_name_on_the_source() -> None:
    """No drill makes one there: it is somebody's own, no trace, and stays."""
    world = world_with_rules()
    world.pair.us.create_topic(JOURNAL)
    before = world.there()
    report = run_drill(world)
    assert (report.passed, report.left_behind) == (True, ())
    assert world.there() == before


def test_a_real_flow_does_without_drills() -> None:
    """Topics and groups of a drill, its own or another flow's, are nothing that a flow with broad patterns takes."""
    world = GameWorld()
    flow = world.flow.model_copy(update={"topics": (".*",), "groups": (".*",), "groups_exclude": ()})
    policy = naming.policy_of(flow)
    names = ("orders", "mm2-drill.f.plain", "mm2-drill.other.transactions", "eu2.mm2-drill.f.plain")
    assert set(select_topics(flow, policy, names).topics) == {"orders"}
    listed = [GroupListing(name=name, kind=GroupKind.CLASSIC) for name in ("app", "mm2-drill.f.classic")]
    selected, left_out = select_groups(flow, listed)
    assert selected == ["app"]
    assert left_out == {"mm2-drill.f.classic": "a drill's group, there for a moment"}
    drills = drill_flows.drill_flow(world.flow)
    assert set(select_topics(drills, policy, names).topics) == {"mm2-drill.f.plain"}
    home = reverse_of(drills)
    assert set(select_topics(home, naming.policy_of(home), ["us.mm2-drill.f.plain", "us.orders"]).topics) == {
        "us.mm2-drill.f.plain"
    }


def test_a_way_home_has_no_drills() -> None:
    """It is told what to do in place of it."""
    with pytest.raises(NoDrillOfReverse, match="mm2 drill f --failback"):
        drill_flows.drill_flow(reverse_of(GameWorld().flow))


def test_files_are_tried_beforehand(tmp_path: Path) -> None:
    """One that cannot be written, and two that are one, are refused before anything is drilled."""
    check_writable(json_out=tmp_path / "a", junit=None, html=str(tmp_path / "b"), history=tmp_path / "c")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotWritable, match="there is no folder"):
        check_writable(html=tmp_path / "none" / "a")
    with pytest.raises(FileNotWritable, match="it is a folder"):
        check_writable(json_out=tmp_path)
    with pytest.raises(OptionsDisagree) as caught:
        check_writable(html=tmp_path / "a", junit=tmp_path / "b", json_out=tmp_path / "a")
    assert caught.value.options == ("--html", "--json-out")
