"""``Copier``: what is copied of a range, where it ends, and the map of it."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.errors import SourceGap, SourceSilent, TopicDeleted
from airflow_provider_mm2.mirror.model import RangeEnd
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.contract.lab import BASE_MS, COMPACTED, Lab, Side, messages
from tests.contract.route import ALL, NOW_MS, MakeRoute, Route, no_tick, segment
from tests.fakes.log import Message, Outcome


@pytest.fixture(params=list(Delivery))
def delivery(request: pytest.FixtureRequest) -> Delivery:
    """Give both ways of delivery: what is copied is the same."""
    found: Delivery = request.param
    return found


def test_contiguous_range_is_one_segment(route: Route) -> None:
    """Records without a hole on either side are one segment, and the range ends at its bound."""
    route.produce(*messages(100))
    (result,) = route.copy(route.range())
    assert result.source == route.source()
    assert (result.next_offset, result.records, result.ended) == (100, 100, RangeEnd.BOUND)
    assert result.segments == (segment(0, 0, 100),)
    assert (result.future, result.future_records) == (None, 0)
    assert route.copied() == messages(100)


def test_empty_range(route: Route) -> None:
    """A range of no width has ended before anything is read."""
    route.produce(*messages(3))
    (result,) = route.copy(route.range(start=3))
    assert (result.next_offset, result.records, result.segments, result.ended) == (3, 0, (), RangeEnd.BOUND)


def test_end_is_not_included(route: Route) -> None:
    """Nothing at or behind the bound is copied, though it could be read."""
    route.produce(*messages(10))
    (result,) = route.copy(route.range(start=2, end=7))
    assert (result.next_offset, result.ended) == (7, RangeEnd.BOUND)
    assert result.segments == (segment(2, 0, 5),)
    assert route.copied() == messages(5, first=2)


def test_bound_inside_aborted_data(route: Route) -> None:
    """A bound below which nothing visible is left is reached, though the next record lies behind it."""
    route.produce(*messages(2))
    route.transaction(*messages(4), outcome=Outcome.ABORTED)
    route.produce(*messages(2, first=7))
    (result,) = route.copy(route.range(end=5))
    assert (result.next_offset, result.records, result.ended) == (5, 2, RangeEnd.BOUND)


def test_committed_transactions(route: Route) -> None:
    """A marker on the source is a hole there: the map goes on behind it."""
    route.transaction(*messages(3))
    route.transaction(*messages(2, first=4))
    (result,) = route.copy(route.range())
    assert result.segments == (segment(0, 0, 3), segment(4, 3, 2))
    assert (result.next_offset, result.records, result.ended) == (7, 5, RangeEnd.BOUND)
    route.assert_exact(result)


def test_aborted_data_in_the_middle(route: Route) -> None:
    """Aborted records are not copied, and the map has a hole where they were."""
    route.produce(*messages(2))
    route.transaction(*messages(5), outcome=Outcome.ABORTED)
    route.produce(*messages(2, first=8))
    (result,) = route.copy(route.range())
    assert result.segments == (segment(0, 0, 2), segment(8, 2, 2))
    assert (result.next_offset, result.records) == (10, 4)


def test_aborted_tail_is_reached(route: Route) -> None:
    """A bound behind aborted data and markers is reached by the end of the log, not by a record."""
    route.produce(*messages(2))
    route.transaction(*messages(5), outcome=Outcome.ABORTED)
    (result,) = route.copy(route.range())
    assert (result.next_offset, result.records, result.ended) == (8, 2, RangeEnd.BOUND)


def test_only_aborted_data(route: Route) -> None:
    """A range of which nothing is visible is passed, with nothing written."""
    route.transaction(*messages(5), outcome=Outcome.ABORTED)
    (result,) = route.copy(route.range())
    assert (result.next_offset, result.records, result.segments, result.ended) == (6, 0, (), RangeEnd.BOUND)
    assert route.copied() == []


def test_open_transaction_is_left(lab: Lab, route: Route) -> None:
    """What lies behind the last stable offset is not read; the bound is below it."""
    route.produce(*messages(3))
    lab.open_transaction(Side.SOURCE, route.source(), *messages(2, first=3))
    (result,) = route.copy(route.range())
    assert (result.next_offset, result.records, result.ended) == (3, 3, RangeEnd.BOUND)


def test_holes_of_compaction(lab: Lab, make_route: MakeRoute) -> None:
    """Offsets that compaction took make new segments, and are no gap."""
    route = make_route(settings=COMPACTED)
    keys = (b"a", b"b", b"a", b"c", b"b", b"d")
    route.produce(*(Message(key=key, value=b"%d" % at, timestamp_ms=BASE_MS) for at, key in enumerate(keys)))
    route.produce(Message(key=b"c", value=b"6", timestamp_ms=BASE_MS))
    lab.compact(Side.SOURCE, route.source())
    (result,) = route.copy(route.range())
    assert result.segments == (segment(2, 0, 1), segment(4, 1, 4))
    assert (result.next_offset, result.records) == (8, 5)
    route.assert_exact(result)


def test_behind_our_own_marker(route: Route) -> None:
    """The commit of a transaction occupies an offset on the target, and the next copy begins behind it."""
    route.produce(*messages(6))
    first = route.copy(route.range(end=4))
    second = route.copy(route.range(start=4))
    found = (*first[0].segments, *second[0].segments)
    assert found == (segment(0, 0, 4), segment(4, 4 + route.marker, 2))
    route.assert_exact(*first, *second)


def test_start_below_the_log(lab: Lab, route: Route) -> None:
    """A range that begins below the log start is refused with both offsets, never begun further on."""
    route.produce(*messages(10))
    lab.delete_records(Side.SOURCE, route.source(), 6)
    copier = route.assigned(route.range(start=2))
    copier.begin()
    with pytest.raises(SourceGap) as caught:
        copier.copy(ALL, no_tick)
    assert (caught.value.topic, caught.value.start, caught.value.end) == (route.topic, 2, 6)
    copier.abort()
    assert route.copied() == []


def test_bound_that_is_never_reached(lab: Lab, route: Route) -> None:
    """A source that says nothing while a bound is not reached is given up after the limit, by name."""
    route.produce(*messages(2))
    lab.open_transaction(Side.SOURCE, route.source(), *messages(2))
    copier = route.copier(silence_limit_s=2)
    copier.assign([route.range(end=4)], NOW_MS)
    copier.begin()
    with pytest.raises(SourceSilent) as caught:
        copier.copy(ALL, no_tick)
    (waiting,) = caught.value.waiting
    assert waiting.startswith(str(route.source()))


def test_source_topic_is_gone(lab: Lab, route: Route) -> None:
    """A source topic that was deleted before the copy began is named, and not created by asking."""
    route.produce(*messages(3))
    copier = route.copier(silence_limit_s=10)
    wanted = route.range()
    lab.delete_topic(Side.SOURCE, route.topic)
    copier.assign([wanted], NOW_MS)
    copier.begin()
    with pytest.raises(TopicDeleted) as caught:
        copier.copy(ALL, no_tick)
    assert (caught.value.topic, caught.value.alias) == (route.topic, lab.pair.source.alias)
    assert route.topic not in lab.pair.source.list_topics()


def test_several_partitions(make_route: MakeRoute) -> None:
    """Each range has its own result, partition by partition the same on both sides."""
    route = make_route(partitions=3)
    route.produce(*messages(5), partition=0)
    route.produce(*messages(7, first=10), partition=2)
    results = {
        result.source.partition: result for result in route.copy(*(route.range(partition=at) for at in range(3)))
    }
    assert {at: (result.next_offset, result.ended) for at, result in results.items()} == {
        0: (5, RangeEnd.BOUND),
        1: (0, RangeEnd.BOUND),
        2: (7, RangeEnd.BOUND),
    }
    assert (route.copied(0), route.copied(1), route.copied(2)) == (messages(5), [], messages(7, first=10))


def test_several_topics(make_route: MakeRoute) -> None:
    """Ranges of several topics are copied in one transaction, each to its own target."""
    one, other = make_route(), make_route()
    one.produce(*messages(4))
    other.produce(*messages(3, first=50))
    copier = one.assigned(one.range(), other.range())
    copier.begin()
    copier.copy(ALL, no_tick)
    results = copier.flush(no_tick)
    assert {result.source for result in results} == {one.source(), other.source()}
    copier.add([], {one.target(): 4, other.target(): 3}, no_tick)
    copier.commit(no_tick)
    copier.see({one.target(): 4, other.target(): 3}, {one.target(): 4, other.target(): 3}, no_tick)
    assert (one.copied(), other.copied()) == (messages(4), messages(3, first=50))


def test_leader_epoch_of_the_last_record(route: Route) -> None:
    """The last record's leader epoch is given, and a range that names it is copied on from there."""
    route.produce(*messages(4))
    (first,) = route.copy(route.range(end=2))
    assert first.leader_epoch == 0
    (second,) = route.copy(route.range(start=2, leader_epoch=first.leader_epoch))
    assert (second.next_offset, second.leader_epoch) == (4, 0)
    route.assert_exact(first, second)
