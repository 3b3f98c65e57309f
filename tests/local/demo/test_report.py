"""The demo's tables say what was counted, and any difference between two topics is seen."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from airflow_provider_mm2.local.demo.log import PartitionContent, TopicContent
from airflow_provider_mm2.local.demo.report import all_same, comparison_table, months_table, records

JANUARY, FEBRUARY = 1_357_034_400_000, 1_359_712_800_000


class Record:
    """A record as the Kafka client gives it."""

    def __init__(
        self,
        key: bytes | None = b"k",
        value: bytes | None = b"v",
        headers: Sequence[tuple[str, bytes | None]] | None = None,
        timestamp_ms: int = JANUARY,
    ) -> None:
        self._key, self._value, self._headers, self._timestamp_ms = key, value, headers, timestamp_ms

    def key(self) -> bytes | None:
        """Give the key."""
        return self._key

    def value(self) -> bytes | None:
        """Give the value."""
        return self._value

    def headers(self) -> Sequence[tuple[str, bytes | None]] | None:
        """Give the headers."""
        return self._headers

    def timestamp(self) -> tuple[int, int]:
        """Give the kind of the timestamp and its milliseconds."""
        return 1, self._timestamp_ms


def topic(*partitions: Sequence[Record]) -> TopicContent:
    """Give the content of a topic with these records."""
    content = {}
    for number, found in enumerate(partitions):
        content[number] = PartitionContent()
        for record in found:
            content[number].add(record)
    return content


def test_months_are_counted_by_partition() -> None:
    """A row for each month, a column for each partition, sums at the edges."""
    content = topic([Record()] * 1200, [Record(), Record(timestamp_ms=FEBRUARY)])
    assert records(content) == 1202
    assert months_table("flights", content).splitlines() == [
        "flights  partition 0  partition 1  records",
        "2013-01        1,200            1    1,201",
        "2013-02            0            1        1",
        "all            1,200            2    1,202",
    ]


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ([Record(b"1"), Record(b"2")], "one lost"),
        ([Record(b"1"), Record(b"2"), Record(b"3"), Record(b"3")], "one doubled"),
        ([Record(b"2"), Record(b"1"), Record(b"3")], "out of order"),
        ([Record(b"1"), Record(b"2"), Record(b"3", value=b"w")], "another value"),
        ([Record(b"1"), Record(b"2"), Record(b"3", value=None)], "no value"),
        ([Record(b"1"), Record(b"2"), Record(b"3", value=b"")], "an empty value"),
        ([Record(b"1"), Record(b"2"), Record(b"3", headers=[("h", b"")])], "a header more"),
        ([Record(b"1"), Record(b"2"), Record(b"3", timestamp_ms=JANUARY + 1)], "another time"),
        ([Record(b"1"), Record(b"2v"), Record(b"3")], "bytes moved from value to key"),
    ],
)
def test_every_difference_is_seen(changed: list[Record], what: str) -> None:
    """Whatever differs between two partitions, they count as different: {what}."""
    original = topic([Record(b"1"), Record(b"2"), Record(b"3")])
    assert all_same(original, topic([Record(b"1"), Record(b"2"), Record(b"3")]))
    assert not all_same(original, topic(changed)), what
    assert "DIFFERENT" in comparison_table(original, topic(changed))


def test_a_missing_partition_is_seen() -> None:
    """An empty partition that only one side has is a difference too."""
    assert not all_same(topic([Record()], []), topic([Record()]))
    assert "DIFFERENT" not in comparison_table(topic([Record()]), topic([Record()]))
