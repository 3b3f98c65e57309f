"""What was dropped, doubled or moved is one finding along the map too, whatever comes behind it in later runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.fakes.log import Message
from tests.mirror.verify.verify_world import VerifyWorld, message

Runs = list[list[Message]]
Told = list[tuple[str, int | None, int | None, int]]


def flat(edit: Callable[[list[Message]], list[Message]]) -> Callable[[Runs], Runs]:
    """An edit of all records, of which each run keeps as many as it had, and the last one takes the rest."""

    def edited(runs: Runs) -> Runs:
        made = edit([each for run in runs for each in run])
        return [made[:100], made[100:200], made[200:]]

    return edited


def first(edit: Callable[[list[Message]], list[Message]]) -> Callable[[Runs], Runs]:
    """An edit of the first run's records."""
    return lambda runs: [edit(runs[0]), *runs[1:]]


FAULTS: dict[str, tuple[Callable[[Runs], Runs], Told]] = {
    "nothing": (lambda runs: runs, []),
    "one dropped": (first(lambda r: r[:50] + r[51:]), [("missing", 50, None, 1)]),
    "many dropped": (first(lambda r: r[:50] + r[70:]), [("missing", 50, None, 20)]),
    "the first dropped": (first(lambda r: r[1:]), [("missing", 0, None, 1)]),
    "the last of a run dropped": (first(lambda r: r[:99]), [("missing", 99, None, 1)]),
    "the end of a run dropped": (first(lambda r: r[:95]), [("missing", 95, None, 5)]),
    "one doubled": (first(lambda r: r[:51] + r[50:]), [("duplicate", 50, 51, 1)]),
    "many doubled": (first(lambda r: r[:50] + r[30:]), [("duplicate", 30, 50, 20)]),
    "the last of a run doubled": (first(lambda r: [*r, r[99]]), [("duplicate", 99, 100, 1)]),
    "a foreign one": (first(lambda r: [*r[:50], message(999), *r[50:]]), [("foreign", None, 50, 1)]),
    "a foreign one behind a run": (first(lambda r: [*r, message(999)]), [("foreign", None, 100, 1)]),
    "blocks exchanged": (first(lambda r: r[:20] + r[40:60] + r[20:40] + r[60:]), [("reordered", 40, 20, 20)]),
    "one moved forward": (first(lambda r: [*r[:20], r[80], *r[20:80], *r[81:]]), [("reordered", 80, 20, 1)]),
    "one moved backward": (first(lambda r: [*r[:20], *r[21:81], r[20], *r[81:]]), [("reordered", 20, 80, 1)]),
    "exchanged between runs": (
        flat(lambda r: [*r[:99], r[150], *r[100:150], r[99], *r[151:]]),
        [("reordered", 99, 151, 1), ("reordered", 150, 99, 1)],
    ),
    "runs exchanged": (lambda runs: [runs[1], runs[0], runs[2]], [("reordered", 100, 0, 100)]),
    "dropped and doubled": (
        first(lambda r: r[:20] + r[21:60] + r[59:]),
        [("missing", 20, None, 1), ("duplicate", 59, 59, 1)],
    ),
    "dropped in two runs": (
        lambda runs: [runs[0][:50] + runs[0][51:], runs[1][:50] + runs[1][51:], runs[2]],
        [("missing", 50, None, 1), ("missing", 150, None, 1)],
    ),
    "doubled in three runs": (
        lambda runs: [run[:51] + run[50:] for run in runs],
        [("duplicate", 50, 51, 1), ("duplicate", 150, 153, 1), ("duplicate", 250, 255, 1)],
    ),
    "dropped, and one changed later": (
        lambda runs: [runs[0][:50] + runs[0][51:], runs[1], [*runs[2][:50], message(250, value=b"x"), *runs[2][51:]]],
        [("missing", 50, None, 1), ("changed", 250, 251, 1)],
    ),
    "the end of all dropped": (lambda runs: [*runs[:2], runs[2][:50]], [("missing", 250, 252, 50)]),
    "dropped, and the end of all": (
        lambda runs: [runs[0][:50] + runs[0][51:], runs[1], runs[2][:50]],
        [("missing", 50, None, 1), ("missing", 250, None, 50)],
    ),
    "a marker more": (lambda runs: [runs[0], [], runs[1], runs[2]], [("displaced", 100, 102, 1)]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault(fault: str) -> None:
    """One finding for what happened, none for what it has moved: three runs, 0-99 at 0, at 101 and at 202."""
    world = VerifyWorld().mirrored(100, 100, 100)
    edit, expected = FAULTS[fault]
    world.plant_runs(edit)
    report = world.verify()
    assert world.found() == expected
    assert report.records == 300


@pytest.mark.parametrize("start", [51, 60, 99, 100, 150, 250, 295])
@pytest.mark.parametrize("fault", ["one dropped", "many dropped", "one doubled", "many doubled"])
def test_a_range_behind_it(fault: str, start: int) -> None:
    """A range that begins behind it is clean, and it is told that its copies do not lie at their places."""
    world = VerifyWorld().mirrored(100, 100, 100)
    world.plant_runs(FAULTS[fault][0])
    start = max(start, 70) if fault == "many dropped" else start
    for end in (None, 298):
        report = world.verify(since=start, until=end)
        assert (world.found(since=start, until=end), report.records) == ([], (end or 300) - start)
        (warning,) = report.warnings
        assert f"from {start} on lie" in warning
        assert "dropped or doubled" in warning


@pytest.mark.parametrize("fault", ["one dropped", "many dropped", "one doubled", "many doubled"])
@pytest.mark.parametrize("end", [30, 72, 100, 101, 200, 299])
def test_a_range_before_its_end(fault: str, end: int) -> None:
    """A range that ends behind it has that one finding; one that ends before it has none."""
    world = VerifyWorld().mirrored(100, 100, 100)
    edit, expected = FAULTS[fault]
    world.plant_runs(edit)
    report = world.verify(until=end)
    assert (world.found(until=end), report.records) == (expected if end > 50 else [], end)
    assert report.warnings == ()


def test_a_sample_behind_it() -> None:
    """Of a sample only the window in which it happened differs."""
    world = VerifyWorld().mirrored(2_500, 2_500)
    world.plant_runs(lambda runs: [runs[0][:50] + runs[0][51:], runs[1]])
    report = world.verify(sample=5, seed=1)
    assert [(each.kind.value, each.source) for each in report.mismatches] == [("missing", (50, 51))]
    assert report.sampled is not None
    assert report.sampled["differing"] == 1
