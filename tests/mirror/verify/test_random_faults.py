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
    world.plant(lambda records: with_faults(records, plan))
    told = Counter(each.kind.value for each in world.verify().mismatches)
    assert told["changed"] == plan.count("changed")
    assert told["reordered"] == 2 * plan.count("reordered")
    assert told["duplicate"] == plan.count("duplicate")
    assert told["foreign"] == plan.count("foreign")
    assert told["missing"] == plan.count("missing")


SEGMENT_FAULTS = ("clean", "changed", "missing", "duplicate", "foreign", "moved forward", "moved backward", "block")
WANTED = {"moved forward": "reordered", "moved backward": "reordered", "block": "reordered"}

segment_plans = st.lists(st.lists(st.sampled_from(SEGMENT_FAULTS), min_size=1, max_size=3), min_size=1, max_size=4)


def with_moves(records: list[Message], plan: list[str], number: int) -> list[Message]:
    """Plant a fault in each stretch of ``2 * APART`` records."""
    made: list[Message] = []
    for place, fault in enumerate(plan):
        r = records[place * 2 * APART : (place + 1) * 2 * APART]
        made += {
            "clean": r,
            "changed": [r[0], Message(key=r[1].key, value=r[1].value, timestamp_ms=r[1].timestamp_ms), *r[2:]],
            "missing": [r[0], *r[2:]],
            "duplicate": [*r[:2], *r[1:]],
            "foreign": [r[0], message(10_000 + number * 100 + place), *r[1:]],
            "moved forward": [r[0], r[30], *r[1:30], *r[31:]],
            "moved backward": [r[0], *r[2:32], r[1], *r[32:]],
            "block": [r[0], *r[16:31], *r[1:16], *r[31:]],
        }[fault]
    return made + records[len(plan) * 2 * APART :]


@given(segment_plans)
def test_by_map_in_several_segments(plan: list[list[str]]) -> None:
    """One finding for each fault, none for what it has moved in later segments; all else is clean."""
    world = VerifyWorld().mirrored(*((len(each) * 2 + 1) * APART for each in plan))
    world.plant_runs(
        lambda runs: [with_moves(run, faults, at) for at, (run, faults) in enumerate(zip(runs, plan, strict=True))]
    )
    report = world.verify()
    wanted = Counter(WANTED.get(fault, fault) for each in plan for fault in each if fault != "clean")
    assert Counter(each.kind.value for each in report.mismatches) == wanted
    assert sum(each.records for each in report.mismatches) == sum(
        15 if fault == "block" else 1 for each in plan for fault in each if fault != "clean"
    )


@given(segment_plans, st.integers(0, 300), st.integers(1, 300))
def test_a_range_in_several_segments(plan: list[list[str]], start: int, length: int) -> None:
    """Of a range nothing is told but what happened in it or at its ends."""
    world = VerifyWorld().mirrored(*((len(each) * 2 + 1) * APART for each in plan))
    size = sum((len(each) * 2 + 1) * APART for each in plan)
    start %= size
    until = min(size, start + length)
    world.plant_runs(
        lambda runs: [with_moves(run, faults, at) for at, (run, faults) in enumerate(zip(runs, plan, strict=True))]
    )
    faulty: list[tuple[int, int]] = []
    at = 0
    for each in plan:
        faulty += [(at + n * 2 * APART, at + n * 2 * APART + 32) for n, f in enumerate(each) if f != "clean"]
        at += (len(each) * 2 + 1) * APART
    inside = [(first, end) for first, end in faulty if first < until and start < end]
    for found in world.verify(since=start, until=until).mismatches:
        where = found.source or found.target
        assert where is not None
        assert any(first - 10 <= where[0] <= end + 10 for first, end in inside), found
