"""What a game day tells, against what can be counted by hand: histories at random."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.model import TopicPartition
from tests.fakes.log import Message, Outcome
from tests.mirror.drill.game_world import GameWorld
from tests.mirror.offsets.group_world import BASE_MS, GroupWorld

SOURCE, TARGET = TopicPartition("orders", 0), TopicPartition("us.orders", 0)
KINDS = ["plain", "committed", "aborted"]
BURSTS = st.lists(st.tuples(st.integers(1, 6), st.sampled_from(KINDS)), max_size=6)
LAST = st.lists(st.tuples(st.integers(1, 6), st.sampled_from([*KINDS, "open"])), max_size=6)


class History(GameWorld):
    """Records that all differ, in bursts of every kind."""

    def __init__(self) -> None:
        GroupWorld.__init__(self)
        self.number = 0

    def write(self, bursts: list[tuple[int, str]]) -> None:
        """Write bursts, each outside any transaction or in one of its own."""
        for count, kind in bursts:
            numbers = range(self.number, self.number + count)
            self.number += count
            some = [Message(key=b"k", value=b"%d" % number, timestamp_ms=BASE_MS + number) for number in numbers]
            if kind == "plain":
                self.pair.us.produce("orders", 0, *some)
            else:
                self.pair.us.transaction("orders", 0, *some, outcome=Outcome(kind))

    def values(self, side: str) -> dict[int, bytes | None]:
        """What a reader of committed records sees, by offset."""
        cluster, part = (self.pair.us, SOURCE) if side == "us" else (self.pair.eu, TARGET)
        return {offset: message.value for offset, message in cluster.visible(*part)}

    def by_hand(self, begins: int, now: int) -> dict[str, int]:
        """What becomes of a group that begins at an offset of the target and has read the source up to ``now``.

        What lies behind an open transaction is lost, all of it.
        """
        source, target = self.values("us"), self.values("eu")
        was_read = {value for offset, value in source.items() if offset < now}
        due = {value for offset, value in source.items() if offset >= now}
        log = self.pair.us.log(SOURCE)
        held = list(log.everything(max(now, log.stable), log.end))
        there, reads = set(target.values()), [value for offset, value in target.items() if offset >= begins]
        return {
            "read": len(reads),
            "lost": len(due - there) + len(held),
            "repeated": len(was_read & set(reads)),
            "skipped": len(due & there - set(reads)),
        }


@given(first=BURSTS, second=BURSTS, beyond=LAST, places=st.tuples(st.floats(0, 1), st.floats(0, 1)), data=st.data())
def test_as_counted_by_hand(
    first: list[tuple[int, str]],
    second: list[tuple[int, str]],
    beyond: list[tuple[int, str]],
    places: tuple[float, float],
    data: st.DataObject,
) -> None:
    """Wherever a group stood at the last run and stands by now, in front of, in or behind the mirror, it is so."""
    world = History()
    world.write([(1, "plain"), *first])
    world.run()
    world.write(second)
    end = world.pair.us.log(SOURCE).end
    world.commit("app", round(places[0] * end))
    world.run()
    gone = data.draw(st.integers(0, world.pair.eu.log(TARGET).end))
    world.pair.eu.advance_log_start("us.orders", 0, gone)
    world.write(beyond)
    now = round(places[1] * world.pair.us.log(SOURCE).end)
    world.commit("app", now)
    (group,) = world.game_day().to_json()["groups"]
    (place,) = group["positions"]
    told: dict[str, Any] = {name: place[name] for name in ("read", "lost", "repeated", "skipped")}
    assert told == world.by_hand(place["target_offset"], now)
    assert (place["reordered"], place["unlike"], place["compared"]) == (0, 0, place["read"])
    limit = data.draw(st.integers(1, 12))
    (cut,) = world.game_day(limit_records=limit).to_json()["groups"][0]["positions"]
    assert (cut["read"], cut["cut"]) == (min(limit, place["read"]), place["read"] > limit)
    assert (cut["repeated"], cut["skipped"], cut["unlike"]) == (place["repeated"], place["skipped"], 0)
    assert cut["lost"] >= place["lost"]  # behind a limit offsets are counted, markers among them
