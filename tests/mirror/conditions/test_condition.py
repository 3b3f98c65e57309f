"""The conditions: what is taken for their arguments, and their form as JSON."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from airflow_provider_mm2.mirror.conditions.condition import (
    Condition,
    ConnectRunning,
    GroupCaughtUp,
    GroupLeftSource,
    LagBelow,
    MirroredThrough,
    condition_from_json,
    condition_to_json,
    parse_group,
    parse_number,
    parse_offsets,
    parse_seconds,
    parse_topics,
)
from airflow_provider_mm2.mirror.errors import ConditionRefused

BEYOND_A_FLOAT = 2**53 + 1
ZONE = timezone(timedelta(hours=5, minutes=30))

CONDITIONS = [
    MirroredThrough(until=datetime(2026, 1, 1, 5, 30, 0, 123456, tzinfo=ZONE), topics=("a", "b")),
    MirroredThrough(offsets=(("a", None, 5), ("b", 0, BEYOND_A_FLOAT), ("b", 1, 2**63 - 1))),
    LagBelow(below=BEYOND_A_FLOAT, topics=("a",)),
    GroupCaughtUp(group="группа", below=7),
    GroupLeftSource(group="app", for_s=2.5),
    ConnectRunning(),
    ConnectRunning(until=datetime(2026, 1, 1, tzinfo=ZONE), topics=("a",)),
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.kind)
def test_json_comes_back_equal(condition: Condition) -> None:
    """K59: as plain JSON and back a condition is what it was: offsets beyond 2**53, time zones, every name."""
    document = condition_to_json(condition)
    assert json.loads(json.dumps(document)) == document
    assert condition_from_json(json.loads(json.dumps(document))) == condition


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"kind": "another"},
        {"kind": "lag_below"},
        {"kind": "lag_below", "below": 1, "more": 1},
        {"kind": "mirrored_through", "until": "soon"},
        {"kind": "mirrored_through", "offsets": [["a", 1]]},
    ],
)
def test_another_versions_json_is_refused(document: dict[str, Any]) -> None:
    """What a newer version deferred is not half understood."""
    with pytest.raises(ConditionRefused, match="it cannot be read"):
        condition_from_json(document)


def test_offsets_are_exact_however_they_are_written() -> None:
    """K59: as a mapping or as JSON text, with numbers or text for partitions; nothing becomes a float."""
    expected = (("a", None, 5), ("b", 0, BEYOND_A_FLOAT), ("b", 1, 5))
    given = {"b": {1: 5, 0: BEYOND_A_FLOAT}, "a": 5}
    assert parse_offsets(given) == expected
    assert parse_offsets(json.dumps(given)) == expected
    assert parse_offsets({"b": {"0": str(BEYOND_A_FLOAT), "1": 5}, "a": "5"}) == expected
    assert parse_offsets(None) == parse_offsets("") == parse_offsets({}) == ()


@pytest.mark.parametrize(
    "given",
    [
        *("latest", "{", "[1]", [1], 5),
        *({"a": -1}, {"a": 1.0}, {"a": True}, {"a": None}, {"": 1}, {1: 1}),
        *({"a": {"x": 1}}, {"a": {-1: 1}}, {"a": {0: "-2"}}, {"a": {0: 9007199254740992.0}}, {"a": "٣"}),
    ],
)
def test_other_offsets_are_refused(given: object) -> None:
    """Kafka's negative numbers have meanings of their own, and a float has lost its last digits already."""
    with pytest.raises(ConditionRefused, match="Next move"):
        parse_offsets(given)


def test_topics_are_names() -> None:
    """One name, several, JSON text of several, or none; each once and in order."""
    assert parse_topics("orders") == ("orders",)
    assert parse_topics(["b", "a", "b"]) == parse_topics({"a", "b"}) == parse_topics('["b", "a"]') == ("a", "b")
    assert parse_topics(None) == parse_topics("") == parse_topics([]) == ()
    for given in ([1], [""], 5, "[1", {"a": 1}):
        with pytest.raises(ConditionRefused, match="the sensor's topics is refused"):
            parse_topics(given)


def test_numbers_seconds_and_groups() -> None:
    """Text of a template is taken where it is a number; anything else is refused, and nothing adjusted."""
    assert (parse_number("below", " 10 "), parse_number("below", 1, least=1)) == (10, 1)
    assert (parse_seconds("for_s", "2.5"), parse_seconds("for_s", 0)) == (2.5, 0)
    assert parse_group("app") == "app"
    for given in (0, "0", -1, None, True, 1.5, "", "1e3"):
        with pytest.raises(ConditionRefused, match="is not a whole number from 1 on"):
            parse_number("below", given, least=1)
    for seconds in ("", "x", -1, "-0.5", None, True, "inf", "nan"):
        with pytest.raises(ConditionRefused, match="is not a number of seconds"):
            parse_seconds("for_s", seconds)
    for group in ("", " ", None, 5):
        with pytest.raises(ConditionRefused, match="is not the name of a consumer group"):
            parse_group(group)
