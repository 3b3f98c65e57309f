"""Which offset syncs are written, held against MirrorMaker 2's writer, record by record, and against its reader."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.model import Segment, TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import OffsetSync
from airflow_provider_mm2.mirror.offsets.sync_store import OffsetSyncStore, SyncHistory
from airflow_provider_mm2.mirror.offsets.syncs import syncs_to_write

PART = TopicPartition("orders", 3)
Pair = tuple[int, int]


def segment(source_start: int, target_start: int, count: int) -> Segment:
    """A segment of the map."""
    return Segment(source_start=source_start, target_start=target_start, count=count)


def sync(source_offset: int, target_offset: int) -> OffsetSync:
    """A sync of the one partition."""
    return OffsetSync(
        topic=PART.topic, partition=PART.partition, source_offset=source_offset, target_offset=target_offset
    )


def written(segments: Sequence[Segment], last: OffsetSync | None = None, lag_max: int = 100) -> list[Pair]:
    """The pairs that are missing."""
    found = syncs_to_write(PART, segments, last=last, offset_lag_max=lag_max)
    assert {each.source for each in found} <= {PART}
    return [(each.source_offset, each.target_offset) for each in found]


def pairs_of(segments: Sequence[Segment]) -> list[Pair]:
    """Every record's offsets."""
    return [(each.source_start + at, each.target_start + at) for each in segments for at in range(each.count)]


def sent_by_mm2(pairs: Sequence[Pair], lag_max: int) -> list[Pair]:
    """What MirrorMaker 2's writer sends at once for these records, with a sync for each that is due."""
    sent: list[Pair] = []
    before: Pair | None = None
    for source, target in pairs:
        is_first = before is None
        is_stale = bool(sent) and target - (sent[-1][1] + 1) >= lag_max
        is_behind_a_hole = before is not None and source - before[0] != 1
        goes_back = before is not None and target < before[1]
        if is_first or is_stale or is_behind_a_hole or goes_back:
            sent.append((source, target))
        before = (source, target)
    return sent


@st.composite
def maps(draw: st.DrawFn) -> list[Segment]:
    """Offset maps with holes of all sizes on either side, or on both."""
    holes, segments = st.just(0) | st.integers(0, 5) | st.integers(0, 200), []
    source, target = draw(holes), draw(holes)
    for _ in range(draw(st.integers(1, 8))):
        segments.append(segment(source, target, draw(st.integers(1, 5) | st.integers(1, 300))))
        source, target = segments[-1].source_end + draw(holes), segments[-1].target_end + draw(holes)
    return segments


LAG_MAXIMA = st.sampled_from([0, 1, 3, 10, 100])


@pytest.mark.parametrize(
    ("lag_max", "sent"),
    [(0, [0, 1, 2, 3, 4, 5, 6, 7, 8]), (1, [0, 2, 4, 6, 8]), (3, [0, 4, 8]), (10, [0, 8]), (100, [0, 8])],
)
def test_spacing(lag_max: int, sent: list[int]) -> None:
    """Without holes a sync follows when its record lies ``offset_lag_max`` behind the place after the last one."""
    assert written([segment(0, 7, 9)], lag_max=lag_max) == [(at, at + 7) for at in sent]


def test_mm2_case_of_holes_on_both_sides() -> None:
    """A hole on the source brings a sync, one on the target only when it makes the last sync stale.

    Source: MirrorMaker 2, ``MirrorSourceTaskTest.testOffsetSync``.
    """
    pairs = [(0, 100), (2, 102), (3, 152), (4, 153), (5, 154), (6, 203), (7, 204), (8, 205)]
    sent = [(0, 100), (2, 102), (4, 153), (7, 204)]
    assert sent_by_mm2(pairs, 50) == sent
    segments = [segment(0, 100, 1), segment(2, 102, 1), segment(3, 152, 1), segment(4, 153, 2), segment(6, 203, 3)]
    assert pairs_of(segments) == pairs
    assert written(segments, lag_max=50) == [*sent, (8, 205)]


def test_last_record_of_a_run() -> None:
    """A quiet topic is translated to its end: the last record has a sync, and its place is no lag."""
    assert written([segment(0, 0, 100)]) == [(0, 0), (99, 99)]
    assert written([segment(0, 0, 100), segment(100, 101, 1)], sync(99, 99)) == [(100, 101)]
    store = OffsetSyncStore()
    for pair in written([segment(0, 0, 100)]):
        store.add(sync(*pair))
    store.mark_read()
    assert store.translate(PART, 100) == 100


def test_nothing_to_write() -> None:
    """A partition without a record, and one whose last record has its sync, get none."""
    assert written([]) == []
    assert written([], sync(5, 5)) == []
    assert written([segment(0, 0, 100)], sync(99, 99)) == []


@given(maps(), LAG_MAXIMA)
def test_choice_is_that_of_mm2(segments: list[Segment], lag_max: int) -> None:
    """What is written is what MirrorMaker 2 sends and the last record, without what is too near to the one above.

    It rises on both sides, and begins with the first record ever.
    """
    pairs = pairs_of(segments)
    choice = sorted({*sent_by_mm2(pairs, lag_max), pairs[-1]})
    found = written(segments, lag_max=lag_max)
    assert found == sorted(set(found))
    assert set(found) <= set(choice)
    assert {pairs[0], pairs[-1]} <= set(found)
    for left_out in set(choice) - set(found):
        above = min(each for each in found if each > left_out)
        assert above[0] - left_out[0] < max(1, (pairs[-1][0] - above[0]) // 4)


@given(maps(), LAG_MAXIMA, st.data())
def test_interrupted_writing_goes_on(segments: list[Segment], lag_max: int, data: st.DataObject) -> None:
    """When only the first syncs were written, exactly the others are missing; when all were, none."""
    found = written(segments, lag_max=lag_max)
    done = data.draw(st.integers(1, len(found)))
    assert written(segments, sync(*found[done - 1]), lag_max) == found[done:]


@given(maps(), LAG_MAXIMA, st.data())
def test_run_after_run(segments: list[Segment], lag_max: int, data: st.DataObject) -> None:
    """Runs that each add to the map write true pairs that rise over all of them, and end at the last record."""
    ends = sorted(data.draw(st.lists(st.integers(1, len(segments)), max_size=4)))
    total: list[Pair] = []
    for end in [*ends, len(segments)]:
        total += written(segments[:end], sync(*total[-1]) if total else None, lag_max)
    assert total == sorted(set(total))
    assert set(total) <= set(pairs_of(segments))
    assert (total[0], total[-1]) == (pairs_of(segments)[0], pairs_of(segments)[-1])


@given(maps(), LAG_MAXIMA, st.data())
def test_what_was_added_is_enough(segments: list[Segment], lag_max: int, data: st.DataObject) -> None:
    """The map may begin with the segment that holds the last sync."""
    at = data.draw(st.integers(0, len(segments) - 1))
    last = sync(segments[at].source_end - 1, segments[at].target_end - 1)
    assert written(segments[at:], last, lag_max) == written(segments, last, lag_max)


@pytest.mark.parametrize(
    "last", [sync(5000, 5000), sync(50, 49), sync(100, 100), sync(105, 105), sync(9, 9)], ids=lambda last: str(last)
)
def test_last_sync_of_another_generation(last: OffsetSync) -> None:
    """A last sync that is not on the map counts as none: the first record is written again, then the rest."""
    segments = [segment(10, 10, 90), segment(110, 110, 50)]
    assert written(segments, last) == [(10, 10), (110, 110), (159, 159)]


@pytest.mark.parametrize("lag_max", [0, 100])
@pytest.mark.parametrize("count", [10**6, 2**62])
def test_syncs_are_few(count: int, lag_max: int) -> None:
    """However many records a run copied, fewer than 200 syncs are written, those nearest to the end all of them."""
    found = written([segment(0, 0, count)], lag_max=lag_max)
    assert len(found) < 200
    assert (found[0], found[-1]) == ((0, 0), (count - 1, count - 1))
    if lag_max == 0:
        assert [count - source for source, _ in reversed(found)][:9] == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_syncs_of_a_compacted_topic_are_few() -> None:
    """A hole behind every record, for which MirrorMaker 2 sends a sync each, makes no difference."""
    found = written([segment(2 * at, at, 1) for at in range(20_000)])
    assert len(found) < 200
    assert (found[0], found[-1]) == ((0, 0), (39_998, 19_999))


def store_after(runs: Sequence[int], history: SyncHistory) -> OffsetSyncStore:
    """What a reader knows after runs of so many records each."""
    store, last = OffsetSyncStore(history=history), None
    segments: list[Segment] = []
    for end, count in zip(accumulate(runs), runs, strict=True):
        segments.append(segment(end - count, end - count, count))
        for each in syncs_to_write(PART, segments, last=last):
            store.add(each)
            last = each
    store.mark_read()
    return store


def read_again(store: OffsetSyncStore, end: int, lag: int) -> int:
    """How many records a group that lags so far is given again."""
    translated = store.translate(PART, end - lag)
    assert isinstance(translated, int)
    return end - lag - translated


@pytest.mark.parametrize("runs", [[1_000_000], [600_000, 300_000, 90_000, 9_000, 900, 90, 10], [50_000] * 20])
def test_readers_lose_nothing(runs: list[int]) -> None:
    """MirrorMaker 2's reader translates from these syncs as near as from all that its own writer sends.

    From 9,901 syncs of a million records it gave groups 0.34 of their lag again, at random lags, and at most 1.5.
    """
    store, end = store_after(runs, SyncHistory.THINNED), sum(runs)
    shares = [read_again(store, end, lag) / lag for lag in range(499, end, 997)]
    assert min(shares) >= 0
    assert sum(shares) / len(shares) < 0.5
    assert max(shares[1:]) < 2.5


@pytest.mark.parametrize("count", [1, 2, 99, 100, 101, 102, 5000, 1_000_000])
def test_reader_of_all_syncs(count: int) -> None:
    """Who keeps every sync gives a group a quarter of its lag and ``offset_lag_max`` again at most."""
    store = store_after([count], SyncHistory.ALL)
    for lag in {*range(min(count, 300)), *range(0, count, 997)}:
        assert 0 <= read_again(store, count, lag) <= lag // 4 + 100
