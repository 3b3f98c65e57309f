"""The numbers of a game day where a mirror, a group or a log is not as usual, each against what is known to be so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from airflow_provider_mm2.mirror.drill.report import DrillReport
from airflow_provider_mm2.mirror.drill_settings import DrillSettings
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.fakes.log import Message, Outcome
from tests.mirror.drill.game_world import GameWorld
from tests.mirror.drill.test_game_day import entry_at, numbers
from tests.mirror.offsets.group_world import BASE_MS

TARGET = TopicPartition("us.orders", 0)


def row(report: DrillReport, group: str = "app", partition: int = 0) -> dict[str, Any]:
    """One place of the document."""
    (found,) = (each for each in report.to_json()["groups"] if each["group"] == group)
    (place,) = (each for each in found["positions"] if each["partition"] == partition)
    return place


def limits(report: DrillReport) -> dict[str, float]:
    """What was found for each limit that was passed."""
    return {limit.name: limit.value for limit in report.limits if not limit.passed}


def warning(report: DrillReport, start: str) -> str:
    """The one warning that begins so."""
    (found,) = (text for text in report.warnings if text.startswith(start))
    return found


def test_behind_an_open_transaction() -> None:
    """Records that a hanging transaction holds back from readers are acknowledged: they count, and it is told."""
    world = GameWorld()
    some = [Message(key=b"o", value=b"o", timestamp_ms=BASE_MS) for _ in range(10)]
    hanging = world.pair.us.transaction("orders", 0, *some, outcome=Outcome.OPEN)
    world.produce(7)
    report = world.game_day()
    assert (report.rpo_records, report.to_json()["lost"]) == (17, 17)
    assert report.rpo_s > 0
    assert numbers(report) == {"read": 40, "lost": 17}
    told = warning(report, "orders-0: 17 of 17 record(s)")
    assert "open transaction" in told
    assert told.endswith("up to 17 less")
    cut = world.game_day(limit_records=4)
    assert cut.rpo_records == 17
    assert warning(cut, "of what is not on the target").endswith(": orders-0 (4 read, 17 at most)")
    world.flow = world.flow.model_copy(update={"drill": DrillSettings(lost=16)})
    assert limits(world.game_day()) == {"lost": 17}
    world.pair.us.end(hanging, Outcome.ABORTED)
    after = world.game_day()
    assert (after.rpo_records, after.passed) == (7, True)


def test_what_groups_lose_on_the_target() -> None:
    """What retention took on the target is lost to groups: in the document once, and no limit is kept on it."""
    world = GameWorld()
    world.commit("idle", 20)
    world.run()
    _, entry = entry_at(world, 70)
    world.pair.eu.advance_log_start("us.orders", 0, entry.offset)
    report = world.game_day()
    assert numbers(report) == {"read": 30, "lost": 10}
    assert numbers(report, "idle") == {"read": 30, "lost": 50}
    assert (report.rpo_records, report.to_json()["lost"]) == (0, 50)
    assert limits(report) == {"lost outside the window": 50}
    world.flow = world.flow.model_copy(update={"drill": DrillSettings(lost=49)})
    assert limits(world.game_day()) == {"lost": 50, "lost outside the window": 50}
    world.flow = world.flow.model_copy(update={"drill": DrillSettings(lost=50)})
    assert world.game_day().passed
    world.pair.us.advance_log_start("orders", 0, 70)
    assert (world.game_day().to_json()["lost"], numbers(world.game_day())) == (0, {"read": 30})


def test_what_is_on_the_target_by_now() -> None:
    """On the target is what its log holds, not what the map has: retention and a cleaner took the rest."""
    world = GameWorld()
    _, entry = entry_at(world, 70)
    world.pair.eu.advance_log_start("us.orders", 0, entry.offset)
    assert [world.game_day().to_json()[name] for name in ("written", "mirrored")] == [100, 30]
    world.pair.eu.advance_log_start("us.orders", 0, world.pair.eu.log(TARGET).end)
    assert [world.game_day().to_json()[name] for name in ("written", "mirrored")] == [100, 0]


def test_what_a_cleaner_left_on_the_target() -> None:
    """On a compacted topic what is there is counted, with a limit as everywhere."""
    world = GameWorld()
    for cluster, topic in ((world.pair.us, "orders"), (world.pair.eu, "us.orders")):
        cluster.topics[topic].settings["cleanup.policy"] = "compact"
    limited = world.game_day(limit_records=30)
    assert limited.mirrored == 100
    assert warning(limited, "of what is still on the target").endswith(": orders-0 (30 read, 100 at most)")
    world.pair.eu.compact("us.orders", 0)
    assert [world.game_day().to_json()[name] for name in ("written", "mirrored")] == [100, 1]


def test_a_partition_that_was_added() -> None:
    """A partition added since the last run is not mirrored: a row with the reason, and what its group would lose."""
    world = GameWorld()
    world.pair.us.grow_topic("orders", 2)
    world.produce(30, partition=1)
    world.commit("app", 10, partition=1)
    report = world.game_day()
    place = row(report, partition=1)
    assert (place["source_offset"], place["source_now"], place["target_offset"]) == (None, 10, None)
    assert (place["lost"], place["read"], place["reason"]) == (20, 0, "partition not mirrored yet")
    assert [group["lost"] for group in report.to_json()["groups"]] == [20, 0]
    assert report.rpo_records == report.to_json()["lost"] == 30
    assert "10 of them are known, since groups have read them" in (report.loss_window or "")
    warning(report, "group app, orders-1: no position on the target (partition not mirrored yet)")


def test_a_topic_that_is_new() -> None:
    """What no run has mirrored yet of a topic that the flow takes is the loss as well; a named topic stands alone."""
    world = GameWorld()
    world.pair.us.create_topic("orders-new")
    world.pair.us.create_topic("else")
    for topic in ("orders-new", "else"):
        world.produce(30, topic=topic)
        world.commit("app", 10, topic=topic)
    report = world.game_day()
    (app, _) = report.to_json()["groups"]
    assert [(place["topic"], place["lost"]) for place in app["positions"]] == [("orders", 0), ("orders-new", 20)]
    assert report.rpo_records == report.to_json()["lost"] == 30
    assert world.game_day(topics=("orders",)).rpo_records == 0


def test_a_partition_that_was_read_since() -> None:
    """A group's first commit on a mirrored partition since the last run: a failover knows of none."""
    world = GameWorld(partitions=2)
    world.produce(20, partition=1)
    world.run()
    world.produce(5, partition=1)
    world.commit("app", 22, partition=1)
    place = row(world.game_day(), partition=1)
    assert (place["lost"], place["target_offset"]) == (3, None)
    assert place["reason"] == "committed on the source since the last run"


def test_partitions_that_nobody_reads() -> None:
    """Empty partitions that a group never read are left out, with their count."""
    world = GameWorld(partitions=20)
    world.produce(3, partition=7)
    world.run()
    report = world.game_day()
    (app, _) = report.to_json()["groups"]
    assert [place["partition"] for place in app["positions"]] == [0, 7]
    warning(report, "group app: 18 partition(s) left out")


def mixed(world: GameWorld, places: list[int], change: Any) -> None:
    """Put something else in place of copies on the target."""
    entries = world.pair.eu.log(TARGET).entries
    for number in places:
        place, entry = entry_at(world, number)
        assert entry.message is not None
        entries[place] = replace(entry, message=change(number, entry.message))


def long_world() -> GameWorld:
    """450 records, of which 350 came with one run; ``app`` at 100, ``idle`` at 50."""
    world = GameWorld()
    some = [Message(key=b"k", value=b"%d" % number, timestamp_ms=BASE_MS + 1000 + number) for number in range(350)]
    world.pair.us.produce("orders", 0, *some)
    world.commit("app", 100)
    world.commit("idle", 50)
    world.run()
    return world


def test_more_mismatches_than_are_listed() -> None:
    """However many there are, each is told by its kind, and what two groups meet is one record."""
    world = long_world()
    mixed(world, list(range(110, 430, 2)), lambda number, message: replace(message, value=b"other %d" % number))
    report = world.game_day()
    assert (numbers(report), numbers(report, "idle")) == ({"read": 350, "unlike": 160}, {"read": 400, "unlike": 160})
    assert limits(report) == {"unlike the source": 160}
    assert limits(world.game_day(limit_records=60)) == {"unlike the source": 25}  # 60 from 100 on, and 60 from 50 on


def test_more_gaps_than_are_listed() -> None:
    """Each record that is not there is lost, the hundredth and those behind it as well; in the document once."""
    world = long_world()
    log = world.pair.eu.log(TARGET)
    gone = {entry_at(world, number)[1].offset for number in range(110, 430, 2)}
    log.entries = [entry for entry in log.entries if entry.offset not in gone]
    report = world.game_day()
    assert numbers(report) == {"read": 190, "lost": 160, "unlike": 160}
    assert report.to_json()["lost"] == report.gone == 160
    world.commit("app", 211)
    assert numbers(world.game_day())["lost"] == 109
    assert world.game_day().gone == 160


def test_more_out_of_order_than_are_listed() -> None:
    """Records in reverse order are out of order, all of them, and nothing else."""
    world = long_world()
    messages = {number: entry_at(world, number)[1].message for number in range(100, 450)}
    mixed(world, list(range(100, 450)), lambda number, message: messages[549 - number])
    found = numbers(world.game_day())
    assert (found["read"], found["reordered"]) == (350, 350)
    assert found.keys() == {"read", "reordered"}


def test_a_group_behind_the_logs_end() -> None:
    """A position past the end of the source's log says nothing of records: none are known to be lost."""
    world = GameWorld()
    world.commit("app", 5000)
    world.run()
    report = world.game_day()
    assert (report.rpo_records, numbers(report)) == (0, {"read": 0})
    assert "known" not in (report.loss_window or "")
    assert "it stands at 5,000, and the source's log ends at 100" in row(report)["reason"]
    world.produce(4)
    assert "; 4 of them are known" in (world.game_day().loss_window or "")


def test_what_the_source_has_no_more() -> None:
    """Records that retention took from the source since are read, and cannot be compared: the row says so."""
    world = GameWorld()
    world.pair.us.advance_log_start("orders", 0, 75)
    place = row(world.game_day())
    assert (place["read"], place["compared"], place["unlike"]) == (40, 25, 0)
    assert place["reason"] == "retention at the source took 15 record(s) that are on the target: not compared"
    assert row(world.game_day(), "idle")["reason"] is None
