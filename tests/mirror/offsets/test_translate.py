"""Translation: where a group goes on, on either side, and why there is no such place."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.model import Segment
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.offsets.translate import (
    Otherwise,
    Policy,
    Position,
    Reason,
    Translated,
    Untranslated,
    translate,
    translate_back,
)
from airflow_provider_mm2.mirror.state_model import PartitionLedger
from tests.mirror.state.ledger_entries import entry

POLICY = Policy()


def map_of(*segments: tuple[int, int, int], first: int = 0, end: int, target_end: int) -> OffsetMap:
    """A map of segments (source start, target start, count) of a mirror that began at ``first``."""
    return OffsetMap.of(ledger_of(*segments, first=first, end=end, target_end=target_end))


def ledger_of(*segments: tuple[int, int, int], first: int, end: int, target_end: int) -> PartitionLedger:
    """The ledger of such a map, in one entry."""
    whole = tuple(Segment(source_start=source, target_start=target, count=count) for source, target, count in segments)
    made = entry(
        first=first,
        segments=whole,
        next_offset=end,
        target_end=target_end,
        records=sum(segment.count for segment in whole),
    )
    return PartitionLedger(entries=(made,))


def at(offset_map: OffsetMap, source_offset: int | None, *, log_start: int = 0, policy: Policy = POLICY) -> Position:
    """Translate to the target."""
    return translate(offset_map, source_offset, target_log_start=log_start, policy=policy)


IDLE = map_of((0, 0, 100), end=100, target_end=101)


@pytest.mark.parametrize(("source_offset", "target_offset"), [(0, 0), (1, 1), (50, 50), (99, 99), (100, 100)])
def test_inside_is_exact(source_offset: int, target_offset: int) -> None:
    """K41: inside the mirrored range, its end included, the answer is exact; at the end of an idle topic it is 100."""
    assert at(IDLE, source_offset) == Translated(offset=target_offset)


def test_sparse_topic() -> None:
    """K07: with ten records in 101..199, the last at 195 -> 60, a group at 200 goes on at 61, never past the end."""
    sparse = [101 + 10 * number for number in range(9)] + [195]
    segments = [(0, 0, 51)] + [(source, 51 + number, 1) for number, source in enumerate(sparse)]
    offset_map = map_of(*segments, end=200, target_end=62)
    assert at(offset_map, 200) == Translated(offset=61)
    assert at(offset_map, 196) == Translated(offset=61)
    assert at(offset_map, 195) == Translated(offset=60)
    assert at(offset_map, 102) == Translated(offset=52)


def test_zero_and_never() -> None:
    """K09: a commit of 0 is a commit; none at all is told, and given the log start only where that is asked for."""
    offset_map = map_of((0, 0, 10), end=10, target_end=11)
    assert at(offset_map, 0) == Translated(offset=0)
    assert at(offset_map, 7) == Translated(offset=7)
    assert at(offset_map, None) == Untranslated(reason=Reason.NOT_COMMITTED)
    earliest = Policy(uncommitted=Otherwise.EARLIEST)
    assert at(offset_map, None, policy=earliest, log_start=3) == Translated(
        offset=3, exact=False, reason=Reason.NOT_COMMITTED
    )


def test_empty_partition() -> None:
    """K85: a group at 0 of a partition without a record stands at 0 on the target."""
    assert at(map_of(end=0, target_end=0), 0) == Translated(offset=0)


def test_behind_the_start() -> None:
    """K39: 3800 offsets are not on the target; it is not repointed, or to the log start where that is asked for."""
    offset_map = map_of((5000, 0, 100), first=5000, end=5100, target_end=101)
    assert at(offset_map, 1200) == Untranslated(reason=Reason.BEHIND_START, distance=3800)
    earliest = Policy(behind_start=Otherwise.EARLIEST)
    assert at(offset_map, 1200, policy=earliest) == Translated(
        offset=0, exact=False, reason=Reason.BEHIND_START, distance=3800
    )


def test_ahead_of_the_mirror() -> None:
    """A group that has read 20 offsets more than are here goes on at the mirrored end, and that is told."""
    assert at(IDLE, 120) == Translated(offset=100, exact=False, reason=Reason.AHEAD, distance=20)
    assert at(IDLE, 120, policy=Policy(ahead=Otherwise.SKIP)) == Untranslated(reason=Reason.AHEAD, distance=20)


def test_expired_on_target() -> None:
    """K37: a position whose record has expired is raised to the log start, and the records that are gone counted."""
    offset_map = map_of((0, 0, 100), (100, 101, 100), end=200, target_end=202)
    assert at(offset_map, 50, log_start=80) == Translated(offset=80, exact=False, reason=Reason.EXPIRED, distance=30)
    assert at(offset_map, 50, log_start=111) == Translated(offset=111, exact=False, reason=Reason.EXPIRED, distance=60)
    assert at(offset_map, 80, log_start=80) == Translated(offset=80)


def test_expired_marker_is_no_loss() -> None:
    """Where only our marker lies between the position and the log start, nothing is lost and the answer is exact."""
    assert at(IDLE, 100, log_start=101) == Translated(offset=101)


def test_nothing_mapped() -> None:
    """A range in which all was aborted has no record: its end is the recorded end of the target."""
    offset_map = map_of(first=5, end=12, target_end=3)
    assert at(offset_map, 5) == Translated(offset=3)
    assert at(offset_map, 12) == Translated(offset=3)


def test_pruned() -> None:
    """A position in a part of the map that was pruned is expired; the mirror's start is still known."""
    old = entry(first=10, segments=(), records=0, next_offset=60, target_end=51, expired=50)
    new = entry(
        first=60,
        sequence=2,
        segments=(Segment(source_start=60, target_start=51, count=5),),
        records=5,
        next_offset=65,
        target_end=57,
    )
    offset_map = OffsetMap.of(PartitionLedger(entries=(old, new)))
    assert at(offset_map, 5, log_start=53) == Untranslated(reason=Reason.BEHIND_START, distance=5)
    assert at(offset_map, 20, log_start=53) == Translated(offset=53, exact=False, reason=Reason.EXPIRED, distance=42)
    assert at(offset_map, 62, log_start=53) == Translated(offset=53)
    assert translate_back(offset_map, 20) == Translated(offset=60, exact=False, reason=Reason.EXPIRED)
    assert translate_back(offset_map, 53) == Translated(offset=62)


def test_back_over_markers() -> None:
    """A group that stands on a marker of ours goes on at the record behind it, and at the end at what is next."""
    offset_map = map_of((0, 0, 100), (105, 101, 10), end=120, target_end=112)
    assert translate_back(offset_map, 99) == Translated(offset=99)
    assert translate_back(offset_map, 100) == Translated(offset=105)
    assert translate_back(offset_map, 101) == Translated(offset=105)
    assert translate_back(offset_map, 111) == Translated(offset=120)
    assert translate_back(offset_map, 112) == Translated(offset=120)
    assert translate_back(offset_map, 113) == Untranslated(reason=Reason.AHEAD, distance=1)


def test_segments_that_do_not_rise() -> None:
    """Segments that overlap on either side are refused, with their place."""
    with pytest.raises(ValueError, match="the segment at 5 -> 20"):
        map_of((0, 0, 10), (5, 20, 1), end=10, target_end=30)
    with pytest.raises(ValueError, match="the segment at 10 -> 9"):
        map_of((0, 0, 10), (10, 9, 1), end=11, target_end=30)


@dataclass(frozen=True)
class World:
    """What really lies in both logs: source offset and target offset of each record, and the map of it."""

    sources: list[int]
    targets: list[int]
    offset_map: OffsetMap


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Logs with holes on both sides, cut into segments at each hole and anywhere else."""
    first = source = draw(st.integers(0, 50))
    target = draw(st.integers(0, 5))
    sources: list[int] = []
    targets: list[int] = []
    segments: list[tuple[int, int, int]] = []
    for _ in range(draw(st.integers(0, 8))):
        source, target = source + draw(st.integers(0, 4)), target + draw(st.integers(0, 3))
        count = draw(st.integers(1, 6))
        segments.append((source, target, count))
        sources += range(source, source + count)
        targets += range(target, target + count)
        source, target = source + count, target + count
    made = map_of(
        *segments, first=first, end=source + draw(st.integers(0, 4)), target_end=target + draw(st.integers(0, 2))
    )
    return World(sources, targets, made)


def next_record(offsets: list[int], position: int) -> int:
    """Which record a reader gets next who stands at a position."""
    return bisect_left(offsets, position)


@given(worlds())
def test_nothing_skipped_nothing_read_again(world: World) -> None:
    """From each translated position the next record is the one that was next on the other side, in both directions."""
    for position in range(world.offset_map.source_start, world.offset_map.source_end + 1):
        found = at(world.offset_map, position)
        assert isinstance(found, Translated)
        assert found.exact
        assert next_record(world.targets, found.offset) == next_record(world.sources, position)
        assert found.offset <= world.offset_map.target_end
    for position in range(world.offset_map.target_end + 1):
        back = translate_back(world.offset_map, position)
        assert isinstance(back, Translated)
        assert next_record(world.sources, back.offset) == next_record(world.targets, position)


@given(worlds(), st.integers(0, 60))
def test_monotonic(world: World, log_start: int) -> None:
    """A later position never translates to an earlier one, whatever has expired."""
    positions = range(world.offset_map.source_start, world.offset_map.source_end + 10)
    found = [at(world.offset_map, position, log_start=log_start) for position in positions]
    offsets = [each.offset for each in found if isinstance(each, Translated)]
    assert len(offsets) == len(positions)
    assert offsets == sorted(offsets)
    assert min(offsets) >= log_start or log_start == 0


@given(worlds())
def test_twice_the_same(world: World) -> None:
    """The way there and back ends at the same next record."""
    for position in range(world.offset_map.source_start, world.offset_map.source_end + 1):
        there = at(world.offset_map, position)
        assert isinstance(there, Translated)
        back = translate_back(world.offset_map, there.offset)
        assert isinstance(back, Translated)
        assert next_record(world.sources, back.offset) == next_record(world.sources, position)
