"""Translation by offset syncs, held against MirrorMaker 2's own cases and against measurements of its store."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import accumulate, combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import OffsetSync
from airflow_provider_mm2.mirror.offsets.sync_store import SLOTS, OffsetSyncStore, SyncHistory, Untranslatable, thinned
from tests.hypothesis_profiles import is_long

PART = TopicPartition("topic1", 2)
END = 1_000_000
RISING = st.lists(st.integers(1, 2**20) | st.integers(1, 2**57), min_size=1, max_size=60)


def sync(source_offset: int, target_offset: int) -> OffsetSync:
    """A sync of the one partition."""
    return OffsetSync(
        topic=PART.topic, partition=PART.partition, source_offset=source_offset, target_offset=target_offset
    )


def store_of(
    loaded: Iterable[OffsetSync], live: Iterable[OffsetSync] = (), history: SyncHistory = SyncHistory.THINNED
) -> OffsetSyncStore:
    """A store that found ``loaded`` in the topic and then saw ``live`` come."""
    store = OffsetSyncStore(history=history)
    for each in loaded:
        store.add(each)
    store.mark_read()
    for each in live:
        store.add(each)
    return store


def every(step: int, first: int, last: int) -> list[OffsetSync]:
    """Syncs of equal offsets, evenly spaced."""
    return [sync(offset, offset) for offset in range(first, last + 1, step)]


def assert_neighbours(store: OffsetSyncStore, offset: int, before: int | None) -> None:
    """A sync at ``offset`` is kept, and the one before it is ``before`` (None: it is the first)."""
    below = Untranslatable.BEFORE_FIRST if before is None else before + 1
    found = [store.translate(PART, offset + ahead) for ahead in (-1, 0, 1, 2)]
    assert found == [below, offset, offset + 1, offset + 1]


@pytest.mark.parametrize("history", list(SyncHistory))
def test_translation(history: SyncHistory) -> None:
    """An offset right at a sync is exact, one above it one more than the sync's; a target that goes back counts.

    Source: MirrorMaker 2, ``OffsetSyncStoreTest.testOffsetTranslation``.
    """
    store = store_of([sync(100, 200)], history=history)
    assert store.translate(PART, 150) == 201
    store.add(sync(150, 251))
    assert store.translate(PART, 150) == 251
    assert store.translate(PART, 5) is Untranslatable.BEFORE_FIRST
    store.add(sync(200, 10))
    assert store.translate(PART, 200) == 10
    store.add(sync(20, 20))
    assert store.translate(PART, 20) == 20
    assert store.translate(PART, 19) is Untranslatable.BEFORE_FIRST


@pytest.mark.parametrize("history", list(SyncHistory))
def test_nothing_is_translated_before_the_end(history: SyncHistory) -> None:
    """Before the topic was read to its end no offset is translated, whatever was read.

    Source: MirrorMaker 2, ``OffsetSyncStoreTest.testNoTranslationIfStoreNotStarted``.
    """
    store = OffsetSyncStore(history=history)
    assert store.translate(PART, 0) is Untranslatable.NOT_READ
    store.add(sync(100, 200))
    assert {store.translate(PART, offset) for offset in (0, 100, 200)} == {Untranslatable.NOT_READ}
    store.mark_read()
    assert [store.translate(PART, offset) for offset in (0, 100, 200)] == [Untranslatable.BEFORE_FIRST, 200, 201]


@pytest.mark.parametrize("history", list(SyncHistory))
def test_partition_without_a_sync(history: SyncHistory) -> None:
    """A partition of which nothing was synced has no translation, and others do not lend it theirs.

    Source: MirrorMaker 2, ``OffsetSyncStoreTest.testNoTranslationIfNoOffsetSync``.
    """
    store = store_of([sync(100, 200)], history=history)
    assert store.translate(TopicPartition("topic1", 3), 100) is Untranslatable.NO_SYNC


def test_history_after_a_start_without_checkpoints() -> None:
    """Of what was there at the start only the newest counts, and it stays the first that counts.

    Source: MirrorMaker 2, ``OffsetSyncStoreTest.testPastOffsetTranslation``.
    """
    store = store_of(every(10, 0, 1000), history=SyncHistory.LATEST_THEN_THINNED)
    assert_neighbours(store, 1000, None)
    for each in every(10, 1010, 10_000):
        store.add(each)
    assert_neighbours(store, 1000, None)
    kept = (1000, 4840, 6760, 8680, 9160, 9640, 9880, 9940, 9970, 9990, 10_000)
    for before, offset in pairwise(kept):
        assert_neighbours(store, offset, before)
    assert_rewound(store)


@pytest.mark.parametrize("first_live", [1000, 1010])
def test_history_after_a_start_with_checkpoints(first_live: int) -> None:
    """What was there at the start is thinned like what comes later.

    Source: MirrorMaker 2, ``OffsetSyncStoreTest.testPastOffsetTranslationWithoutInitializationReadToEnd``.
    """
    store = store_of(every(10, 0, 1000))
    for offset, before in ((480, 0), (720, 480), (1000, 990)):
        assert_neighbours(store, offset, before)
    for each in every(10, first_live, 10_000):
        store.add(each)
    kept = (0, 3840, 7680, 8640, 9120, 9600, 9840, 9900, 9960, 9990, 10_000)
    for before, offset in pairwise(kept):
        assert_neighbours(store, offset, before)
    assert_rewound(store)


def assert_rewound(store: OffsetSyncStore) -> None:
    """A sync below the latest on the source is the only one that counts from then on."""
    store.add(sync(1500, 11_000))
    found = [store.translate(PART, offset) for offset in (1499, 1500, 2000)]
    assert found == [Untranslatable.BEFORE_FIRST, 11_000, 11_001]


def slots_after(syncs: Iterable[OffsetSync]) -> list[OffsetSync]:
    """The slots when these syncs have come in."""
    first, *others = syncs
    slots = [first] * SLOTS
    for each in others:
        slots = thinned(slots, each)
    return slots


def distinct(slots: Iterable[OffsetSync]) -> list[OffsetSync]:
    """The syncs that are there, the newest first."""
    return list(dict.fromkeys(slots))


@given(RISING)
def test_invariants(steps: list[int]) -> None:
    """Invariants A to D hold after whatever syncs."""
    syncs = [sync(offset, 0) for offset in accumulate(steps, initial=0)]
    slots = slots_after(syncs)
    assert slots[0] is syncs[-1]
    assert slots[63] is min(slots, key=lambda each: each.source_offset)
    for (at, one), (later, other) in combinations(enumerate(slots), 2):
        if one is not other:
            assert 2 ** max(at - 2, 0) <= one.source_offset - other.source_offset <= 2**later - 2**at


def expired_at_once(steps: Iterable[int]) -> int:
    """The most distinct syncs that any one sync drove out."""
    slots, most, offset = [sync(0, 0)] * SLOTS, 0, 0
    for step in steps:
        offset += step
        after = thinned(slots, sync(offset, offset))
        most = max(most, len(distinct(slots)) + 1 - len(distinct(after)))
        slots = after
    return most


@pytest.mark.parametrize("step", [1, 2, 3, 10, 64, 101, 1000])
def test_evenly_spaced_syncs_expire_one_by_one(step: int) -> None:
    """Where syncs are evenly spaced each drives out one other at most.

    Source: MirrorMaker 2, ``OffsetSyncStoreTest.testConsistentlySpacedSyncs``.
    """
    assert expired_at_once([step] * 1000) <= 1


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16, 32, 53])
@pytest.mark.parametrize("least", [0, 2**16])
def test_randomly_spaced_syncs_expire_few_by_few(least: int, bits: int) -> None:
    """Where the space between syncs is any number of n bits, and a fixed one, each drives out n + 2 others at most.

    Source: MirrorMaker 2, ``OffsetSyncStoreTest.testRandomlySpacedSyncs``.
    """
    numbers = random.Random(bits)  # noqa: S311, no secret
    assert expired_at_once(least + numbers.randrange(2**bits) for _ in range(1024)) <= bits + 2


def test_dropped_syncs_expire_two_by_two() -> None:
    """Where the space between syncs is 100 or, as if one were dropped, 200, each drives out two others at most.

    Source: MirrorMaker 2, ``OffsetSyncStoreTest.testDroppedSyncsSpacing``.
    """
    numbers = random.Random(0)  # noqa: S311, no secret
    assert expired_at_once(100 * numbers.choice([1, 2]) for _ in range(10_000)) <= 2


KEPT = {
    0: "1 2 4 8 16 32 64 128 192 320 576 1600 2624 4672 8768 16960 49728 82496 213568 475712 1000000",
    10: "1 12 34 56 144 320 672 1024 1728 3136 8768 20032 31296 53824 98880 279104 639552 1000000",
    100: "100 201 302 504 1312 2928 4544 11008 17472 43328 69184 172608 379456 586304 1000000",
    1000: "1 1002 3004 7008 15016 23024 39040 103104 231232 487488 1000000",
}
"""By ``offset.lag.max``: how far from the end of a million records those lie that MirrorMaker 2's own store kept."""

LAGS = (0, 1, 50, 100, 150, 500, 1000, 5000, 10_000, 50_000, 100_000, 250_000, 500_000, 900_000)
READ_AGAIN = {
    0: (0, 0, 13, 27, 41, 75, 599, 3767, 6959, 32_495, 113_567, 225_711, 499_999, 99_999),
    10: (0, 0, 5, 43, 169, 171, 23, 3767, 10_031, 3823, 179_103, 29_103, 139_551, 99_999),
    100: (99, 98, 49, 0, 50, 3, 311, 6007, 1007, 19_183, 72_607, 129_455, 86_303, 99_999),
    1000: (0, 0, 951, 901, 851, 501, 1, 2007, 5015, 53_103, 3103, 237_487, 499_999, 99_999),
}
"""By ``offset.lag.max``, and by each of ``LAGS``: how many records a group that lags so far is given again."""


@pytest.mark.parametrize("lag_max", sorted(KEPT) if is_long() else [100, 1000])
def test_million_records(lag_max: int) -> None:
    """Of a million records the same syncs are kept, and translated the same, as by MirrorMaker 2's own store."""
    syncs = every(lag_max + 1, 0, END - 1)
    assert [END - each.source_offset for each in distinct(slots_after(syncs))] == list(map(int, KEPT[lag_max].split()))
    store = store_of(syncs)
    translated = [store.translate(PART, END - lag) for lag in LAGS]
    again = [END - lag - at for lag, at in zip(LAGS, translated, strict=True) if isinstance(at, int)]
    assert again == list(READ_AGAIN[lag_max])


@given(RISING, st.data())
def test_all_syncs_are_nearer_and_as_safe(steps: list[int], data: st.DataObject) -> None:
    """With every sync a translation is never lower than MirrorMaker 2's, and never above what is certain."""
    syncs, offset, target = [], 0, 0
    for step in steps:
        offset, target = offset + step, target + data.draw(st.integers(1, step))
        syncs.append(sync(offset, target))
    asked = data.draw(st.integers(0, offset + 2))
    nearest = store_of(syncs, history=SyncHistory.ALL).translate(PART, asked)
    below = [each for each in syncs if each.source_offset < asked]
    exact = [each.target_offset for each in syncs if each.source_offset == asked]
    certain = exact[0] if exact else below[-1].target_offset + 1 if below else Untranslatable.BEFORE_FIRST
    assert nearest == certain
    thin = store_of(syncs).translate(PART, asked)
    if isinstance(thin, int):
        assert isinstance(nearest, int)
        assert thin <= nearest


def test_newest_of_equal_syncs_counts() -> None:
    """A record that was mirrored twice is translated to its newest place, by whatever history."""
    for history in SyncHistory:
        store = store_of([sync(10, 10), sync(20, 20), sync(20, 30)], history=history)
        assert [store.translate(PART, offset) for offset in (20, 21)] == [30, 31]


@pytest.mark.parametrize("history", list(SyncHistory))
def test_partitions_that_are_mirrored_again(history: SyncHistory) -> None:
    """A partition whose syncs went back is told until they have come to where they were."""
    store = store_of([sync(0, 0), sync(100, 100), sync(10, 110)], history=history)
    assert store.behind() == {PART}
    store.add(sync(99, 199))
    assert store.behind() == {PART}
    store.add(sync(100, 200))
    assert store.behind() == frozenset()


def test_sync_that_a_translation_goes_by() -> None:
    """The newest sync that is not above an offset can be asked for."""
    store = store_of([sync(10, 20), sync(30, 40)], history=SyncHistory.ALL)
    assert [store.at_or_below(PART, offset) for offset in (9, 10, 29, 30)] == [
        None,
        sync(10, 20),
        sync(10, 20),
        sync(30, 40),
    ]
    assert store.at_or_below(TopicPartition("topic1", 3), 10) is None
    assert not store.is_empty
    assert OffsetSyncStore().is_empty
