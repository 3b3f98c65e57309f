"""Large records, and many small ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from airflow_provider_mm2.mirror.clusters.confluent import copy
from airflow_provider_mm2.mirror.errors import RecordTooLarge
from tests.cases.by_hand import produce_with, set_topic_setting
from tests.cases.conftest import MakeScenario
from tests.cases.scenario import MIDNIGHT, Scenario, copied, ms, record
from tests.fakes.log import Message

pytestmark = pytest.mark.broker

DEFAULT_LIMIT = 1_048_588
FIVE_MB = {"max.message.bytes": "5000000"}
SETTINGS_LEFT = {"configs": False}
"""Else a run gives the target's topic the source's limit."""
LARGE = 1_500_000


def large_by(where: str, size: int = LARGE) -> Message:
    """A record that is large by its key, value or headers."""
    data = b"x" * size
    parts = {"key": {"key": data}, "value": {"value": data}, "headers": {"headers": (("h", data),)}}
    return Message(timestamp_ms=ms(MIDNIGHT), **parts[where])  # type: ignore[arg-type]


def twenty_with(large: Message) -> list[Message]:
    """Twenty records, the one at offset 10 large."""
    return [large if offset == 10 else record(offset) for offset in range(20)]


@pytest.mark.parametrize("where", ["key", "value", "headers"])
def test_a_large_record_fits_what_the_mirror_made(make_scenario: MakeScenario, where: str) -> None:
    """K14: the target gets the source's limit at creation, and the producer is sized for it."""
    scenario = make_scenario(settings=FIVE_MB)
    sent = twenty_with(large_by(where))
    scenario.produce(*sent)
    assert copied(scenario.run()) == 20
    assert scenario.mirrored() == sent


@pytest.mark.parametrize("where", ["key", "value", "headers"])
def test_a_record_too_large_for_the_target_stops_by_name(make_scenario: MakeScenario, where: str) -> None:
    """K14: where it cannot fit, nothing of the chunk is visible, and the error gives offset, size and setting."""
    scenario = make_scenario(settings=FIVE_MB, sync_topics=SETTINGS_LEFT)
    scenario.create_target()
    sent = twenty_with(large_by(where))
    scenario.produce(*sent)
    error = scenario.fails(RecordTooLarge)
    assert (error.topic, error.partition, error.offset) == (scenario.topic, 0, 10)
    assert error.bytes >= LARGE
    assert error.setting == "max.message.bytes"
    assert not error.retriable
    assert scenario.mirrored() == []
    set_topic_setting(scenario.addresses["target"], scenario.target().topic, "max.message.bytes", "5000000")
    assert copied(scenario.run()) == 20
    assert scenario.mirrored() == sent


def test_a_target_made_beforehand_gets_the_limit(make_scenario: MakeScenario) -> None:
    """K14, neighbour: a run raises what a topic takes that was there before it, and then the record fits."""
    scenario = make_scenario(settings=FIVE_MB)
    scenario.create_target()
    scenario.produce(Message(value=b"x" * 2_000_000, timestamp_ms=ms(MIDNIGHT)))
    assert copied(scenario.run()) == 1


def test_a_target_that_takes_less_is_warned_of(make_scenario: MakeScenario) -> None:
    """K14: the plan compares max.message.bytes and warns before any record is too large."""
    scenario = make_scenario(settings=FIVE_MB, sync_topics=SETTINGS_LEFT)
    scenario.create_target()
    scenario.produce(record(0))
    assert any("max.message.bytes" in warning for warning in scenario.run().warnings)


def test_what_is_mirrored_before_a_large_record_stays(make_scenario: MakeScenario) -> None:
    """K14, neighbour: chunks before the large record are kept; a run again stops at it without copying twice."""
    scenario = make_scenario(settings=FIVE_MB, sync_topics=SETTINGS_LEFT)
    scenario.create_target()
    scenario.produce(*[record(offset) for offset in range(10)])
    assert copied(scenario.run()) == 10
    scenario.produce(large_by("value"))
    for _ in range(2):
        assert scenario.fails(RecordTooLarge).offset == 10
    assert scenario.numbers() == list(range(10))


def test_records_exactly_at_the_limit(scenario: Scenario) -> None:
    """K14, neighbour: the largest record that the source takes is one that the target takes."""
    accepted = 0
    for size in range(DEFAULT_LIMIT - 60, DEFAULT_LIMIT - 90, -1):
        with suppress(AssertionError):
            scenario.produce(Message(value=b"x" * size, timestamp_ms=ms(MIDNIGHT)))
            accepted = accepted or size
            break
    assert accepted
    scenario.produce(record(1))
    assert copied(scenario.run()) == 2
    assert len(scenario.mirrored()[0].value or b"") == accepted


def test_a_record_that_only_fits_compressed(scenario: Scenario) -> None:
    """K14, neighbour: a compressed record under the source's limit and over it unpacked is named, then fits."""
    packed = Message(value=b"x" * 3_000_000, timestamp_ms=ms(MIDNIGHT))
    produce_with(scenario.addresses["source"], scenario.source(), packed, record(1), compression_type="gzip")
    error = scenario.fails(RecordTooLarge)
    assert (error.offset, error.bytes) == (0, 3_000_000)
    set_topic_setting(scenario.addresses["target"], scenario.target().topic, "max.message.bytes", "5000000")
    assert copied(scenario.run()) == 2


def test_batches_fit_a_topic_with_a_small_limit(make_scenario: MakeScenario) -> None:
    """K14, neighbour: a broker counts whole batches, so many records that each fit must not go in one too large."""
    scenario = make_scenario(settings={"max.message.bytes": "10000"})
    sent = [Message(value=b"%04d" % number * 200, timestamp_ms=ms(MIDNIGHT)) for number in range(300)]
    produce_with(scenario.addresses["source"], scenario.source(), *sent, batch_size="5000")
    assert copied(scenario.run()) == 300
    assert scenario.mirrored() == sent


def test_a_large_record_in_a_long_chunk_stops_at_once(
    make_scenario: MakeScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K14, neighbour: what is queued behind the large record does not hide it, and is not waited for."""
    monkeypatch.setattr(copy, "IN_FLIGHT_BYTES", 100_000)
    scenario = make_scenario(settings=FIVE_MB, sync_topics=SETTINGS_LEFT)
    scenario.create_target()
    filler = [Message(value=b"x" * 2000, timestamp_ms=ms(MIDNIGHT)) for _ in range(5000)]
    scenario.produce(*filler[:2500], large_by("value"), *filler[2500:])
    began = time.monotonic()
    assert scenario.fails(RecordTooLarge).offset == 2500
    assert time.monotonic() - began < 30
    assert scenario.mirrored() == []


def test_a_topic_without_a_limit(make_scenario: MakeScenario) -> None:
    """K14, neighbour: a topic that takes records of any size (the largest number there is) is mirrored."""
    scenario = make_scenario(settings={"max.message.bytes": str(2**31 - 1)})
    sent = twenty_with(large_by("value", 6_000_000))
    scenario.produce(*sent)
    assert copied(scenario.run()) == 20
    assert scenario.mirrored() == sent


@pytest.mark.parametrize("where", ["key", "value", "headers"])
def test_memory_is_bounded_wherever_the_bytes_are(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """K84, neighbour: what is in flight is bounded by bytes, be they in keys, values or headers."""
    monkeypatch.setattr(copy, "IN_FLIGHT_BYTES", 400_000)
    waited = copy.ConfluentCopier._let_drain
    in_flight: list[int] = []

    def let_drain(copier: copy.ConfluentCopier, tick: Callable[[], None]) -> None:
        waited(copier, tick)
        in_flight.append(len(copier._producer))

    monkeypatch.setattr(copy.ConfluentCopier, "_let_drain", let_drain)
    scenario.produce(*(large_by(where, 20_000) for _ in range(2000)))
    assert copied(scenario.run()) == 2000
    assert max(in_flight) <= 20


def test_half_a_million_small_records(make_scenario: MakeScenario) -> None:
    """K84: 500,000 small records in one interval arrive by exact count, whatever the producer's queue holds."""
    scenario = make_scenario(partitions=2)
    for partition in range(2):
        for first in range(0, 250_000, 50_000):
            numbers = range(first, first + 50_000)
            scenario.produce(*(Message(value=b"%d" % each, timestamp_ms=1) for each in numbers), partition=partition)
    assert copied(scenario.run()) == 500_000
    for partition in range(2):
        values = [message.value for message in scenario.mirrored(partition)]
        assert values == [b"%d" % number for number in range(250_000)]
    assert copied(scenario.run()) == 0
