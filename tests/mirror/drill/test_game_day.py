"""Game days: what a failover would come to now, by copies of the groups, nothing real written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from airflow_provider_mm2.mirror.drill.page import html_page, junit_xml
from airflow_provider_mm2.mirror.drill.report import DrillReport
from airflow_provider_mm2.mirror.drill_settings import DrillSettings
from airflow_provider_mm2.mirror.errors import (
    ArgumentRefused,
    DrillClash,
    FailoverUnderWay,
    FlowFrozen,
    FlowNotPrepared,
    GroupsNotMirrored,
    MirrorError,
    NothingMirrored,
    NotOfTheFlow,
)
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.fakes.applications import FakeCopyReaders
from tests.fakes.log import Entry
from tests.mirror.drill.game_world import GameWorld
from tests.mirror.offsets.group_world import GroupWorld, Killed
from tests.mirror.recovery.failover_world import order

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "drill-1.json").read_text("utf-8"))
NUMBERS = ("lost", "repeated", "skipped", "reordered", "unlike")


def numbers(report: DrillReport, group: str = "app", partition: int = 0) -> dict[str, Any]:
    """What is told of one group on one partition."""
    document = report.to_json()
    (found,) = (each for each in document["groups"] if each["group"] == group)
    (place,) = (each for each in found["positions"] if each["partition"] == partition)
    return {"read": place["read"], **{name: place[name] for name in NUMBERS if place[name]}}


def entry_at(world: GameWorld, number: int) -> tuple[int, Entry]:
    """The place in the target's log of the copy of one record."""
    entries = world.pair.eu.log(TopicPartition("us.orders", 0)).entries
    places = [place for place, entry in enumerate(entries) if entry.message is not None]
    return places[number], entries[places[number]]


def test_all_is_there() -> None:
    """Each group would read what it has not read, once; the document is by its schema; both clusters are as before."""
    world = GameWorld()
    before = world.there()
    report = world.game_day()
    assert world.there() == before
    document = report.to_json()
    assert [document[name] for name in ("mode", "passed", "rpo_records", "rpo_s")] == ["game-day", True, 0, 0.0]
    assert (document["written"], document["mirrored"]) == (100, 100)
    assert (numbers(report), numbers(report, "idle")) == ({"read": 40}, {"read": 0})
    (app, idle) = document["groups"]
    (place,) = app["positions"]
    assert (place["source_offset"], place["source_now"], place["exact"], place["compared"]) == (60, 60, True, 40)
    assert len(place["digest"]) == 64
    assert (idle["read_after"], idle["rto_s"], idle["positions"][0]["digest"]) == (0, None, None)
    assert app["rto_s"] == document["rto_s"] is not None
    counted = [phase["name"] for phase in document["phases"] if phase["counts_for_rto"]]
    assert counted == ["plan and translate", "commit copies", "first record read"]
    assert document["warnings"][0].startswith("by the last run, which read the groups ")
    jsonschema.validate(json.loads(json.dumps(document)), SCHEMA)
    page = html_page(document)
    assert 'data-path="groups.0.positions.0.unlike"' in page
    assert document["warnings"][0] in page
    assert page.count("<figure") == 2
    assert document["warnings"][0] in junit_xml(document)
    for words in (
        "Game day of flow f",
        ">compared</th>",
        "of the source, compared",
        "Topics and groups are the real ones",
    ):
        assert words in page
    for words in ("Drill of flow", "read before", "are its own"):
        assert words not in page
    assert 'name="game day of flow f"' in junit_xml(document)


def test_what_the_source_has_beyond() -> None:
    """Records behind the last run are the loss: of the flow, and of each group that has not read them."""
    world = GameWorld()
    world.produce(30)
    world.commit("idle", 110)
    report = world.game_day()
    assert (report.rpo_records, report.passed) == (30, True)
    assert report.rpo_s > 0
    assert numbers(report) == {"read": 40, "lost": 30}
    assert numbers(report, "idle") == {"read": 0, "lost": 20}
    cut = world.game_day(limit_records=10)
    assert cut.rpo_records == 30
    (told,) = (text for text in cut.warnings if "offsets were counted" in text)
    assert told.endswith("(--limit-records 10): orders-0 (10 read, 30 at most)")
    world.flow = world.flow.model_copy(update={"drill": DrillSettings(lost=29)})
    assert not world.game_day().passed


def test_groups_that_went_on() -> None:
    """What a group has read since the last run it would read again: told, and a limit only where one is set."""
    world = GameWorld()
    world.commit("app", 75)
    report = world.game_day(groups=("app",))
    assert (numbers(report), report.passed) == ({"read": 40, "repeated": 15}, True)
    assert [each.group for each in report.groups] == ["app"]
    cut = world.game_day(groups=("app",), limit_records=10)
    assert numbers(cut) == {"read": 10, "repeated": 15}
    (told,) = (text for text in cut.warnings if "a limit ended the reading (--limit-records 10, 256 MiB" in text)
    assert told.endswith(": group app orders-0 (10 read)")
    world.flow = world.flow.model_copy(update={"drill": DrillSettings(repeated=14)})
    assert not world.game_day().passed


def test_a_group_that_was_set_back() -> None:
    """A group that was set back on the source since would never read what lies between."""
    world = GameWorld()
    world.commit("app", 45)
    report = world.game_day()
    assert (numbers(report), report.passed) == ({"read": 40, "skipped": 15}, False)


def test_a_target_that_is_not_as_the_source() -> None:
    """A copy that says something else, one that is gone, two that changed places: each is found and told."""
    world = GameWorld()
    entries = world.pair.eu.log(TopicPartition("us.orders", 0)).entries
    place, entry = entry_at(world, 70)
    assert entry.message is not None
    entries[place] = replace(entry, message=replace(entry.message, value=b"other"))
    report = world.game_day()
    assert (numbers(report), report.passed) == ({"read": 40, "unlike": 1}, False)
    assert any(text.startswith("group app: changed: orders-0, 1 record(s)") for text in report.warnings)
    place, entry = entry_at(world, 90)
    del entries[place]
    assert numbers(world.game_day()) == {"read": 39, "lost": 1, "unlike": 2}


def test_what_has_expired_on_the_target() -> None:
    """Retention took what the group has not read: that is lost to it, and the rest it would read."""
    world = GameWorld()
    _, entry = entry_at(world, 70)
    world.pair.eu.advance_log_start("us.orders", 0, entry.offset)
    report = world.game_day()
    assert numbers(report) == {"read": 30, "lost": 10}
    assert any("group app, orders-0: not exact: expired on target" in text for text in report.warnings)


def test_partitions_without_a_position() -> None:
    """A group that has committed on one of two partitions has a copy that reads that one alone."""
    world = GameWorld(partitions=2)
    world.produce(20, partition=1)
    world.run()
    report = world.game_day()
    assert numbers(report) == {"read": 40}
    (app, _) = report.to_json()["groups"]
    places = [(place["partition"], place["target_offset"], place["reason"]) for place in app["positions"]]
    assert places == [(0, 61, None), (1, None, "no commit on source")]
    assert report.passed
    (told,) = (text for text in report.warnings if text.startswith("no position on the target"))
    assert ": group app orders-1, group idle orders-1; consumers would begin there" in told
    assert "no commit on source" in html_page(report.to_json())
    jsonschema.validate(json.loads(json.dumps(report.to_json())), SCHEMA)


def test_what_is_not_mirrored_of_a_partition_without_a_position() -> None:
    """It is the flow's loss, and no group's."""
    world = GameWorld(partitions=2)
    world.produce(20, partition=1)
    world.run()
    world.produce(7, partition=1)
    report = world.game_day()
    assert (report.rpo_records, [group.lost for group in report.groups]) == (7, [0, 0])


def test_many_cuts_are_one_warning() -> None:
    """However many partitions a limit cuts: one line, with the first of them and how many more there are."""
    world = GameWorld(partitions=9)
    for partition in range(1, 9):
        world.produce(20, partition=partition)
        world.commit("app", 5, partition=partition)
    world.run()
    (told,) = (text for text in world.game_day(limit_records=2).warnings if "ended the reading" in text)
    assert told.endswith("group app orders-4 (2 read) and 4 more")


def test_nobody_has_anything_to_read() -> None:
    """Groups that are at the mirrored end have no RTO of their own; the flow's ends when their copies stand there."""
    report = GameWorld().game_day(groups=("idle",))
    document = report.to_json()
    assert (report.passed, document["groups"][0]["rto_s"]) == (True, None)
    assert document["rto_s"] is not None
    assert "first record read" not in [phase["name"] for phase in document["phases"]]


def test_a_compacted_topic() -> None:
    """What the target's cleaner took is no loss: a later record of its key is there."""
    world = GameWorld()
    for cluster, topic in ((world.pair.us, "orders"), (world.pair.eu, "us.orders")):
        cluster.topics[topic].settings["cleanup.policy"] = "compact"
    world.pair.eu.compact("us.orders", 0)
    report = world.game_day(groups=("app",))
    assert (numbers(report), report.passed) == ({"read": 1}, True)


def test_delivered_at_least_once() -> None:
    """Without transactions a game day does without, too."""
    world = GameWorld(delivery=Delivery.AT_LEAST_ONCE)
    before = world.there()
    report = world.game_day()
    assert (numbers(report), report.passed) == ({"read": 40}, True)
    assert world.there() == before


def test_mm2_keeps_its_syncs_on_the_source() -> None:
    """K80: MirrorMaker 2's offset syncs on the source are out of reach once it is gone, and the report says so."""
    world = GameWorld()
    assert not any("checkpoints alone" in text for text in world.game_day().warnings)
    world.pair.us.create_topic("mm2-offset-syncs.eu.internal")
    (warning,) = (text for text in world.game_day().warnings if "checkpoints alone" in text)
    assert "mm2-offset-syncs.eu.internal on us" in warning


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"topics": ("users",)}, NotOfTheFlow),
        ({"groups": ("nobody",)}, NotOfTheFlow),
        ({"groups": ("elsewhere",)}, GroupsNotMirrored),
        ({"limit_records": 0}, ArgumentRefused),
    ],
)
def test_refused(asked: dict[str, Any], error: type[MirrorError]) -> None:
    """What is not the flow's is refused before anything is made."""
    world = GameWorld()
    world.pair.us.create_topic("other")
    world.commit("elsewhere", 0, topic="other")
    world.run()
    before = world.there()
    with pytest.raises(error):
        world.game_day(**asked)
    assert world.there() == before


def test_refused_without_a_mirror() -> None:
    """A flow that never ran, or never read the groups, has nothing to try."""
    world = GameWorld()
    bare = GroupWorld()
    world.pair, world.flow = bare.pair, bare.flow
    with pytest.raises(FlowNotPrepared):
        world.game_day()
    world.produce(5)
    world.run()
    with pytest.raises((NothingMirrored, GroupsNotMirrored)):
        world.game_day()
    assert not [name for name in world.pair.eu.topics if "drill" in name]


def test_refused_while_it_fails_over() -> None:
    """Neither while a failover is open nor once the target is the active side."""
    world = GameWorld()
    world.failover().start(order(skip_repoint=True))
    before = world.there()
    with pytest.raises(FailoverUnderWay):
        world.game_day()
    world.failover().resume(approve=True)
    with pytest.raises(FlowFrozen):
        world.game_day()
    assert world.there()["us"] == before["us"]
    assert not [name for name in world.pair.eu.topics if "drill" in name]


def test_somebodys_own_group() -> None:
    """A group of a drill's name that no drill made is not touched, and the game day is refused."""
    world = GameWorld()
    world.set_target("mm2-drill.f.copy.app", 7)
    before = world.there()
    with pytest.raises(DrillClash) as caught:
        world.game_day()
    assert caught.value.groups == ("mm2-drill.f.copy.app on eu",)
    assert world.there() == before


class Deadly(FakeCopyReaders):
    """Consumers in the midst of which the process dies."""

    def copy_reader(self, *args: Any, **kwargs: Any) -> Any:
        """Die."""
        raise Killed


def leave_dead(world: GameWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold one that dies and leaves all it made."""
    with monkeypatch.context() as dead:
        dead.setattr("airflow_provider_mm2.mirror.drill.traces.Traces.clean", lambda *_, **__: None)
        with pytest.raises(Killed):
            world.game_day(readers=Deadly(world.pair.eu))
    assert "mm2-drill.f.copy.app" in world.pair.eu.groups


def test_a_dead_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The copies that a dead game day left the next one takes away."""
    world = GameWorld()
    before = world.there()
    leave_dead(world, monkeypatch)
    assert world.game_day().passed
    assert world.there() == before


def drills_left(world: GameWorld) -> list[str]:
    """Topics and groups of drills on the target."""
    return sorted(name for name in (*world.pair.eu.topics, *world.pair.eu.groups) if "drill" in name)


def test_a_refused_one_takes_away_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is refused takes a dead one's copies away: once a flow has failed over none is held any more."""
    world = GameWorld()
    before = world.there()
    leave_dead(world, monkeypatch)
    with pytest.raises(NotOfTheFlow):
        world.game_day(groups=("nobody",))
    assert world.there() == before
    leave_dead(world, monkeypatch)
    world.failover().start(order(skip_repoint=True), approve=True)
    assert drills_left(world)
    with pytest.raises(FlowFrozen):
        world.game_day()
    assert not drills_left(world)


def test_a_refused_one_beside_a_drill_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody is at work with is left to them; the refusal is the one that was to be told."""
    world = GameWorld()
    leave_dead(world, monkeypatch)
    left = drills_left(world)
    monkeypatch.setattr("airflow_provider_mm2.mirror.drill.game_day.FREE_S", 0.3)
    other = world.pair.target.membership("mm2.f.drill.lease", "mm2-drill.f.internal", "somebody", 10)
    other.poll(0)
    with pytest.raises(NotOfTheFlow):
        world.game_day(groups=("nobody",))
    assert drills_left(world) == left
    other.leave()
    with pytest.raises(NotOfTheFlow):
        world.game_day(groups=("nobody",))
    assert not drills_left(world)
