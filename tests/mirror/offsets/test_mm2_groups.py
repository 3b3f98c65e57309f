"""Groups of a pair that MirrorMaker 2 filled: its own rule, and the record itself where it is looked for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.errors import FlowNotPrepared
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets import refine_reading
from airflow_provider_mm2.mirror.offsets.commit import Outcome
from airflow_provider_mm2.mirror.offsets.refine_reading import SearchLimits
from tests.fakes.log import Message
from tests.mirror.offsets.mm2_world import ON_SOURCE, ON_TARGET, SOURCE, TARGET, Mm2World

BY_SYNCS = "by MirrorMaker 2's syncs, not exact"
BY_CHECKPOINT = "by MirrorMaker 2's checkpoint, not exact"


def filled(**options: Any) -> Mm2World:
    """A pair of 300 different records, the target's 5 offsets further, with a sync of 0, 100 and 200."""
    world = Mm2World(**options)
    world.pair.eu.produce("us.orders", 0, *(Message(key=b"old", value=b"%d" % number) for number in range(5)))
    world.numbers(300)
    world.copy(0, 300, synced=(100, 200))
    return world


@pytest.mark.parametrize(("syncs_on", "source"), [("us", "offset syncs on source"), ("eu", "offset syncs on target")])
def test_by_syncs(syncs_on: str, source: str) -> None:
    """At a sync the position is exact, above one it is one behind the sync's record; the row says where they lie."""
    world = filled(syncs_on=syncs_on)
    assert world.at(100) == {
        "group": "app",
        "topic": "orders",
        "partition": 0,
        "source_offset": 100,
        "target_topic": "us.orders",
        "target_offset": 105,
        "exact": True,
        "reason": None,
        "on_target": None,
        "source": source,
    }
    above = world.at(150)
    assert (above["target_offset"], above["exact"], above["reason"]) == (106, False, BY_SYNCS)
    assert above["source"] == source
    assert world.at(300)["target_offset"] == 206
    assert world.look().to_json()["as_of"]


def test_syncs_of_neither() -> None:
    """Neither our state nor MirrorMaker 2's: the flow never ran. State of other topics is none of this flow."""
    world = Mm2World()
    world.numbers(10)
    world.commit("app", 5)
    with pytest.raises(FlowNotPrepared):
        world.look()
    world.sync(0, 0, topic="billing")
    with pytest.raises(FlowNotPrepared):
        world.look()
    world.sync(0, 0)
    assert world.at(0)["exact"]


def test_partitions_without_syncs() -> None:
    """A partition without a sync, one below its first, one without a commit and one not on the target: each its reason.

    A topic that is not mirrored has no target.
    """
    world = Mm2World(partitions=4)
    world.pair.us.grow_topic("orders", 5)
    world.pair.us.create_topic("billing")
    world.sync(50, 50, partition=1)
    for partition in (0, 1, 2, 4):
        world.commit("app", 10, partition=partition)
    world.sync(10, 0, partition=2)
    world.commit("app", 10, topic="billing")
    rows = {(row["topic"], row["partition"]): row for row in world.look().to_json()["groups"]}
    assert {part: (row["target_offset"], row["reason"]) for part, row in rows.items()} == {
        ("billing", 0): (None, "topic not mirrored"),
        ("orders", 0): (None, "MirrorMaker 2 has no offset sync of the partition"),
        ("orders", 1): (None, "before the first offset sync of MirrorMaker 2"),
        ("orders", 2): (0, None),
        ("orders", 3): (None, "no commit on source"),
        ("orders", 4): (None, "partition not mirrored yet"),
    }
    assert rows["orders", 1]["source"] is None
    assert rows["billing", 0]["target_topic"] is None
    asked = {"behind_start": "earliest", "uncommitted": "earliest"}
    rows = {(row["topic"], row["partition"]): row for row in world.look(**asked).to_json()["groups"]}
    assert [rows["orders", number]["target_offset"] for number in (0, 1, 3)] == [None, 0, 0]


def test_checkpoints() -> None:
    """A checkpoint wins where it is nearer and the group has not gone back since, also where there is no sync."""
    world = filled()
    world.publish("app", 150, 155)
    assert world.at(150)["target_offset"] == 155
    later = world.at(160)
    assert (later["target_offset"], later["exact"], later["reason"]) == (155, False, BY_CHECKPOINT)
    assert later["source"] == "checkpoints"
    assert world.at(140)["target_offset"] == 106  # gone back
    assert world.at(210)["target_offset"] == 206  # the sync is nearer
    assert world.at(200)["exact"]
    alone = Mm2World()
    alone.numbers(10)
    alone.copy(0, 10)
    alone._cluster.delete_topic(alone._topic)
    alone.publish("app", 4, 4)
    assert alone.at(6)["target_offset"] == 4
    assert alone.at(3)["reason"] == "MirrorMaker 2 has no offset sync of the partition"


def test_target_that_lost_records() -> None:
    """A position below the target's log start is raised to it, one past its end is none: another topic lies there."""
    world = filled()
    world.pair.eu.advance_log_start("us.orders", 0, 150)
    expired = world.at(100)
    assert (expired["target_offset"], expired["exact"]) == (150, False)
    assert expired["reason"] == "expired on target by 45"
    assert world.at(120)["target_offset"] == 150
    world.pair.eu.delete_topic("us.orders")
    world.pair.eu.create_topic("us.orders")
    gone = world.at(120)
    assert (gone["target_offset"], gone["reason"]) == (
        None,
        "MirrorMaker 2's offset syncs point past the target's end by 106",
    )


def test_other_names() -> None:
    """Target topics and MirrorMaker 2's own are named by the flow's policy and separator, the latter with dots too."""
    for topic in ("mm2-offset-syncs__us__internal", ON_TARGET):
        world = Mm2World(syncs_on="eu", separator="__")
        world.pair.eu.create_topic("us__orders")
        world.pair.eu.produce("us__orders", 0, *(Message(value=b"v") for _ in range(9)))
        world._topic = topic
        world.sync(3, 4)
        assert (world.at(3)["target_topic"], world.at(3)["target_offset"]) == ("us__orders", 4)
    same = Mm2World(replication_policy="identity")
    same.pair.eu.create_topic("orders")
    same.pair.eu.produce("orders", 0, *(Message(value=b"v") for _ in range(9)))
    same.sync(3, 4)
    assert (same.at(3)["target_topic"], same.at(3)["target_offset"]) == ("orders", 4)


def test_odd_syncs_are_told() -> None:
    """A record in the syncs' topic that is none is passed over with its place."""
    world = filled()
    world.pair.us.produce(ON_SOURCE, 0, Message(key=b"x", value=None))
    world.commit("app", 1)
    assert world.look().warnings[0].startswith(f"{ON_SOURCE}-0 at 3 is passed over: ")


def test_nothing_is_written_without_apply() -> None:
    """A look changes nothing on either cluster; ``apply`` commits to a group that nobody is in, and only forward."""
    world = filled()
    world.commit("app", 150)
    before = [
        {name: [log.end for log in topic.logs] for name, topic in side.topics.items()} for side in world_of(world)
    ]
    world.look(refine=True)
    after = [{name: [log.end for log in topic.logs] for name, topic in side.topics.items()} for side in world_of(world)]
    assert after == before
    assert "app" not in world.pair.eu.groups
    report = world.locate(apply=True)
    assert report.outcomes["app"].outcome is Outcome.WRITTEN
    assert world.target_offsets("app") == {0: 106}
    assert {"us.checkpoints.internal", "mm2-flow.f.internal"}.isdisjoint(world.pair.eu.topics)


def world_of(world: Mm2World) -> tuple[Any, Any]:
    """Both clusters."""
    return world.pair.us, world.pair.eu


def test_map_of_our_own_is_not_touched() -> None:
    """A flow that ran goes by its map alone: a partition that it has no map of is told as before, syncs or not."""
    world = Mm2World()
    world.numbers(10)
    world.pair.eu.delete_topic("us.orders")
    world.sync(0, 0)
    world.run()
    world.pair.us.grow_topic("orders", 2)
    world.commit("app", 3, partition=1)
    world.sync(0, 0, partition=1)
    rows = {row["partition"]: row for row in world.look(refine=True).to_json()["groups"]}
    assert rows[1]["reason"] == "partition not mirrored yet"
    assert rows[1]["source"] == "offset map"


def test_refined() -> None:
    """Every position in and at the ends of the log is found exactly, whatever the distance to its sync."""
    world = filled()
    assert [world.place(offset) for offset in (0, 1, 101, 150, 299, 300)] == [
        (offset + 5, True, None) for offset in (0, 1, 101, 150, 299, 300)
    ]


def test_refined_from_a_checkpoint() -> None:
    """A position by a checkpoint is looked for around it."""
    world = filled()
    world.publish("app", 150, 152)
    assert world.place(150) == (155, True, None)
    assert world.place(199) == (204, True, None)


def test_refined_past_aborted_copies_and_markers() -> None:
    """Aborted records, copied by a mirror that reads uncommitted, do not mislead, nor do its markers on the target."""
    world = Mm2World()
    world.numbers(3)
    world.write(b"x", b"y", aborted=True)  # 3, 4, its marker 5
    world.numbers(3)  # 6 to 8
    world.copy(0, 4, transaction=True)
    world.copy(4, 9, transaction=True)
    assert [target for target, _ in world.copies] == [0, 1, 2, 3, 5, 6, 7, 8]
    world._cluster.delete_topic(world._topic)
    world.sync(0, 0)
    assert world.place(2) == (2, True, None)
    assert world.place(3) == (3, True, None)
    assert world.place(4) == (1, False, f"{BY_SYNCS}; records right beside it are missing on one of the sides")
    assert world.place(6) == (6, True, None)
    assert world.place(9) == (9, True, None)


def test_refined_where_the_target_is_behind() -> None:
    """A group that has read more than is mirrored goes on behind the last record, with the offsets that are missing."""
    world = Mm2World()
    world.numbers(100)
    world.copy(0, 60)
    assert world.place(60) == (60, True, None)
    assert world.place(90) == (60, False, "ahead of the mirror by 30")
    assert world.place(90, ahead="skip") == (None, False, "ahead of the mirror by 30")


def test_refined_among_alike_records() -> None:
    """Among records that are all alike no place is exact, and MirrorMaker 2's stays."""
    world = Mm2World()
    world.write(*[b"same"] * 50)
    world.copy(0, 50)
    assert world.place(20) == (1, False, f"{BY_SYNCS}; records around it are alike and cannot be told apart")
    world.write(b"other")
    world.copy(50, 51)
    assert world.place(20) == (20, True, None)  # from the first sync's record to this one they are the same sequence


def test_refined_among_lookalikes_further_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same records again, further off than is looked at: no place where the target may hold the others."""
    monkeypatch.setattr(refine_reading, "WIDTH", 3)
    doubt = f"{BY_SYNCS}; records around it are alike and cannot be told apart"
    behind = Mm2World()
    behind.write(b"a", b"b", b"c")
    behind.numbers(10)
    behind.write(b"a", b"b", b"c")
    behind.copy(0, 3)
    assert behind.place(16) == (1, False, doubt)  # a, b and c are there, and are the first ones
    lossy = Mm2World()
    lossy.write(b"0", keys=[b"k"])
    lossy.write(*(b"%d" % number for number in (1, 2, 3, 4, 1, 2)), keys=[b"%d" % key for key in (1, 2, 3, 4, 1, 2)])
    lossy.write(b"9", b"9", keys=[b"3", b"4"])
    lossy.copy(0, 9)
    lossy.pair.eu.compact("us.orders", 0)  # the first 1 to 4 are gone, and the others look the same
    assert lossy.place(1) == (1, False, doubt)
    lossy.pair.eu.topics["us.orders"].settings["cleanup.policy"] = "delete"
    assert lossy.place(1) == (5, True, None)  # where nothing is compacted holes can only be markers


def test_refined_after_a_restart() -> None:
    """Records copied twice are told; behind the syncs of the second life positions are exact."""
    world = Mm2World()
    world.numbers(50)
    world.copy(0, 30)
    world.copy(20, 50, synced=(25,))
    assert world.place(40) == (50, True, None)
    assert world.place(22) == (32, True, None)
    assert world.place(10) == (1, False, f"{BY_SYNCS}; records around it are on the target more than once")


def test_mirrored_again_and_behind() -> None:
    """While a partition is mirrored again and has not come to where it was, nothing is looked for, and it is told."""
    world = Mm2World()
    world.numbers(50)
    world.copy(0, 50, synced=(40,))
    world.copy(10, 20)
    note = "MirrorMaker 2 mirrors the partition again and has not come to where it was"
    assert world.place(15) == (51, False, f"{BY_SYNCS}; {note}")
    assert "orders-0: MirrorMaker 2 mirrors it again" in world.look().warnings[0]


def test_search_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of records or bytes ends a search, and is told."""
    world = filled()
    world._cluster.delete_topic(world._topic)
    world.sync(0, 5)
    for limits in (SearchLimits(records=20), SearchLimits(bytes=60)):
        monkeypatch.setattr(refine_reading, "WIDTH", 5)
        monkeypatch.setattr(refine_reading, "SearchLimits", lambda limits=limits: limits)
        offset, exact, reason = world.place(150)
        assert (offset, exact) == (6, False)
        assert reason is not None
        assert reason.startswith(f"{BY_SYNCS}; gave up after ")


def test_header_that_cannot_be_told() -> None:
    """A record that the client cannot read whole ends the search of its position, not the report."""
    world = filled()
    world.pair.us.produce("orders", 0, Message(value=b"v", headers=(("\udcff", b""),)))
    world.commit("app", 250)
    world.commit("other", 10)
    rows = {row["group"]: row for row in world.look(refine=True).to_json()["groups"]}
    assert "has a header that cannot be carried" in rows["app"]["reason"]
    assert rows["other"]["exact"]


def test_groups_at_one_place_share_a_search() -> None:
    """A thousand groups at one place cost one search."""
    world = filled()
    for number in range(1000):
        world.commit(f"g{number}", 150)
    target: Any = world.pair.target
    read, reads = target.read_records, []

    def count(partition: TopicPartition, *arguments: Any) -> Any:
        reads.append(partition)
        return read(partition, *arguments)

    target.read_records = count
    assert all(row["exact"] for row in world.look(refine=True).to_json()["groups"])
    assert reads == [TARGET]


@given(st.data())
@pytest.mark.thorough
def test_never_skips_and_exact_is_exact(data: st.DataObject) -> None:
    """Whatever was written, copied, copied again and compacted: no unread record is skipped, and exact is exact.

    Records are alike or not, and the source is compacted only where they are not: what it has lost nobody can tell from
    its lookalike.
    """
    world = Mm2World(committed=data.draw(st.booleans()), syncs_on=data.draw(st.sampled_from(["us", "eu"])))
    width, is_alike = data.draw(st.sampled_from([200, 5])), data.draw(st.booleans())
    parts = st.tuples(st.integers(0, 9), st.integers(0, 3 if width == 200 else 60))
    for records in data.draw(st.lists(st.lists(parts, min_size=1, max_size=6), min_size=1, max_size=8)):
        aborted = data.draw(st.sampled_from([None, None, True, False]))
        end = world.pair.us.log(SOURCE).end
        own = [b"" if is_alike and not aborted else b"%d" % number for number in range(end, end + len(records))]
        values = [b"%d-" % value + other for (_, value), other in zip(records, own, strict=True)]
        world.write(*values, keys=[b"k%d" % key for key, _ in records], aborted=aborted)
    end = world.pair.us.log(SOURCE).end
    may_compact = not is_alike and data.draw(st.booleans())
    if may_compact and data.draw(st.booleans()):
        world.pair.us.compact("orders", 0)
    reached, start = 0, 0
    for last in [*sorted(data.draw(st.lists(st.integers(0, end), max_size=3))), data.draw(st.integers(0, end))]:
        synced = data.draw(st.lists(st.integers(0, end), max_size=4))
        reached = max(reached, last)
        world.copy(start, reached, synced=synced, transaction=data.draw(st.booleans()))
        start = data.draw(st.integers(start, reached))
    if may_compact:
        world.pair.us.compact("orders", 0)
    if data.draw(st.integers(0, 3)) == 0:
        world.pair.eu.compact("us.orders", 0)
    for offset in range(end + 1):
        world.commit(f"g{offset:02}", offset)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refine_reading, "WIDTH", width)
        if world._topic in world._cluster.topics:
            assert_safe(world)


def assert_safe(world: Mm2World) -> None:
    """Hold every position against what was copied from where."""
    there = {offset for offset, _ in world.pair.eu.visible("us.orders", 0)}
    copies = [(target, source) for target, source in world.copies if target in there]
    for row in world.look(refine=True).to_json()["groups"]:
        at, position = row["target_offset"], row["source_offset"]
        if at is None:
            continue
        unread = {source for _, source in copies if source >= position}
        given_ = {source for target, source in copies if target >= at}
        assert unread - world.aborted <= given_, row
        if row["exact"]:
            assert min(given_, default=position) >= position, row
