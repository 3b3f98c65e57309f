"""K77: names and patterns that no topic can have, told by the code point of what is odd."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.errors import FlowInvalid
from airflow_provider_mm2.mirror.flow_file import flow_from_mapping
from airflow_provider_mm2.mirror.topic_names import check_topic_pattern
from tests.mirror.interval.test_plan import flow


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("\N{CYRILLIC SMALL LETTER O}rders", "U+043E (CYRILLIC SMALL LETTER O) as character 1"),
        ("orders\n", "U+000A (a control character) as character 7"),
        ("or ders", "U+0020 (SPACE) as character 3"),
        ("\N{FULLWIDTH LATIN SMALL LETTER O}rders", "U+FF4F (FULLWIDTH LATIN SMALL LETTER O) as character 1"),
        ("orders/eu", "U+002F (SOLIDUS) as character 7"),
        ("\N{CYRILLIC SMALL LETTER O}rders.*", "U+043E"),
        ("orders.* ", "U+0020"),
        (".", "no topic's name"),
        ("..", "no topic's name"),
    ],
)
@pytest.mark.parametrize("key", ["topics", "topics_exclude"])
def test_odd_patterns(pattern: str, told: str, key: str) -> None:
    """A topic or an exclusion that can never match is refused before anything is asked, and says why."""
    mapping = {"name": "f", "topics": ["orders"], key: [pattern]}
    clusters = {side: {"alias": side, "settings": {"bootstrap.servers": "x:1"}} for side in ("source", "target")}
    with pytest.raises(FlowInvalid) as caught:
        flow_from_mapping({**mapping, **clusters})
    (problem,) = caught.value.problems
    assert told in problem
    assert f"{key}.0" in problem


@pytest.mark.parametrize(
    "pattern",
    ["orders", "orders.v1", "a_b-c", r"orders\..*", "[a-z]{3}", "(a|b).+", r"\w+", "^x$", "...", ".*"],
)
def test_patterns_that_can_match(pattern: str) -> None:
    """Names as they are, and what regular expressions are written with."""
    assert check_topic_pattern(pattern) == pattern


def test_an_empty_name() -> None:
    """It matches nothing, and is refused as before."""
    with pytest.raises(ValueError, match="matches nothing"):
        flow(topics=[""])


def test_groups_may_be_any_text() -> None:
    """Kafka takes any text for a group's name, so a pattern of one may be any."""
    some = flow(groups=["группа 1"])  # meant to be Cyrillic
    assert some.groups == ("группа 1",)
