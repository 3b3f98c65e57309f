"""Random faults, far enough apart to be told: each is found, with a map where it can be, and nothing else is."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.log import Message
from tests.mirror.verify.verify_world import COPY, VerifyWorld, message

pytestmark = pytest.mark.thorough

APART = 25
FAULTS = ("clean", "changed", "missing", "duplicate", "reordered", "foreign")

plans = st.lists(st.sampled_from(FAULTS), min_size=1, max_size=8)


def with_faults(records: list[Message], plan: list[str]) -> list[Message]:
    """Plant a fault in each stretch of ``APART`` records."""
    made: list[Message] = []
    for number, fault in enumerate(plan):
        stretch = records[number * APART : (number + 1) * APART]
        first, second, rest = stretch[0], stretch[1], stretch[2:]
        made += {
            "clean": [first, second],
            "changed": [Message(key=first.key, value=first.value, timestamp_ms=first.timestamp_ms), second],
            "missing": [second],
            "duplicate": [first, first, second],
            "reordered": [second, first],
            "foreign": [message(10_000 + number), first, second],
        }[fault]
        made += rest
    return made + records[len(plan) * APART :]


@given(plans)
def test_by_order(plan: list[str]) -> None:
    """Without a map each kind is told apart, one finding each."""
    world = VerifyWorld()
    count = (len(plan) + 1) * APART
    world.write(0, count)
    world.pair.eu.create_topic(COPY.topic)
    world.pair.eu.produce(*COPY, *with_faults([message(number) for number in range(count)], plan))
    report = world.verify(by_order=True)
    wanted = Counter(fault for fault in plan if fault != "clean")
    assert Counter(each.kind.value for each in report.mismatches) == wanted
    assert report.records == count


@given(plans)
def test_by_map(plan: list[str]) -> None:
    """Along the map each kind is told apart as well; a swap moves two, since each has its place."""
    world = VerifyWorld().mirrored((len(plan) + 1) * APART)
    log_end = world.target_log.end
    world.plant(lambda records: with_faults(records, plan))
    too_many = plan.count("duplicate") + plan.count("foreign")
    told = Counter(each.kind.value for each in world.verify().mismatches)
    behind = max(0, too_many - plan.count("missing") - (log_end - (len(plan) + 1) * APART))
    assert told["changed"] == plan.count("changed")
    assert told["reordered"] == 2 * plan.count("reordered")
    assert told["duplicate"] == plan.count("duplicate")
    assert told["foreign"] == plan.count("foreign")
    assert told["missing"] == plan.count("missing") + (1 if behind else 0)
