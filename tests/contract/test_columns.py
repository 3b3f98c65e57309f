"""``ClusterReader.read_columns``: what a reader sees of a range, many records at a time."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.errors import HeaderUnfaithful, TopicDeleted
from airflow_provider_mm2.mirror.model import TopicPartition
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


def offsets_in(lab: Lab, route: Route, start: int, end: int, *, aborted: bool = False) -> list[int]:
    """Offsets of all records in a range of the source."""
    read = lab.pair.source.read_columns(route.source(), start, end, no_tick, aborted=aborted)
    return [offset for columns in read for offset in range(columns.start, columns.end)]


def test_columns_are_whole(lab: Lab, route: Route) -> None:
    """Each column has what its record has: nothing, an empty part and no part are told apart."""
    given = [
        Message(key=b"k", value=b"v", headers=(("a", b"1"), ("a", b""), ("", None)), timestamp_ms=BASE_MS),
        Message(key=b"", value=b"", timestamp_ms=BASE_MS + 1),
        Message(key=b"k", timestamp_ms=BASE_MS + 2),
        Message(value=bytes(range(256)), timestamp_ms=NO_TIMESTAMP),
    ]
    route.produce(*given)
    read = [*lab.pair.source.read_columns(route.source(), 0, 4, no_tick)]
    assert [row for columns in read for row in columns.rows()] == [
        (message.key, message.value, message.timestamp_ms, message.headers or None) for message in given
    ]
    assert sum(map(len, read)) == 4


def test_columns_of_a_range(lab: Lab, mixed: Route) -> None:
    """Only what a reader is given comes, the range's end not included; what lies behind the stable offset does not."""
    ranges = [(0, 10), (1, 7), (2, 6), (7, 9), (3, 3), (6, 100)]
    assert [offsets_in(lab, mixed, *ends) for ends in ranges] == [[0, 1, 6, 7, 9], [1, 6], [], [7], [], [6, 7, 9]]
    lab.open_transaction(Side.SOURCE, mixed.source(), *messages(2))
    assert offsets_in(lab, mixed, 9, 12) == [9]
    lab.delete_records(Side.SOURCE, mixed.source(), 7)
    assert offsets_in(lab, mixed, 0, 10) == [7, 9]


def test_aborted_records_where_asked_for(lab: Lab, mixed: Route) -> None:
    """A ``read_uncommitted`` reader's records come where asked for, open ones too, and never a marker."""
    lab.open_transaction(Side.SOURCE, mixed.source(), *messages(2))
    assert offsets_in(lab, mixed, 0, 12, aborted=True) == [0, 1, 2, 3, 4, 6, 7, 9, 10, 11]
    assert offsets_in(lab, mixed, 3, 7, aborted=True) == [3, 4, 6]


def test_columns_lie_side_by_side(lab: Lab, make_route: MakeRoute) -> None:
    """Columns are cut where compaction left a hole."""
    route = make_route(settings=COMPACTED)
    route.produce(*(Message(key=key, value=b"v", timestamp_ms=BASE_MS) for key in (b"a", b"b", b"a", b"c", b"b")))
    lab.compact(Side.SOURCE, route.source())
    read = lab.pair.source.read_columns(route.source(), 0, 5, no_tick)
    assert [(columns.start, columns.end, columns.keys) for columns in read] == [(2, 5, [b"a", b"c", b"b"])]


def test_several_reads_at_once(lab: Lab, route: Route) -> None:
    """Two reads of one cluster go on side by side, and one that is left unread hinders nobody."""
    route.produce(*messages(500))
    first = lab.pair.source.read_columns(route.source(), 0, 500, no_tick)
    second = lab.pair.source.read_columns(route.source(), 100, 500, no_tick)
    here, there = next(first), next(second)
    assert (here.start, there.start) == (0, 100)
    first.close()
    assert len(there) + sum(map(len, second)) == 400
    assert offsets_in(lab, route, 490, 495) == [490, 491, 492, 493, 494]


def test_columns_end_with_their_tick(lab: Lab, mixed: Route) -> None:
    """A tick that raises ends the read."""
    with pytest.raises(Stop):
        list(lab.pair.source.read_columns(mixed.source(), 0, 10, stop))
    assert len(offsets_in(lab, mixed, 0, 10)) == 5


def test_columns_of_nothing(lab: Lab) -> None:
    """A topic that does not exist is refused by its name."""
    with pytest.raises(TopicDeleted):
        list(lab.pair.source.read_columns(TopicPartition(lab.new_name(), 0), 0, 10, no_tick))


def test_columns_with_a_header_that_cannot_be_told(lab: Lab, route: Route) -> None:
    """A header key that is not UTF-8 is an error with its place."""
    route.produce(*messages(1), Message(value=b"v", headers=(("\udcff", b"1"),), timestamp_ms=BASE_MS))
    with pytest.raises(HeaderUnfaithful) as caught:
        offsets_in(lab, route, 0, 2)
    assert caught.value.offset == 1
