"""Translation by MirrorMaker 2's offset syncs, for a pair that it filled and that we have no map of.

Source: MirrorMaker 2, ``OffsetSyncStore``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import OffsetSync

SLOTS = 64
"""Syncs that MirrorMaker 2 remembers of a partition. Source: ``OffsetSyncStore.SYNCS_PER_PARTITION``."""


class SyncHistory(Enum):
    """Which of the syncs that were read are used."""

    THINNED = "thinned"
    """As MirrorMaker 2 does where it could read its checkpoints: few, the further back the fewer."""
    LATEST_THEN_THINNED = "latest_then_thinned"
    """As MirrorMaker 2 does without its checkpoints: only the newest of those that were there at the start."""
    ALL = "all"
    """Every one since the source last went back: nearer than MirrorMaker 2 ever comes, and as safe."""


class Untranslatable(Enum):
    """Why offset syncs give no target offset."""

    NOT_READ = "the offset syncs were not read to their end"
    NO_SYNC = "the partition has no offset sync"
    BEFORE_FIRST = "the offset lies before the first offset sync that is known"


class _Syncs(Protocol):
    """The syncs of one partition."""

    latest: OffsetSync

    def add(self, sync: OffsetSync) -> None:
        """Take in a sync that is not below the latest."""

    def at_or_below(self, offset: int) -> OffsetSync | None:
        """The newest sync whose source offset is not above ``offset``."""


class _Thinned:
    """The slots that MirrorMaker 2 keeps."""

    def __init__(self, first: OffsetSync) -> None:
        self.latest = first
        self._slots = [first] * SLOTS

    def add(self, sync: OffsetSync) -> None:
        """Put it in the first slot and thin the others."""
        self.latest = sync
        self._slots = thinned(self._slots, sync)

    def at_or_below(self, offset: int) -> OffsetSync | None:
        """Look through the slots, newest first."""
        return next((sync for sync in self._slots if sync.source_offset <= offset), None)


class _All:
    """Every sync, in the order of reading."""

    def __init__(self, first: OffsetSync) -> None:
        self.latest = first
        self._syncs = [first]

    def add(self, sync: OffsetSync) -> None:
        """Append it."""
        self.latest = sync
        self._syncs.append(sync)

    def at_or_below(self, offset: int) -> OffsetSync | None:
        """Search the rising source offsets; of equal ones the newest counts."""
        index = bisect_right(self._syncs, offset, key=lambda sync: sync.source_offset)
        return self._syncs[index - 1] if index else None


class OffsetSyncStore:
    """Offset syncs as they are read from partition 0 of their topic, and translation by them.

    A translation never skips a record that the group has not read, and may give some to it again: between two syncs
    nothing is known of holes and doubles. For what has been read, it rises with the source offset.
    """

    def __init__(self, *, history: SyncHistory = SyncHistory.THINNED) -> None:
        self._history = history
        self._read = False
        self._syncs: dict[TopicPartition, _Syncs] = {}
        self._highest: dict[TopicPartition, int] = {}

    def add(self, sync: OffsetSync) -> None:
        """Take in the next sync of the topic.

        When it lies below the latest of its partition on the source, the source was made anew or mirrored again,
        and nothing before counts any more. A target that goes back changes nothing of what is known.
        """
        self._highest[sync.source] = max(sync.source_offset, self._highest.get(sync.source, 0))
        syncs = self._syncs.get(sync.source)
        only_latest_counts = self._history is SyncHistory.LATEST_THEN_THINNED and not self._read
        if syncs is None or only_latest_counts or sync.source_offset < syncs.latest.source_offset:
            self._syncs[sync.source] = _All(sync) if self._history is SyncHistory.ALL else _Thinned(sync)
        else:
            syncs.add(sync)

    def mark_read(self) -> None:
        """Say that the topic was read to its end; before, nothing is translated."""
        self._read = True

    def translate(self, source: TopicPartition, offset: int) -> int | Untranslatable:
        """The target offset from which a group at ``offset`` misses nothing.

        :param source: the partition on the source.
        :param offset: the group's next record to read there; it may lie ahead of all syncs.
        :returns: the sync's own target offset where one is of this very record, else one above the target offset of
            the newest sync below, or the reason why there is none.
        """
        if not self._read:
            return Untranslatable.NOT_READ
        syncs = self._syncs.get(source)
        if syncs is None:
            return Untranslatable.NO_SYNC
        sync = syncs.at_or_below(offset)
        if sync is None:
            return Untranslatable.BEFORE_FIRST
        return sync.target_offset if sync.source_offset == offset else sync.target_offset + 1

    @property
    def is_empty(self) -> bool:
        """Whether there is no sync at all."""
        return not self._syncs

    def at_or_below(self, source: TopicPartition, offset: int) -> OffsetSync | None:
        """The sync that a translation goes by; None where there is none."""
        syncs = self._syncs.get(source)
        return None if syncs is None else syncs.at_or_below(offset)

    def latest(self) -> dict[TopicPartition, OffsetSync]:
        """The newest sync of each partition."""
        return {part: syncs.latest for part, syncs in self._syncs.items()}

    def behind(self) -> frozenset[TopicPartition]:
        """Partitions that are mirrored again and have not come to where they were.

        What had been mirrored before lies on the target only before the syncs that count now.
        """
        return frozenset(
            part for part, syncs in self._syncs.items() if syncs.latest.source_offset < self._highest[part]
        )


def thinned(slots: Sequence[OffsetSync], new: OffsetSync) -> list[OffsetSync]:
    """The slots after a sync that is not below the latest; sync ``i`` stands for the one in slot ``i``.

    - A: slot 0 holds the latest sync.
    - B: two different syncs in slots i < j are near enough: sync i lies at most 2^j - 2^i above sync j.
    - C: two different syncs in slots i < j are far enough apart: sync i lies at least 2^max(i - 2, 0) above sync j.
    - D: slot 63 holds the earliest sync that is used.

    Slots repeat a sync as long as no other fits. The same syncs in the same order leave the same slots as in
    MirrorMaker 2, which matters where its translation is to be foretold. Java's overflow needs no care here: bounds
    above 2^63 hold for B and fail for C by themselves.

    :param slots: 64 syncs, all the same after the first one.
    :param new: the sync that comes in.
    """
    after = [new, *slots[1:]]
    candidate, index = new, 0
    for slot in range(1, SLOTS):
        if _near(after[slot - 1], after[slot], slot - 1, slot):
            break
        candidate, index = _candidate(slots, after, slot, candidate, index)
        after[slot] = candidate
    return after


def _candidate(
    slots: Sequence[OffsetSync], after: Sequence[OffsetSync], slot: int, candidate: OffsetSync, index: int
) -> tuple[OffsetSync, int]:
    """What goes into a slot, and where in the old slots to look for the next one.

    The old slots are gone through once in all. A sync among them that is too near to the slot before is never of use
    again, nor is one that repeats; one that fits is taken; one that is too far back waits for a later slot.
    """
    while True:
        old = slots[index]
        far_enough = _apart(after[slot - 1], old, slot - 1)
        near_enough = _near(after[slot - 1], old, slot - 1, slot)
        leaves_room = slot + 1 == SLOTS or _apart(old, after[slot + 1], slot)
        fits = far_enough and near_enough and leaves_room
        is_spent = old is slots[index + 1] or not far_enough
        if fits:
            candidate = old
        if fits or is_spent:
            index += 1
        if not is_spent or index >= slot:
            return candidate, index


def _near(sync: OffsetSync, older: OffsetSync, slot: int, older_slot: int) -> bool:
    """Invariant B."""
    return sync.source_offset <= older.source_offset + (1 << older_slot) - (1 << slot)


def _apart(sync: OffsetSync, older: OffsetSync, slot: int) -> bool:
    """Invariant C."""
    return sync.source_offset >= older.source_offset + (1 << max(slot - 2, 0))
