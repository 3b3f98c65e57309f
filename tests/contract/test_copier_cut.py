"""``Copier``: the cut ends a range before the first visible record at or after it; nothing behind it is touched."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.model import ChunkLimits, RangeEnd
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.contract.lab import BASE_MS, messages
from tests.contract.route import ALL, NOW_MS, MakeRoute, Route, segment
from tests.fakes.log import NO_TIMESTAMP, Message, Outcome

FUTURE_MS = NOW_MS + 5 * 60 * 1000


@pytest.fixture(params=list(Delivery))
def delivery(request: pytest.FixtureRequest) -> Delivery:
    """Give both ways of delivery: what is copied is the same."""
    found: Delivery = request.param
    return found


def stamped(*timestamps: int) -> list[Message]:
    """Records with these timestamps."""
    return [Message(value=b"%d" % number, timestamp_ms=stamp) for number, stamp in enumerate(timestamps)]


def test_cut_at_the_first_record_after(route: Route) -> None:
    """The range ends before the first record at or after the cut, which is not copied."""
    route.produce(*messages(10))
    (result,) = route.copy(route.range(cut_ms=BASE_MS + 6000))
    assert (result.next_offset, result.records, result.ended) == (6, 6, RangeEnd.CUT)
    assert result.segments == (segment(0, 0, 6),)
    assert route.copied() == messages(6)


def test_cut_between_two_records(route: Route) -> None:
    """A cut that no record is stamped with ends before the next later one."""
    route.produce(*messages(10))
    (result,) = route.copy(route.range(cut_ms=BASE_MS + 5001))
    assert (result.next_offset, result.ended) == (6, RangeEnd.CUT)


def test_cut_later_than_all(route: Route) -> None:
    """Without a record at or after the cut the range ends at its bound."""
    route.produce(*messages(5))
    (result,) = route.copy(route.range(cut_ms=BASE_MS + 5000))
    assert (result.next_offset, result.ended) == (5, RangeEnd.BOUND)


def test_cut_at_the_first_record(route: Route) -> None:
    """A cut at the very first record copies nothing and moves nothing."""
    route.produce(*messages(5))
    (result,) = route.copy(route.range(cut_ms=BASE_MS))
    assert (result.next_offset, result.records, result.segments, result.ended) == (0, 0, (), RangeEnd.CUT)
    assert route.copied() == []


def test_earlier_records_behind_the_cut_wait(route: Route) -> None:
    """Records behind the cut are left for the next run, those with earlier timestamps too, and then copied once."""
    disordered = stamped(BASE_MS, BASE_MS + 1, BASE_MS + 9, BASE_MS + 2, BASE_MS + 3)
    route.produce(*disordered)
    first = route.copy(route.range(cut_ms=BASE_MS + 5))
    assert (first[0].next_offset, first[0].ended) == (2, RangeEnd.CUT)
    assert route.copied() == disordered[:2]
    second = route.copy(route.range(start=2, cut_ms=BASE_MS + 20))
    assert (second[0].next_offset, second[0].ended) == (5, RangeEnd.BOUND)
    route.assert_exact(*first, *second)
    assert route.copied() == disordered


def test_cut_behind_markers(route: Route) -> None:
    """Markers and aborted data before the cutting record are passed: they are nothing that could be lost."""
    route.produce(*messages(2))
    route.transaction(*messages(3), outcome=Outcome.ABORTED)
    route.produce(*messages(2, first=6))
    (result,) = route.copy(route.range(cut_ms=BASE_MS + 6000))
    assert result.ended is RangeEnd.CUT
    assert 2 <= result.next_offset <= 6
    (rest,) = route.copy(route.range(start=result.next_offset))
    route.assert_exact(result, rest)


def test_aborted_records_do_not_cut(route: Route) -> None:
    """Only a record that can be seen cuts; an aborted one with a late timestamp does not."""
    route.transaction(Message(value=b"late", timestamp_ms=BASE_MS + 60_000), outcome=Outcome.ABORTED)
    route.produce(*messages(3))
    (result,) = route.copy(route.range(cut_ms=BASE_MS + 5000))
    assert (result.next_offset, result.records, result.ended) == (5, 3, RangeEnd.BOUND)


def test_records_without_timestamp_do_not_cut(route: Route) -> None:
    """A record without a timestamp is copied, wherever the cut is."""
    given = stamped(BASE_MS, NO_TIMESTAMP, BASE_MS + 1, BASE_MS + 10)
    route.produce(*given)
    (result,) = route.copy(route.range(cut_ms=BASE_MS + 5))
    assert (result.next_offset, result.ended) == (3, RangeEnd.CUT)
    assert route.copied() == given[:3]


def test_future_records_do_not_cut(route: Route) -> None:
    """A record stamped later than now plus five minutes is copied and told of; it never ends a range."""
    given = stamped(BASE_MS, FUTURE_MS + 1, BASE_MS + 1, FUTURE_MS + 7, BASE_MS + 2)
    route.produce(*given)
    (result,) = route.copy(route.range(cut_ms=BASE_MS + 1000))
    assert (result.next_offset, result.records, result.ended) == (5, 5, RangeEnd.BOUND)
    assert (result.future, result.future_records) == ((1, FUTURE_MS + 1), 2)
    assert route.copied() == given


def test_five_minutes_are_not_the_future(route: Route) -> None:
    """A record stamped exactly now plus five minutes still cuts."""
    route.produce(*stamped(BASE_MS, FUTURE_MS, BASE_MS + 1))
    (result,) = route.copy(route.range(cut_ms=BASE_MS + 1000))
    assert (result.next_offset, result.ended, result.future_records) == (1, RangeEnd.CUT, 0)


def test_future_records_without_a_cut(route: Route) -> None:
    """Also where no cut is asked for, records from the future are told of."""
    route.produce(*stamped(BASE_MS, FUTURE_MS + 1))
    (result,) = route.copy(route.range())
    assert (result.next_offset, result.future) == (2, (1, FUTURE_MS + 1))


def test_cut_range_stands_still(make_route: MakeRoute) -> None:
    """A range that has been cut stays where it is while another one of the run goes on over several chunks."""
    route = make_route(partitions=2)
    route.produce(*messages(2000), partition=0)
    big = [Message(value=bytes(20_000), timestamp_ms=BASE_MS) for _ in range(2000)]
    route.produce(*big, partition=1)
    copier = route.assigned(route.range(cut_ms=BASE_MS + 10_000), route.range(partition=1, cut_ms=BASE_MS + 10_000))
    chunks = [route.chunk(copier, ChunkLimits(seconds=60, bytes=1_000_000))]
    while any(result.ended is None for result in chunks[-1]):
        chunks.append(route.chunk(copier, ChunkLimits(seconds=60, bytes=1_000_000)))
    chunks.append(route.chunk(copier, ALL))
    assert len(chunks) > 2
    of_first = [result for chunk in chunks for result in chunk if result.source == route.source(0)]
    assert {(result.next_offset, result.ended) for result in of_first if result.ended} == {(10, RangeEnd.CUT)}
    assert sum(result.records for result in of_first) == 10
    assert route.copied(0) == messages(10)
    assert route.copied(1) == big


@pytest.mark.parametrize("cut_at", [0, 1, 1999, 2000, 2001, 4999])
def test_cut_anywhere(route: Route, cut_at: int) -> None:
    """Wherever the cut falls among many records, two runs tile the log without hole or overlap."""
    route.produce(*messages(5000))
    first = route.copy(route.range(cut_ms=BASE_MS + cut_at * 1000))
    assert (first[0].next_offset, first[0].records, first[0].ended) == (cut_at, cut_at, RangeEnd.CUT)
    second = route.copy(route.range(start=cut_at))
    route.assert_exact(*first, *second)
    assert route.copied() == messages(5000)
