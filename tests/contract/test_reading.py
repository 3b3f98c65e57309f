"""``ClusterReader``: bounded reads, which see what ``read_committed`` sees and always come to an end."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.errors import HeaderUnfaithful
from airflow_provider_mm2.mirror.model import LogRecord, Record, TopicPartition
from tests.contract.lab import BASE_MS, COMPACTED, Lab, Side, messages
from tests.contract.route import MakeRoute, Route, no_tick
from tests.fakes.log import NO_TIMESTAMP, Message, Outcome


class Stop(Exception):
    """Raised by a tick to end a wait."""


def stop() -> None:
    """End the wait."""
    raise Stop


@pytest.fixture
def mixed(route: Route) -> Route:
    """Give a source log with all kinds: 0-1 plain, 2-4 aborted, 5 marker, 6-7 committed, 8 marker, 9 plain."""
    route.produce(*messages(2))
    route.transaction(*messages(3, first=2), outcome=Outcome.ABORTED)
    route.transaction(*messages(2, first=6))
    route.produce(*messages(1, first=9))
    return route


def test_state_of_an_empty_log(lab: Lab, route: Route) -> None:
    """An empty log is read at once, as nothing."""
    assert list(lab.pair.source.read_state(route.source(), no_tick)) == []


def test_state_to_the_end(lab: Lab, route: Route) -> None:
    """All records up to the end are given in order, tombstones and records without a key among them."""
    given = [Message(key=b"a", value=b"1"), Message(key=b"a"), Message(value=b"2"), Message(key=b"", value=b"")]
    route.produce(*given)
    assert list(lab.pair.source.read_state(route.source(), no_tick)) == [
        LogRecord(offset=offset, key=message.key, value=message.value) for offset, message in enumerate(given)
    ]


def test_state_hides_aborted_and_open(lab: Lab, mixed: Route) -> None:
    """Aborted records and those of an open transaction are not state; a marker at the end does not hold the read."""
    lab.open_transaction(Side.SOURCE, mixed.source(), *messages(2))
    found = lab.pair.source.read_state(mixed.source(), no_tick)
    assert [record.offset for record in found] == [0, 1, 6, 7, 9]


def test_state_after_only_aborted(lab: Lab, route: Route) -> None:
    """A log that holds only aborted records reads as empty, without waiting for a record to come."""
    route.transaction(*messages(5), outcome=Outcome.ABORTED)
    assert list(lab.pair.source.read_state(route.source(), no_tick)) == []


def test_state_begins_at_the_log_start(lab: Lab, mixed: Route) -> None:
    """What retention took is not missed."""
    lab.delete_records(Side.SOURCE, mixed.source(), 7)
    assert [record.offset for record in lab.pair.source.read_state(mixed.source(), no_tick)] == [7, 9]


def test_state_read_twice(lab: Lab, route: Route) -> None:
    """A second read sees what was written since the first."""
    route.produce(*messages(2))
    assert len(lab.pair.source.read_state(route.source(), no_tick)) == 2
    route.produce(*messages(1))
    assert len(lab.pair.source.read_state(route.source(), no_tick)) == 3


def test_state_ends_with_its_tick(lab: Lab, mixed: Route) -> None:
    """A tick that raises ends the read, and the next read is whole again."""
    with pytest.raises(Stop):
        lab.pair.source.read_state(mixed.source(), stop)
    assert len(lab.pair.source.read_state(mixed.source(), no_tick)) == 5


def test_first_visible_skips(lab: Lab, mixed: Route) -> None:
    """Aborted data and markers are passed over, and a marker's own offset counts as nothing."""
    assert lab.pair.source.first_visible(mixed.source(), 2, 10) == (6, BASE_MS + 6000)
    assert lab.pair.source.first_visible(mixed.source(), 8, 10) == (9, BASE_MS + 9000)
    assert lab.pair.source.first_visible(mixed.source(), 1, 2) == (1, BASE_MS + 1000)


def test_first_visible_of_nothing(lab: Lab, mixed: Route) -> None:
    """A range without a visible record has none: only aborted data, only a marker, or no width."""
    assert lab.pair.source.first_visible(mixed.source(), 2, 6) is None
    assert lab.pair.source.first_visible(mixed.source(), 8, 9) is None
    assert lab.pair.source.first_visible(mixed.source(), 4, 4) is None
    assert lab.pair.source.first_visible(mixed.source(), 10, 10) is None


def test_first_visible_without_timestamp(lab: Lab, route: Route) -> None:
    """A record without a timestamp has -1."""
    route.produce(Message(value=b"v", timestamp_ms=NO_TIMESTAMP))
    assert lab.pair.source.first_visible(route.source(), 0, 1) == (0, NO_TIMESTAMP)


def test_count_visible(lab: Lab, mixed: Route) -> None:
    """Only records that a reader is given are counted, the range's end not included."""
    reader = lab.pair.source
    counts = [
        reader.count_visible(mixed.source(), *ends, no_tick) for ends in [(0, 10), (0, 7), (2, 6), (7, 9), (3, 3)]
    ]
    assert counts == [5, 3, 0, 1, 0]


def test_present(lab: Lab, make_route: MakeRoute) -> None:
    """A record at the very offset is found, an aborted one only by who asks for it, a marker or a hole never."""
    compacted, route = make_route(settings=COMPACTED), make_route(partitions=2)
    keyed = [Message(key=key, value=b"v", timestamp_ms=BASE_MS) for key in (b"a", b"b", b"a")]
    compacted.produce(*keyed)
    lab.compact(Side.SOURCE, compacted.source())  # 0 is gone
    for number, outcome in ((0, Outcome.COMMITTED), (1, Outcome.ABORTED)):
        lab.transaction(Side.SOURCE, route.source(number), *keyed[:2], outcome=outcome)
    hole, committed, aborted_ = compacted.source(), route.source(0), route.source(1)

    def present(offset: int, *, aborted: bool) -> set[TopicPartition]:
        asked = dict.fromkeys((hole, committed, aborted_), offset)
        return set(lab.pair.source.present(asked, aborted=aborted, tick=no_tick))

    assert present(0, aborted=False) == {committed}
    assert present(0, aborted=True) == {committed, aborted_}
    assert present(1, aborted=False) == {hole, committed}
    assert present(1, aborted=True) == {hole, committed, aborted_}
    assert present(2, aborted=True) == {hole}  # the others have a marker there


def test_present_in_nothing(lab: Lab) -> None:
    """Asked for nothing it finds nothing, and does not wait."""
    assert not lab.pair.source.present({}, aborted=False, tick=no_tick)


def test_reads_end_at_the_stable_offset(lab: Lab, mixed: Route) -> None:
    """What lies behind the last stable offset is nothing to a reader, and it does not wait for it."""
    lab.open_transaction(Side.SOURCE, mixed.source(), *messages(2))
    assert lab.pair.source.count_visible(mixed.source(), 0, 12, no_tick) == 5
    assert lab.pair.source.count_visible(mixed.source(), 10, 12, no_tick) == 0
    assert lab.pair.source.count_visible(mixed.source(), 11, 12, no_tick) == 0
    assert lab.pair.source.first_visible(mixed.source(), 10, 12) is None
    assert lab.pair.source.first_visible(mixed.source(), 11, 12) is None


def test_reads_begin_at_the_log_start(lab: Lab, mixed: Route) -> None:
    """What retention took from the range's beginning is not counted, and not an error."""
    lab.delete_records(Side.SOURCE, mixed.source(), 7)
    assert lab.pair.source.count_visible(mixed.source(), 0, 10, no_tick) == 2
    assert lab.pair.source.first_visible(mixed.source(), 0, 10) == (7, BASE_MS + 7000)
    assert lab.pair.source.count_visible(mixed.source(), 0, 5, no_tick) == 0


def test_reads_pass_holes(lab: Lab, make_route: MakeRoute) -> None:
    """Offsets that compaction took are passed over by every read."""
    route = make_route(settings=COMPACTED)
    keys = (b"a", b"b", b"a", b"c", b"b")
    route.produce(*(Message(key=key, value=b"v", timestamp_ms=BASE_MS) for key in keys))
    lab.compact(Side.SOURCE, route.source())
    reader = lab.pair.source
    assert [record.offset for record in reader.read_state(route.source(), no_tick)] == [2, 3, 4, 5]
    assert reader.first_visible(route.source(), 0, 6) == (2, BASE_MS)
    assert reader.first_visible(route.source(), 0, 2) is None
    assert reader.count_visible(route.source(), 0, 5, no_tick) == 3


def offsets_in(lab: Lab, route: Route, start: int, end: int) -> list[int]:
    """Offsets of the records read from a range of the source."""
    return [record.offset for record in lab.pair.source.read_records(route.source(), start, end, no_tick)]


def test_records_are_whole(lab: Lab, route: Route) -> None:
    """A record comes with all that it has: nothing, an empty part and no part are told apart."""
    given = [
        Message(key=b"k", value=b"v", headers=(("a", b"1"), ("a", b""), ("", None)), timestamp_ms=BASE_MS),
        Message(key=b"", value=b"", timestamp_ms=BASE_MS + 1),
        Message(key=b"k", timestamp_ms=BASE_MS + 2),
        Message(value=bytes(range(256)), timestamp_ms=NO_TIMESTAMP),
    ]
    route.produce(*given)
    assert list(lab.pair.source.read_records(route.source(), 0, 4, no_tick)) == [
        Record(
            offset=offset,
            key=message.key,
            value=message.value,
            headers=message.headers,
            timestamp_ms=message.timestamp_ms,
        )
        for offset, message in enumerate(given)
    ]


def test_records_of_a_range(lab: Lab, mixed: Route) -> None:
    """Only what a reader is given comes, the range's end not included; a range past the stable offset ends there."""
    ranges = [(0, 10), (1, 7), (2, 6), (7, 9), (3, 3), (6, 100)]
    assert [offsets_in(lab, mixed, *ends) for ends in ranges] == [[0, 1, 6, 7, 9], [1, 6], [], [7], [], [6, 7, 9]]
    lab.open_transaction(Side.SOURCE, mixed.source(), *messages(2))
    assert offsets_in(lab, mixed, 9, 12) == [9]
    lab.delete_records(Side.SOURCE, mixed.source(), 7)
    assert offsets_in(lab, mixed, 0, 10) == [7, 9]


def test_records_pass_holes(lab: Lab, make_route: MakeRoute) -> None:
    """Offsets that compaction took are passed over."""
    route = make_route(settings=COMPACTED)
    route.produce(*(Message(key=key, value=b"v", timestamp_ms=BASE_MS) for key in (b"a", b"b", b"a", b"c", b"b")))
    lab.compact(Side.SOURCE, route.source())
    assert offsets_in(lab, route, 0, 5) == [2, 3, 4]


def test_records_are_left_unread(lab: Lab, route: Route) -> None:
    """A read that is closed midway is over, and the next one begins where it is told to."""
    route.produce(*messages(500))
    records = lab.pair.source.read_records(route.source(), 0, 500, no_tick)
    assert [next(records).offset for _ in range(3)] == [0, 1, 2]
    records.close()
    assert offsets_in(lab, route, 490, 495) == [490, 491, 492, 493, 494]


def test_records_end_with_their_tick(lab: Lab, mixed: Route) -> None:
    """A tick that raises ends the read."""
    with pytest.raises(Stop):
        list(lab.pair.source.read_records(mixed.source(), 0, 10, stop))


def test_records_with_a_header_that_cannot_be_told(lab: Lab, route: Route) -> None:
    """A header key that is not UTF-8 is an error with its place, not a record without headers."""
    route.produce(*messages(1), Message(value=b"v", headers=(("\udcff", b"1"),), timestamp_ms=BASE_MS))
    with pytest.raises(HeaderUnfaithful) as caught:
        offsets_in(lab, route, 0, 2)
    assert caught.value.offset == 1
