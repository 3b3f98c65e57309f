"""``StateWriter``: all records of a write or none, and only from the last writer of an id."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.clusters.ports import StateWriter
from airflow_provider_mm2.mirror.errors import Fenced, MirrorError
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord
from tests.contract.lab import BASE_MS, COMPACTED, Lab, Side
from tests.contract.route import no_tick
from tests.fakes.log import Message, Outcome


@pytest.fixture
def state(lab: Lab) -> TopicPartition:
    """Give the one partition of a state topic."""
    partition = TopicPartition(lab.new_name(), 0)
    lab.create_topic(Side.TARGET, partition.topic, settings=COMPACTED)
    return partition


def record(state: TopicPartition, key: str, value: str) -> StateRecord:
    """A state record."""
    return StateRecord(topic=state.topic, partition=state.partition, key=key.encode(), value=value.encode())


def fenced_writer(lab: Lab, transactional_id: str) -> StateWriter:
    """A writer that has the id."""
    writer = lab.pair.target.state_writer(transactional_id)
    writer.fence(no_tick)
    return writer


def values(lab: Lab, state: TopicPartition) -> list[bytes | None]:
    """What the state topic says."""
    return [found.value for found in lab.pair.target.read_state(state, no_tick)]


def test_written_is_visible(lab: Lab, state: TopicPartition) -> None:
    """When a write returns, the next read of the state sees all of it, write after write."""
    writer = fenced_writer(lab, lab.new_name())
    for number in range(10):
        writer.write([record(state, "a", f"{number}-1"), record(state, "b", f"{number}-2")], no_tick)
        assert values(lab, state)[-2:] == [f"{number}-1".encode(), f"{number}-2".encode()]
    writer.close()


def test_a_write_ends_when_it_is_seen(lab: Lab, state: TopicPartition) -> None:
    """A write waits while somebody's open transaction hides it from readers."""
    opened = lab.open_transaction(Side.TARGET, state, Message(key=b"foreign", value=b"v", timestamp_ms=BASE_MS))
    writer, ticks = fenced_writer(lab, lab.new_name()), 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        if ticks == 4:
            opened.end(Outcome.ABORTED)

    writer.write([record(state, "a", "1")], tick)
    assert values(lab, state) == [b"1"]
    writer.close()


def test_write_nothing(lab: Lab, state: TopicPartition) -> None:
    """A write of no records is one that succeeds."""
    writer = fenced_writer(lab, lab.new_name())
    writer.write([], no_tick)
    writer.write([record(state, "a", "1")], no_tick)
    assert values(lab, state) == [b"1"]
    writer.close()


def test_later_writer_fences_earlier(lab: Lab, state: TopicPartition) -> None:
    """Of two writers with one id only the one that fenced last can write; the other is told and writes nothing."""
    transactional_id = lab.new_name()
    earlier = fenced_writer(lab, transactional_id)
    earlier.write([record(state, "a", "1")], no_tick)
    later = fenced_writer(lab, transactional_id)
    with pytest.raises(Fenced) as caught:
        earlier.write([record(state, "a", "2")], no_tick)
    assert caught.value.transactional_id == transactional_id
    later.write([record(state, "a", "3")], no_tick)
    assert values(lab, state) == [b"1", b"3"]
    earlier.close()
    later.close()


def test_writers_of_two_ids(lab: Lab, state: TopicPartition) -> None:
    """Writers with different ids leave each other alone."""
    first, second = fenced_writer(lab, lab.new_name()), fenced_writer(lab, lab.new_name())
    first.write([record(state, "a", "1")], no_tick)
    second.write([record(state, "a", "2")], no_tick)
    first.write([record(state, "a", "3")], no_tick)
    assert values(lab, state) == [b"1", b"2", b"3"]
    first.close()
    second.close()


@pytest.mark.slow
def test_nothing_is_visible_unless_all_is(lab: Lab, state: TopicPartition) -> None:
    """A write that fails at one record leaves none of the others."""
    writer = fenced_writer(lab, lab.new_name())
    missing = TopicPartition(lab.new_name(), 0)
    with pytest.raises(MirrorError):
        writer.write([record(state, "a", "1"), record(missing, "a", "1")], no_tick)
    writer.close()
    assert values(lab, state) == []
    assert missing.topic not in lab.pair.target.list_topics()
