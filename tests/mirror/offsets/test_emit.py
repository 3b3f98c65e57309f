"""Which checkpoints are published, held against MirrorMaker 2's own cases."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import Checkpoint, OffsetSync
from airflow_provider_mm2.mirror.offsets.emit import is_due
from airflow_provider_mm2.mirror.offsets.sync_store import OffsetSyncStore

SOURCE, TARGET = TopicPartition("topic1", 0), TopicPartition("source1.topic1", 0)


def checkpoint(source_offset: int, target_offset: int, metadata: str | None = None) -> Checkpoint:
    """A checkpoint of the one group and partition."""
    return Checkpoint(
        group="app",
        topic=TARGET.topic,
        partition=TARGET.partition,
        source_offset=source_offset,
        target_offset=target_offset,
        metadata=metadata,
    )


def store_of(*pairs: tuple[int, int]) -> OffsetSyncStore:
    """A store that has read these syncs to the end."""
    store = OffsetSyncStore()
    for source_offset, target_offset in pairs:
        store.add(OffsetSync(topic="topic1", partition=0, source_offset=source_offset, target_offset=target_offset))
    store.mark_read()
    return store


def published(store: OffsetSyncStore, offset: int, last: Checkpoint | None = None) -> Checkpoint | None:
    """What comes of a group at ``offset``; None: nothing is published."""
    translated = store.translate(SOURCE, offset)
    assert isinstance(translated, int)
    new = checkpoint(offset, translated)
    return new if is_due(new, last) else None


@pytest.mark.parametrize(
    ("new", "last", "due"),
    [
        ((10, 5), None, True),
        ((10, 5), (10, 5), False),
        ((11, 5), (10, 5), False),
        ((11, 6), (10, 5), True),
        ((10, 6), (10, 5), True),
        ((11, 4), (10, 5), False),
        ((9, 4), (10, 5), True),
        ((9, 5), (10, 5), True),
        ((9, 6), (10, 5), True),
        ((0, 0), None, True),
    ],
)
def test_due(new: tuple[int, int], last: tuple[int, int] | None, due: bool) -> None:
    """A checkpoint follows another when the group moved on on the target or went back on the source."""
    assert is_due(checkpoint(*new), None if last is None else checkpoint(*last)) is due


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=30))
def test_published_offsets_only_rise(found: list[tuple[int, int]]) -> None:
    """Whatever is translated, the target offset falls only where the source offset did."""
    last: Checkpoint | None = None
    for new in (checkpoint(*pair) for pair in found):
        if is_due(new, last):
            assert last is None or new.target_offset > last.target_offset or new.source_offset < last.source_offset
            last = new


def test_deliberate_rewind() -> None:
    """A restart that translates lower publishes nothing; a group set back on the source does go back."""
    last = checkpoint(200, 80)
    assert not is_due(checkpoint(200, 51), last)
    assert not is_due(checkpoint(201, 51), last)
    assert is_due(checkpoint(150, 40), last)


@pytest.mark.parametrize(
    ("known", "offset", "expected"), [((3, 4), 10, 5), ((7, 8), 7, 8), ((0, 0), 0, 0), ((0, 0), 5, 1)]
)
def test_checkpoint_of_a_position(known: tuple[int, int], offset: int, expected: int) -> None:
    """A group behind a sync gets one more than its target offset, a group right at it that offset.

    Source: MirrorMaker 2, ``MirrorCheckpointTaskTest.testCheckpoint``.
    """
    assert published(store_of(known), offset) == checkpoint(offset, expected)


def test_store_that_knows_less_than_before() -> None:
    """What a store of fewer syncs translates lower is held back until the group has passed what was published.

    Source: MirrorMaker 2, ``MirrorCheckpointTaskTest.testCheckpointRecordsMonotonicIfStoreRewinds``.
    """
    last = published(store_of((100, 100), (200, 200)), 250)
    assert last == checkpoint(250, 201)
    assert published(store_of((100, 100)), 300, last) is None
    assert published(store_of((100, 100), (300, 300)), 300, last) == checkpoint(300, 300)


def test_restart_goes_by_what_was_published() -> None:
    """A new process with other syncs publishes only what lies above the checkpoints that it read.

    Source: MirrorMaker 2, ``MirrorCheckpointTaskTest.testCheckpointsTaskRestartUsesExistingCheckpoints``.
    """
    last = published(store_of((100, 100), (200, 200), (300, 300)), 250)
    assert last == checkpoint(250, 201)
    later = store_of((175, 175), (275, 275), (375, 375), (475, 475))
    assert [later.translate(SOURCE, offset) for offset in (250, 370)] == [176, 176]
    assert published(later, 250, last) is None
    assert published(later, 370, last) is None
    assert published(later, 400, last) == checkpoint(400, 376)


def test_target_offset_right_behind_the_last() -> None:
    """One offset more is enough to be published.

    Source: MirrorMaker 2, ``MirrorCheckpointTaskTest.testSyncOffset``.
    """
    assert is_due(replace(checkpoint(101, 100), target_offset=101), checkpoint(101, 100))
