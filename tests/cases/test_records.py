"""Records arrive as they were: null and empty, headers, timestamps, sizes; what cannot be carried stops by name."""

from __future__ import annotations

from itertools import product

import pytest

from airflow_provider_mm2.mirror.errors import HeaderUnfaithful, TimestampZero
from tests.cases.scenario import MIDNIGHT, Scenario, at, copied, ms, record
from tests.contract.raw_produce import produce_raw
from tests.fakes.log import Headers, Message

pytestmark = pytest.mark.broker

NOON = ms(at("12:00"))
REPORTED_HEADERS: Headers = (("a", None), ("a", b""), ("a", b"\xff\x00"), ("", b"x"), ("é", b"y"))


def test_null_and_empty_stay_apart(scenario: Scenario) -> None:
    """K53: five records byte for byte, null and empty distinct in key and value."""
    pairs = ((b"k1", b"v1"), (b"k1", None), (None, b"v"), (b"", b""), (None, None))
    sent = [Message(key=key, value=value, timestamp_ms=NOON) for key, value in pairs]
    scenario.produce(*sent)
    scenario.run()
    assert scenario.mirrored() == sent


def test_headers_keep_order_duplicates_and_null(scenario: Scenario) -> None:
    """K55: the header list is equal and in order; a record without headers has none."""
    sent = [
        Message(value=b"1", headers=REPORTED_HEADERS, timestamp_ms=NOON),
        Message(value=b"2", timestamp_ms=NOON),
        Message(value=b"3", headers=REPORTED_HEADERS[::-1], timestamp_ms=NOON),
    ]
    scenario.produce(*sent)
    scenario.run()
    assert scenario.mirrored() == sent


def test_every_mixture_of_the_odd(scenario: Scenario) -> None:
    """K53 and K55, neighbours: all combinations of odd keys, values, headers and timestamps come out equal."""
    keys = (None, b"", b"k", b"\x00" * 300)
    values = (None, b"", b"v", bytes(range(256)))
    headers: tuple[Headers, ...] = ((), REPORTED_HEADERS, (("h", None),) * 3, (("ключ", "ж".encode()),))
    stamps = (NOON, 1, -1)
    sent = [
        Message(key=key, value=value, headers=header, timestamp_ms=stamp)
        for key, value, header, stamp in product(keys, values, headers, stamps)
    ]
    scenario.produce(*sent)
    assert copied(scenario.run()) == 4 * 4 * 4 * 3
    assert scenario.mirrored() == sent


def test_very_long_header_lists(scenario: Scenario) -> None:
    """K55, neighbour: thousands of headers, a long header key and a large header value."""
    sent = [
        Message(headers=tuple((f"h{index % 7}", b"%d" % index) for index in range(5000)), timestamp_ms=NOON),
        Message(headers=(("k" * 30_000, b"v"),), timestamp_ms=NOON),
        Message(headers=(("big", b"v" * 900_000),), timestamp_ms=NOON),
        Message(value=b"after", timestamp_ms=NOON),
    ]
    scenario.produce(*sent)
    scenario.run()
    assert scenario.mirrored() == sent


def test_a_header_key_that_is_not_text_stops_by_name(scenario: Scenario) -> None:
    """K55: a header key that the client cannot carry stops the run with the offset; nothing of it is visible."""
    odd = Message(value=b"odd", headers=(("ok", b"1"), ("\udcff\udcfe", b"2")), timestamp_ms=NOON)
    scenario.produce(record(0), record(1), odd, record(3))
    error = scenario.fails(HeaderUnfaithful)
    assert (error.topic, error.partition, error.offset) == (scenario.topic, 0, 2)
    assert not error.retriable
    assert scenario.mirrored() == []


@pytest.mark.xfail(strict=True, reason="the client gives a header key up to its first NUL byte, and no way to tell")
def test_a_header_key_with_a_nul_byte_stops_by_name(scenario: Scenario) -> None:
    """K55: a header key that the client cuts at a NUL byte stops the run rather than arrive shortened."""
    servers = scenario.addresses["source"]["bootstrap.servers"]
    odd = Message(value=b"odd", headers=(("ab\0cd", b"1"),), timestamp_ms=NOON)
    produce_raw(servers, scenario.source(), odd)
    scenario.fails(HeaderUnfaithful)


def test_timestamps_of_1_and_none_are_kept(scenario: Scenario) -> None:
    """K35: records stamped 1 and -1 (none) go through unchanged, selected by offset, whatever the interval."""
    sent = [record(0, 1), record(1, -1), record(2, NOON), record(3, -1), record(4, 1)]
    scenario.produce(*sent)
    assert copied(scenario.run(at("13:00"))) == 5
    assert scenario.mirrored() == sent


def test_a_timestamp_of_0_stops_by_name(scenario: Scenario) -> None:
    """K35: a record stamped exactly 0 stops the run with its offset, and is never stored as now."""
    scenario.produce(record(0, 1), record(1, -1), record(2, 0), record(3, NOON))
    error = scenario.fails(TimestampZero)
    assert (error.topic, error.partition, error.offset) == (scenario.topic, 0, 2)
    assert not error.retriable
    assert scenario.mirrored() == []


def test_a_timestamp_of_0_behind_the_cut_does_not_stop(scenario: Scenario) -> None:
    """K35, neighbour: what lies before the record is mirrored when an interval ends there; then it stops."""
    scenario.produce(record(0, NOON - 1), record(1, NOON), record(2, 0))
    assert copied(scenario.run(at("12:00"))) == 1
    assert scenario.fails(TimestampZero, at("12:01")).offset == 2
    assert scenario.numbers() == [0]


def test_negative_timestamps_are_kept(scenario: Scenario) -> None:
    """K35, neighbour: a timestamp before 1970 arrives as it is, and does not pass for none."""
    sent = [record(0, -5), record(1, -86_400_000), record(2, NOON)]
    scenario.produce(*sent)
    scenario.run()
    assert [message.timestamp_ms for message in scenario.mirrored()] == [-5, -86_400_000, NOON]


def test_timestamps_at_the_edges_of_an_interval(scenario: Scenario) -> None:
    """K35, neighbour: the millisecond before 1970-01-01T00:00:00.002 is in, that one is not."""
    scenario.produce(record(0, 1), record(1, 2), record(2, ms(MIDNIGHT)))
    scenario.run(at("00:00"))
    assert scenario.numbers() == [0, 1]
