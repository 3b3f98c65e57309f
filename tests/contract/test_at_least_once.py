"""``Copier`` and ``StateWriter`` without transactions: the order of the writes, and what each half of one leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress

import pytest

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import DeliveryFailed, MirrorError, Overtaken, TopicDeleted
from airflow_provider_mm2.mirror.model import CopiedRange, TopicPartition
from airflow_provider_mm2.mirror.state_model import Delivery, StateRecord
from tests.contract.lab import BASE_MS, COMPACTED, Lab, Side, messages
from tests.contract.route import ALL, NOW_MS, Route, no_tick
from tests.fakes.log import Message, Outcome


class Stop(Exception):
    """Raised by a tick to end a wait."""


def stop() -> None:
    """End the wait."""
    raise Stop


@pytest.fixture
def delivery() -> Delivery:
    """Give the way of delivery of this module."""
    return Delivery.AT_LEAST_ONCE


@pytest.fixture
def state(lab: Lab) -> TopicPartition:
    """Give the one partition of a state topic on the target."""
    partition = TopicPartition(lab.new_name(), 0)
    lab.create_topic(Side.TARGET, partition.topic, settings=COMPACTED)
    return partition


def record(state: TopicPartition, key: str, turn: int = 0) -> StateRecord:
    """A state record of a key and its turn."""
    return StateRecord(topic=state.topic, partition=state.partition, key=key.encode(), value=b"v", turn=turn)


def keys(lab: Lab, state: TopicPartition) -> list[bytes | None]:
    """Keys in the state topic, in their order."""
    return [found.key for found in lab.pair.target.read_state(state, no_tick)]


def test_data_is_there_before_the_ledger(lab: Lab, route: Route, state: TopicPartition) -> None:
    """After the flush all data is visible, and neither ledger nor progress are before the commit."""
    route.produce(*messages(4))
    copier = route.assigned(route.range())
    copier.begin()
    copier.copy(ALL, no_tick)
    (result,) = copier.flush(no_tick)
    assert route.copied() == messages(4)
    copier.add([record(state, "k")], {route.target(): 4}, no_tick)
    assert keys(lab, state) == []
    assert lab.pair.target.committed(route.group, [route.target()], no_tick) == {}
    copier.commit(no_tick)
    copier.see({route.target(): 4}, {route.target(): 4}, no_tick)
    assert keys(lab, state) == [b"k"]
    assert lab.pair.target.committed(route.group, [route.target()], no_tick) == {route.target(): 4}
    route.assert_exact(result)


def test_nothing_is_between_two_chunks(route: Route) -> None:
    """Without markers the records of chunks lie side by side on the target."""
    route.produce(*messages(9))
    results = [route.copy(route.range(start=at, end=at + 3))[0] for at in (0, 3, 6)]
    assert [result.segments[0].target_start for result in results] == [0, 3, 6]
    route.assert_exact(*results)


def test_turns_are_kept(lab: Lab, route: Route, state: TopicPartition) -> None:
    """Ledger records are written in the order of their turns, whatever the order in which they are given."""
    copier = route.assigned()
    copier.begin()
    copier.add([record(state, "c", 2), record(state, "a"), record(state, "b", 1)], {}, no_tick)
    copier.commit(no_tick)
    assert keys(lab, state) == [b"a", b"b", b"c"]


def test_progress_comes_after_the_ledger(lab: Lab, route: Route, state: TopicPartition) -> None:
    """A commit that ends at the progress group leaves the ledger written and the group as it was."""
    missing = TopicPartition(lab.new_name(), 0)
    copier = route.assigned()
    copier.begin()
    copier.add([record(state, "k")], {missing: 4}, no_tick)
    with pytest.raises(TopicDeleted) as caught:
        copier.commit(no_tick)
    assert caught.value.topic == missing.topic
    copier.abort()
    assert keys(lab, state) == [b"k"]
    assert missing.topic not in lab.pair.target.list_topics()


def test_lease_is_kept_right_before_the_ledger(lab: Lab, route: Route, state: TopicPartition) -> None:
    """A tick that ends a commit right at its beginning ends it before anything is written."""
    copier = route.assigned()
    copier.begin()
    copier.add([record(state, "k")], {route.target(): 4}, no_tick)
    with pytest.raises(Stop):
        copier.commit(stop)
    copier.abort()
    assert keys(lab, state) == []
    assert lab.pair.target.committed(route.group, [route.target()], no_tick) == {}


@pytest.mark.parametrize("stranger", ["before the first write", "between two writes"])
def test_somebody_else_wrote_the_state(lab: Lab, route: Route, state: TopicPartition, stranger: str) -> None:
    """An attempt that finds the ledger not as it left it ends before it writes to it."""
    copier = route.copier(watched={state: None})
    copier.assign([], NOW_MS)
    if stranger == "between two writes":
        copier.begin()
        copier.add([record(state, "mine")], {route.target(): 1}, no_tick)
        copier.commit(no_tick)
    before = keys(lab, state)
    lab.pair.target.state_writer("another").write([record(state, "other")], no_tick)
    copier.begin()
    copier.add([record(state, "mine too")], {route.target(): 2}, no_tick)
    with pytest.raises(Overtaken) as caught:
        copier.commit(no_tick)
    assert caught.value.retriable
    assert str(state) in caught.value.what
    assert keys(lab, state) == [*before, b"other"]


@pytest.mark.parametrize("key", ["watched", "beside it"])
def test_somebody_else_wrote_beside_the_flow_record(lab: Lab, route: Route, state: TopicPartition, key: str) -> None:
    """Where one key is watched, other keys of the log are anybody's, also between this attempt's own writes."""
    copier = route.copier(watched={state: b"watched"})
    copier.assign([], NOW_MS)
    for number in range(2):
        lab.pair.target.state_writer("another").write([record(state, "beside it")], no_tick)
        copier.begin()
        copier.add([record(state, f"mine {number}")], {route.target(): number}, no_tick)
        copier.commit(no_tick)
    lab.pair.target.state_writer("another").write([record(state, key), record(state, "more")], no_tick)
    copier.begin()
    copier.add([record(state, "last")], {route.target(): 9}, no_tick)
    with pytest.raises(Overtaken) if key == "watched" else nullcontext():
        copier.commit(no_tick)
    assert (b"last" in keys(lab, state)) == (key != "watched")


def test_own_writes_are_no_strangers(lab: Lab, route: Route, state: TopicPartition) -> None:
    """What an attempt writes itself does not end it."""
    copier = route.copier(watched={state: None})
    copier.assign([], NOW_MS)
    for number in range(5):
        copier.begin()
        copier.add([record(state, f"{number}-{turn}", turn) for turn in range(3)], {route.target(): number}, no_tick)
        copier.commit(no_tick)
        copier.see({route.target(): number}, {}, no_tick)
    assert len(keys(lab, state)) == 15


def test_progress_that_somebody_set(lab: Lab, route: Route) -> None:
    """An attempt that does not find the progress it committed ends."""
    copier = route.assigned()
    copier.begin()
    copier.add([], {route.target(): 4}, no_tick)
    copier.commit(no_tick)
    lab.commit_offsets(Side.TARGET, route.group, {route.target(): 3})
    with pytest.raises(Overtaken):
        copier.see({route.target(): 4}, {}, no_tick)


def test_aborted_data_stays(route: Route) -> None:
    """What arrived of a chunk that was not committed stays, and the next copy of it is a whole one behind."""
    route.produce(*messages(4))
    copier = route.assigned(route.range())
    copier.begin()
    copier.copy(ALL, no_tick)
    copier.flush(no_tick)
    copier.abort()
    (result,) = route.copy(route.range())
    assert result.segments[0].target_start == 4
    assert route.copied() == messages(4) * 2


def test_foreign_records_inside_a_chunk(lab: Lab, route: Route) -> None:
    """Records of others amid our own end the attempt, or are mapped around; the map is never wrong."""
    given = [Message(value=b"%06d" % number + bytes(2_000), timestamp_ms=1 + number) for number in range(1000)]
    route.produce(*given)
    copier = route.assigned(route.range())
    results: Sequence[CopiedRange] = ()
    with lab.intruder(route.target()), suppress(DeliveryFailed):  # which is worth a retry
        results = route.chunk(copier)
    target = dict(lab.visible(Side.TARGET, route.target()))
    for segment in (segment for result in results for segment in result.segments):
        for index in range(segment.count):
            assert target[segment.target_start + index] == given[segment.source_start + index]


@pytest.mark.parametrize("step", ["copy", "add", "commit"])
def test_ticks_end_every_step(route: Route, step: str) -> None:
    """A tick that raises comes out of every step, and no progress is recorded."""
    route.produce(*messages(4))
    copier = route.assigned(route.range())
    steps: dict[str, Callable[[Tick], object]] = {
        "copy": lambda tick: copier.copy(ALL, tick),
        "flush": copier.flush,
        "add": lambda tick: copier.add([], {route.target(): 4}, tick),
        "commit": copier.commit,
    }
    copier.begin()
    for name, do in steps.items():
        if name == step:
            break
        do(no_tick)
    with pytest.raises(Stop):
        steps[step](stop)
    copier.abort()
    copier.abort()
    copier.close()
    assert route.lab.pair.target.committed(route.group, [route.target()], no_tick) == {}


def test_no_chunk_after_an_abort(route: Route) -> None:
    """An attempt ends with its abort, begins with its fence, and a chunk with begin."""
    copier = route.assigned()
    copier.begin()
    copier.abort()
    with pytest.raises(RuntimeError):
        copier.begin()
    with pytest.raises(RuntimeError):
        route.copier(fence=False).begin()


def test_a_transaction_that_holds_the_view_back(lab: Lab, route: Route) -> None:
    """Data behind somebody's open transaction is waited for, and seen when that ends."""
    opened = lab.open_transaction(Side.TARGET, route.target(), Message(value=b"foreign"))
    route.produce(*messages(1))
    copier = route.assigned(route.range())
    copier.begin()
    copier.copy(ALL, no_tick)
    (result,) = copier.flush(no_tick)
    copier.add([], {route.target(): 1}, no_tick)
    copier.commit(no_tick)
    seen: list[str] = []

    def tick() -> None:
        seen.append("waited")
        if len(seen) == 3:
            opened.end(Outcome.ABORTED)

    copier.see({route.target(): 1}, {route.target(): result.segments[-1].target_end}, tick)
    assert len(seen) >= 3
    assert route.copied() == messages(1)


def test_written_state_is_visible(lab: Lab, state: TopicPartition) -> None:
    """When a write returns, the next read sees all of it, in the order of turns."""
    writer = lab.pair.target.state_writer(lab.new_name())
    writer.fence(no_tick)
    for number in range(5):
        writer.write([record(state, f"{number}-last", 1), record(state, f"{number}-first")], no_tick)
        assert keys(lab, state)[-2:] == [f"{number}-first".encode(), f"{number}-last".encode()]
    writer.write([], no_tick)
    writer.close()
    writer.close()


def test_a_write_ends_when_it_is_seen(lab: Lab, state: TopicPartition) -> None:
    """A write waits while a transaction that is open, as of an attempt from before, hides it from readers."""
    opened = lab.open_transaction(Side.TARGET, state, Message(key=b"foreign", value=b"v", timestamp_ms=BASE_MS))
    writer, ticks = lab.pair.target.state_writer(lab.new_name()), 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        if ticks == 3:
            opened.end(Outcome.ABORTED)

    writer.write([record(state, "a")], tick)
    assert keys(lab, state) == [b"a"]
    writer.close()


def test_write_that_stops_leaves_its_first_turns(lab: Lab, state: TopicPartition) -> None:
    """A lease that is lost between two turns ends a write there: the later turn is not written."""
    writer = lab.pair.target.state_writer(lab.new_name())
    turns: list[int] = []

    def tick() -> None:
        turns.append(1)
        if keys(lab, state):
            raise Stop

    with pytest.raises(Stop):
        writer.write([record(state, "first"), record(state, "last", 1)], tick)
    writer.close()
    assert keys(lab, state) == [b"first"]


@pytest.mark.slow
def test_write_that_is_refused_ends_there(lab: Lab, state: TopicPartition) -> None:
    """A record that cannot be written ends the write: nothing of a later turn is there."""
    writer = lab.pair.target.state_writer(lab.new_name())
    missing = TopicPartition(lab.new_name(), 0)
    with pytest.raises(MirrorError):
        writer.write([record(missing, "first"), record(state, "last", 1)], no_tick)
    writer.close()
    assert keys(lab, state) == []
    assert missing.topic not in lab.pair.target.list_topics()
