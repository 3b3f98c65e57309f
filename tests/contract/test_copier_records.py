"""``Copier``: records arrive as they were, and one that cannot is refused by its offset."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.clusters.ports import Copier
from airflow_provider_mm2.mirror.errors import (
    HeaderUnfaithful,
    MirrorError,
    RecordRefused,
    RecordTooLarge,
    TimestampZero,
)
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.contract.lab import BASE_MS, messages
from tests.contract.route import ALL, MakeRoute, Route, no_tick
from tests.fakes.log import NO_TIMESTAMP, Headers, Message


@pytest.fixture(params=list(Delivery))
def delivery(request: pytest.FixtureRequest) -> Delivery:
    """Give both ways of delivery: what is copied is the same."""
    found: Delivery = request.param
    return found


def chunk_until_refused(copier: Copier, route: Route) -> MirrorError:
    """The error that ends a chunk by its commit at the latest."""
    copier.begin()
    try:
        copier.copy(ALL, no_tick)
        results = copier.flush(no_tick)
        copier.add([], {route.target(): result.next_offset for result in results}, no_tick)
        copier.commit(no_tick)
    except MirrorError as error:
        return error
    raise AssertionError("nothing was refused")


def refusal(route: Route) -> MirrorError:
    """The error with which a copy of all ends; no progress is recorded, and nothing of a transaction is visible."""
    copier = route.assigned(route.range())
    error = chunk_until_refused(copier, route)
    copier.abort()
    assert route.lab.pair.target.committed(route.group, [route.target()], no_tick) == {}
    if route.lab.delivery is Delivery.EXACTLY_ONCE:
        assert route.copied() == []
    return error


@pytest.mark.parametrize(
    ("key", "value"),
    [(None, None), (None, b""), (b"", None), (b"", b""), (b"k", None), (None, b"v"), (b"\x00\xff", b"\xff\x00")],
)
def test_keys_and_values(route: Route, key: bytes | None, value: bytes | None) -> None:
    """An empty key or value is not a missing one, and bytes are bytes."""
    given = Message(key=key, value=value, timestamp_ms=BASE_MS)
    route.produce(given)
    route.copy(route.range())
    assert route.copied() == [given]


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("a", b"1"),),
        (("a", b"1"), ("a", b"2"), ("b", b"3"), ("a", b"1")),
        (("none", None), ("empty", b"")),
        (("", b"no name"),),
        (("schlüssel ☕", bytes(range(256))),),
    ],
    ids=["none", "one", "duplicates", "null-and-empty", "nameless", "not-ascii"],
)
def test_headers(route: Route, headers: Headers) -> None:
    """Headers keep their order, their duplicates, and the difference of a null from an empty value."""
    given = Message(key=b"k", value=b"v", headers=headers, timestamp_ms=BASE_MS)
    route.produce(given)
    route.copy(route.range())
    assert route.copied() == [given]


def test_mixed_headers_in_one_batch(route: Route) -> None:
    """Records with and without headers side by side each keep their own."""
    given = [
        Message(value=b"%d" % number, headers=(("n", b"%d" % number),) * (number % 3), timestamp_ms=BASE_MS)
        for number in range(50)
    ]
    route.produce(*given)
    route.copy(route.range())
    assert route.copied() == given


@pytest.mark.parametrize("timestamp_ms", [NO_TIMESTAMP, 1, BASE_MS])
def test_timestamps(route: Route, timestamp_ms: int) -> None:
    """A timestamp arrives as it was, also a missing one and one just after 1970."""
    given = Message(value=b"v", timestamp_ms=timestamp_ms)
    route.produce(given)
    route.copy(route.range())
    assert route.copied() == [given]


def test_timestamp_zero_is_refused(route: Route) -> None:
    """A record stamped exactly 0 is refused by its offset, before anything of its chunk is visible."""
    route.produce(*messages(2), Message(value=b"zero", timestamp_ms=0), *messages(1))
    error = refusal(route)
    assert isinstance(error, TimestampZero)
    assert (error.topic, error.partition, error.offset) == (route.topic, 0, 2)


def test_timestamp_zero_behind_the_bound(route: Route) -> None:
    """A record stamped 0 that is not to be copied is none of this run's business."""
    route.produce(*messages(2), Message(value=b"zero", timestamp_ms=0))
    (result,) = route.copy(route.range(end=2))
    assert (result.next_offset, result.records) == (2, 2)


def test_timestamp_zero_behind_the_cut(route: Route) -> None:
    """A record stamped 0 behind a cut is left for the next run to refuse."""
    route.produce(*messages(2), Message(value=b"zero", timestamp_ms=0))
    (result,) = route.copy(route.range(cut_ms=BASE_MS + 1000))
    assert (result.next_offset, result.records) == (1, 1)


def test_header_key_that_is_not_utf8(route: Route) -> None:
    """A header key that the client cannot carry is refused by the record's offset."""
    route.produce(*messages(1), Message(value=b"v", headers=(("\udcff", b"1"),), timestamp_ms=BASE_MS))
    error = refusal(route)
    assert isinstance(error, HeaderUnfaithful)
    assert (error.topic, error.partition, error.offset) == (route.topic, 0, 1)


def test_record_as_large_as_the_source_takes(make_route: MakeRoute) -> None:
    """Records above the defaults arrive when the target topic takes them, as the copier's own limit says."""
    settings = {"max.message.bytes": "3000000"}
    route = make_route(settings=settings, target_settings=settings)
    given = [Message(value=bytes(size), timestamp_ms=BASE_MS) for size in (1000, 2_500_000, 1_100_000, 10)]
    route.produce(*given)
    copier = route.copier(max_record_bytes=3_000_000)
    copier.assign([route.range()], BASE_MS)
    (result,) = route.chunk(copier)
    route.assert_exact(result)
    assert route.copied() == given


def test_record_too_large_for_the_target(make_route: MakeRoute) -> None:
    """A record that the target does not take is refused by offset, size and setting, and nothing is visible."""
    route = make_route(target_settings={"max.message.bytes": "50000"})
    route.produce(*messages(10), Message(value=bytes(100_000), timestamp_ms=BASE_MS), *messages(3))
    error = refusal(route)
    assert isinstance(error, RecordTooLarge)
    assert (error.topic, error.partition, error.offset) == (route.topic, 0, 10)
    assert error.bytes >= 100_000
    assert error.setting == "max.message.bytes"


def test_keyless_record_for_a_compacted_target(make_route: MakeRoute) -> None:
    """A record that the target's cleanup policy forbids is refused by the target's name."""
    route = make_route(target_settings={"cleanup.policy": "compact"})
    route.produce(Message(value=b"no key", timestamp_ms=BASE_MS))
    error = refusal(route)
    assert isinstance(error, RecordRefused)
    assert route.target_topic in error.target_topic


def test_record_from_too_far_in_the_future(make_route: MakeRoute) -> None:
    """A record stamped later than the target takes is refused by the target's name."""
    route = make_route(settings={"message.timestamp.after.max.ms": str(1 << 62)})
    route.produce(Message(value=b"far", timestamp_ms=BASE_MS + 10 * 365 * 86_400_000))
    error = refusal(route)
    assert isinstance(error, RecordRefused)
    assert route.target_topic in error.target_topic
