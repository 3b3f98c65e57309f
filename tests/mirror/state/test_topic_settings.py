"""What the mirror remembers of settings that it has set on target topics."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.errors import StateDamaged
from airflow_provider_mm2.mirror.state import gate
from airflow_provider_mm2.mirror.state.topic_settings import (
    decode_key,
    decode_value,
    read_topic_settings,
    settings_record,
)
from tests.contract.route import no_tick
from tests.fakes.log import Message
from tests.fakes.pair import FakePair

NAMES = st.text(min_size=1, max_size=20)
OWN = st.dictionaries(NAMES, st.lists(NAMES, min_size=1, max_size=3).map(tuple), min_size=1, max_size=4)


@given(NAMES, OWN)
def test_round_trip(topic: str, own: dict[str, tuple[str, ...]]) -> None:
    """What is written is read again, whatever the names."""
    record = settings_record("f", topic, own)
    assert record.topic == naming.gate_topic("f")
    assert record.value is not None
    assert (decode_key(record.key), decode_value(record.value)) == (topic, own)


def test_bytes_are_fixed() -> None:
    """Later versions have to read what stands there: these bytes must never change."""
    record = settings_record("f", "us.orders", {"retention.ms": ("1000", "2000")})
    assert record.key == b'{"kind":"settings","topic":"us.orders","version":1}'
    assert record.value == b'{"settings":{"retention.ms":["1000","2000"]},"version":1}'
    assert settings_record("f", "us.orders", {}).value is None


def test_the_flow_record_is_of_another_kind() -> None:
    """The gate's own record, and kinds of later versions, are passed over."""
    assert decode_key(gate.KEY) is None
    assert decode_key(b'{"kind":"other"}') is None
    assert decode_key(b"text") is None
    assert decode_key(None) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b'{"kind":"settings","topic":"t","version":2}', b"{}"),
        (b'{"kind":"settings","version":1}', b"{}"),
        (b'{"kind":"settings","topic":"t","version":1}', b"text"),
        (b'{"kind":"settings","topic":"t","version":1}', b'{"settings":{},"version":2}'),
        (b'{"kind":"settings","topic":"t","version":1}', b'{"settings":{"a":[]},"version":1}'),
        (b'{"kind":"settings","topic":"t","version":1}', b'{"settings":{"a":"1"},"version":1}'),
        (b'{"kind":"settings","topic":"t","version":1}', b'{"settings":[],"version":1}'),
    ],
)
def test_damage_is_told(key: bytes, value: bytes) -> None:
    """A record that cannot be believed stops the run with its place."""
    pair = FakePair()
    pair.eu.create_topic(naming.gate_topic("f"))
    pair.eu.produce(naming.gate_topic("f"), 0, Message(key=key, value=value))
    with pytest.raises(StateDamaged, match="offset 0"):
        read_topic_settings(pair.target, "f", no_tick)


def test_the_newest_record_counts() -> None:
    """A topic's newer record replaces the older one, and one without settings removes it."""
    pair = FakePair()
    assert read_topic_settings(pair.target, "f", no_tick) == {}
    pair.eu.create_topic(naming.gate_topic("f"))
    for topic, own in (("a", {"x": ("1",)}), ("b", {"x": ("1",)}), ("a", {"y": ("2",)}), ("b", {})):
        record = settings_record("f", topic, own)
        pair.eu.produce(record.topic, 0, Message(key=record.key, value=record.value))
    assert read_topic_settings(pair.target, "f", no_tick) == {"a": {"y": ("2",)}}
