"""``Copier``: chunks, what goes into their transaction, and that all of it is seen or nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import ForeignWrites, TopicDeleted
from airflow_provider_mm2.mirror.model import ChunkLimits, CopiedRange, LogRecord, RangeEnd, TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord
from tests.contract.lab import BASE_MS, COMPACTED, Lab, Side, messages
from tests.contract.route import ALL, NOW_MS, MakeRoute, Route, mapped, no_tick
from tests.fakes.log import Message


class Stop(Exception):
    """Raised by a tick to end a wait."""


def stop() -> None:
    """End the wait."""
    raise Stop


@pytest.fixture
def state(lab: Lab) -> TopicPartition:
    """Give the one partition of a state topic on the target."""
    partition = TopicPartition(lab.new_name(), 0)
    lab.create_topic(Side.TARGET, partition.topic, settings=COMPACTED)
    return partition


def large(count: int) -> list[Message]:
    """Records of 20 kB that differ; two thousand are more than a client reads ahead."""
    return [Message(value=b"%06d" % number + bytes(20_000), timestamp_ms=BASE_MS + number) for number in range(count)]


def test_bytes_end_a_chunk(route: Route) -> None:
    """The limit on bytes ends a chunk before the range, and the next chunk goes on exactly there."""
    given = large(2000)
    route.produce(*given)
    copier = route.assigned(route.range())
    chunks = [route.chunk(copier, ChunkLimits(seconds=60, bytes=1_000_000))]
    assert chunks[0][0].ended is None
    assert 0 < chunks[0][0].records < 2000
    assert chunks[0][0].bytes >= 1_000_000
    while chunks[-1][0].ended is None:
        chunks.append(route.chunk(copier, ChunkLimits(seconds=60, bytes=1_000_000)))
    results = [chunk[0] for chunk in chunks]
    assert (results[-1].next_offset, results[-1].ended) == (2000, RangeEnd.BOUND)
    route.assert_exact(*results)
    assert route.copied() == given


def test_seconds_end_a_chunk(route: Route) -> None:
    """A chunk without any time ends at once, with its position kept."""
    route.produce(*messages(10))
    copier = route.assigned(route.range())
    copier.begin()
    copier.copy(ChunkLimits(seconds=0, bytes=1 << 30), no_tick)
    (result,) = copier.flush(no_tick)
    assert result.next_offset == result.records
    copier.add([], {route.target(): result.next_offset}, no_tick)
    copier.commit(no_tick)
    (rest,) = route.chunk(copier)
    assert rest.ended is RangeEnd.BOUND
    route.assert_exact(result, rest)


def test_every_chunk_tells_every_range(make_route: MakeRoute) -> None:
    """Each flush gives one element for each assigned range, with the numbers of its chunk only."""
    route = make_route(partitions=2)
    route.produce(*messages(5), partition=0)
    route.produce(*large(2000), partition=1)
    copier = route.assigned(route.range(), route.range(partition=1))
    chunks = [route.chunk(copier, ChunkLimits(seconds=60, bytes=1_000_000))]
    while any(result.ended is None for result in chunks[-1]):
        chunks.append(route.chunk(copier, ChunkLimits(seconds=60, bytes=1_000_000)))
    for chunk in chunks:
        assert sorted(result.source.partition for result in chunk) == [0, 1]
    for partition, count in ((0, 5), (1, 2000)):
        results = [result for chunk in chunks for result in chunk if result.source == route.source(partition)]
        assert sum(result.records for result in results) == count
        route.assert_exact(*results, partition=partition)


def test_chunk_of_nothing(route: Route) -> None:
    """A chunk in which nothing is left to copy has no records, no segments and the same position."""
    route.produce(*messages(3))
    copier = route.assigned(route.range())
    route.chunk(copier)
    (again,) = route.chunk(copier)
    assert (again.next_offset, again.records, again.segments, again.bytes) == (3, 0, (), 0)
    assert again.ended is RangeEnd.BOUND


def test_values_are_counted(route: Route) -> None:
    """``bytes`` counts the values."""
    route.produce(*(Message(value=bytes(size), timestamp_ms=BASE_MS) for size in (10, 0, 5)), Message(key=b"k"))
    (result,) = route.copy(route.range())
    assert result.bytes == 15


def test_state_and_progress_come_with_the_data(lab: Lab, route: Route, state: TopicPartition) -> None:
    """Ledger records, progress and data are seen together: none before the commit, all after it."""
    route.produce(*messages(4))
    copier = route.assigned(route.range())
    copier.begin()
    copier.copy(ALL, no_tick)
    copier.flush(no_tick)
    record = StateRecord(topic=state.topic, partition=0, key=b"k", value=b"v")
    copier.add([record], {route.target(): 4}, no_tick)
    assert route.copied() == []
    assert list(lab.pair.target.read_state(state, no_tick)) == []
    copier.commit(no_tick)
    copier.see({route.target(): 4}, {route.target(): 4, state: 1}, no_tick)
    assert route.copied() == messages(4)
    assert list(lab.pair.target.read_state(state, no_tick)) == [LogRecord(offset=0, key=b"k", value=b"v")]
    assert lab.pair.target.committed(route.group, [route.target()], no_tick) == {route.target(): 4}


def test_seen_is_visible(lab: Lab, route: Route) -> None:
    """When a commit has been seen, the target's last stable offset has passed its data, chunk after chunk."""
    route.produce(*messages(10))
    for start in range(10):
        (result,) = route.copy(route.range(start=start, end=start + 1))
        stable = lab.pair.target.log_offsets([route.target()])[route.target()].stable
        assert stable >= result.segments[-1].target_end
        assert lab.pair.target.committed(route.group, [route.target()], no_tick) == {route.target(): start + 1}


def test_progress_without_data(lab: Lab, route: Route) -> None:
    """A transaction of progress and state alone commits like any other."""
    copier = route.assigned()
    copier.begin()
    copier.add([], {route.target(): 17}, no_tick)
    copier.commit(no_tick)
    copier.see({route.target(): 17}, {}, no_tick)
    assert lab.pair.target.committed(route.group, [route.target()], no_tick) == {route.target(): 17}


def test_progress_of_a_missing_topic(lab: Lab, route: Route) -> None:
    """Progress of a target topic that does not exist is refused by its name, and creates nothing."""
    missing = TopicPartition(lab.new_name(), 0)
    copier = route.assigned()
    copier.begin()
    with pytest.raises(TopicDeleted) as caught:
        copier.add([], {missing: 1}, no_tick)
    assert (caught.value.topic, caught.value.alias) == (missing.topic, lab.pair.target.alias)
    copier.abort()
    assert missing.topic not in lab.pair.target.list_topics()


def test_abort_leaves_nothing(lab: Lab, route: Route, state: TopicPartition) -> None:
    """After an abort neither data nor state nor progress can be seen, and the next attempt copies it all."""
    route.produce(*messages(4))
    copier = route.assigned(route.range())
    copier.begin()
    copier.copy(ALL, no_tick)
    copier.flush(no_tick)
    copier.add([StateRecord(topic=state.topic, partition=0, key=b"k", value=b"v")], {route.target(): 4}, no_tick)
    copier.abort()
    assert route.copied() == []
    assert list(lab.pair.target.read_state(state, no_tick)) == []
    assert lab.pair.target.committed(route.group, [route.target()], no_tick) == {}
    (result,) = route.copy(route.range())
    assert result.records == 4
    route.assert_exact(result)


def test_abort_in_any_state(route: Route) -> None:
    """Abort is quiet before the fence, before begin, in mid-copy, and when called twice."""
    route.produce(*messages(4))
    route.copier(fence=False).abort()
    route.copier().abort()
    copier = route.assigned(route.range())
    copier.begin()
    copier.copy(ALL, no_tick)
    copier.abort()
    copier.abort()
    copier.close()
    copier.close()
    assert route.copied() == []


def test_no_transaction_after_an_abort(route: Route) -> None:
    """An attempt ends with its abort: it cannot begin again from memory."""
    route.produce(*messages(4))
    copier = route.assigned(route.range())
    copier.begin()
    copier.abort()
    with pytest.raises(RuntimeError):
        copier.begin()


@pytest.mark.parametrize("step", ["copy", "add", "commit", "see"])
def test_ticks_end_every_step(route: Route, step: str) -> None:
    """A tick that raises comes out of every step, and the data is visible only where its commit was sent before."""
    route.produce(*messages(4))
    copier = route.assigned(route.range())
    progress = {route.target(): 4}
    steps: dict[str, Callable[[Tick], object]] = {
        "copy": lambda tick: copier.copy(ALL, tick),
        "flush": copier.flush,
        "add": lambda tick: copier.add([], progress, tick),
        "commit": copier.commit,
        "see": lambda tick: copier.see(progress, progress, tick),
    }
    copier.begin()
    for name, do in steps.items():
        if name == step:
            break
        do(no_tick)
    with pytest.raises(Stop):
        steps[step](stop)
    copier.abort()
    assert route.copied() == (messages(4) if step == "see" else [])


def test_stopped_before_the_commit_was_sent(lab: Lab, route: Route) -> None:
    """A tick that ends a commit before it was sent leaves a transaction that abort ends, not one that hangs."""
    route.produce(*messages(4))
    copier = route.assigned(route.range())
    copier.begin()
    copier.copy(ALL, no_tick)
    copier.flush(no_tick)
    copier.add([], {route.target(): 4}, no_tick)
    with pytest.raises(Stop):
        copier.commit(stop)
    copier.abort()
    deadline = time.monotonic() + 20
    while lab.pair.target.log_offsets([route.target()])[route.target()].stable < 5:
        assert time.monotonic() < deadline, "the transaction is still open"
    assert route.copied() == []


def test_foreign_records_between_chunks(lab: Lab, route: Route) -> None:
    """Records of others between two chunks only make a new segment: the map stays exact."""
    route.produce(*messages(6))
    first = route.copy(route.range(end=3))
    lab.produce(Side.TARGET, route.target(), Message(value=b"foreign"))
    second = route.copy(route.range(start=3))
    source = dict(lab.visible(Side.SOURCE, route.source()))
    target = dict(lab.visible(Side.TARGET, route.target()))
    for here, there in mapped([*first, *second]).items():
        assert target[there] == source[here]


def test_foreign_records_inside_a_chunk(lab: Lab, route: Route) -> None:
    """Records of others amid our own are refused, or mapped around; the map is never wrong."""
    route.produce(*large(1000))
    copier = route.assigned(route.range())
    results: Sequence[CopiedRange] = ()
    refused: ForeignWrites | None = None
    with lab.intruder(route.target()):
        try:
            results = route.chunk(copier)
        except ForeignWrites as error:
            refused = error
            copier.abort()
    if refused is not None:
        assert (refused.target_topic, refused.partition) == (route.target_topic, 0)
        assert 0 < refused.records < refused.end - refused.start
    source = dict(lab.visible(Side.SOURCE, route.source()))
    target = dict(lab.visible(Side.TARGET, route.target()))
    places = mapped(results)
    assert [target[there] for there in places.values()] == [source[here] for here in places]
    assert len(places) == (0 if refused else 1000)


def test_a_target_shared_with_others(lab: Lab, route: Route) -> None:
    """Where others write to the target as well, each record's place is told, however theirs lie among ours."""
    route.produce(*large(1000), *messages(500))
    copier = route.copier(shared_target=True)
    copier.assign([route.range()], NOW_MS)
    with lab.intruder(route.target()):
        results = route.chunk(copier)
    source = dict(lab.visible(Side.SOURCE, route.source()))
    target = dict(lab.visible(Side.TARGET, route.target()))
    places = mapped(results)
    assert [target[there] for there in places.values()] == [source[here] for here in places]
    assert list(places) == list(source)
    assert len(target) > len(source)


def test_now_is_the_callers(route: Route) -> None:
    """The caller's time decides what counts as the future, not the machine's clock."""
    route.produce(*messages(3))
    (result,) = route.copy(route.range(cut_ms=BASE_MS), now_ms=BASE_MS - 3_600_000)
    assert (result.next_offset, result.future_records) == (3, 3)
    assert result.future == (0, BASE_MS)
    assert NOW_MS > BASE_MS
