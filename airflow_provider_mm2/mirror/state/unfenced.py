"""The ledger where nothing fences its writers (``delivery: at_least_once``): order of writes, and which count. Pure.

Each entry is true by itself: the records that it maps were delivered before it was written. So what is read must only
be a chain of true entries, whatever part of a write arrived, and whoever was late:

* An attempt begins by claiming: it writes every entry anew, with a sequence number far above the last one's. What an
  earlier attempt still sends, because it slept between its last look and its write, has lower numbers and is passed
  over (:func:`is_overtaken`, :func:`standing`).
* The entries of one partition are written in turns (:func:`turns_of`): an entry that is closed before the one that goes
  on from it, an entry that stands for expired ones before those are removed. The newest entry comes last, so a write
  that stops before it leaves an earlier progress, which costs repeats.
* Of two generations the one with the highest number counts (:func:`believed_generation`), and the old one's entries are
  removed after the new one's are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import Delivery, LedgerEntry

CLAIM = 1 << 20
"""Distance of two attempts' sequence numbers; a run writes a partition far less often."""


def claim(sequence: int) -> int:
    """The sequence number with which a new attempt begins behind ``sequence``."""
    return (sequence // CLAIM + 1) * CLAIM


def is_overtaken(entry: LedgerEntry, before: LedgerEntry) -> bool:
    """Whether a later attempt had already written what ``entry`` writes."""
    return entry.delivery is Delivery.AT_LEAST_ONCE and entry.sequence < before.sequence


def believed_generation(entries: Iterable[LedgerEntry]) -> int:
    """The generation that counts: the one with the highest sequence number.

    A new one keeps entries of the one before under their old numbers, and only the last that is written of it has a
    higher one. So a write that stops before that leaves the old generation standing, all of it.
    """
    return max(entries, key=lambda entry: (entry.sequence, entry.generation)).generation


def standing(entries: Iterable[tuple[int, LedgerEntry]]) -> list[tuple[int, LedgerEntry]]:
    """The entries that count, of those of one generation in source order.

    Not those that an overtaken attempt added, and not those for which an entry of expired records stands already:
    they are removed after it is written.
    """
    counting: list[tuple[int, LedgerEntry]] = []
    newest, covered = -1, 0
    for offset, entry in entries:
        is_late = entry.delivery is Delivery.AT_LEAST_ONCE and entry.sequence <= newest
        if is_late or entry.first < covered:
            continue
        counting.append((offset, entry))
        newest = max(newest, entry.sequence)
        covered = entry.next_offset if entry.expired else covered
    return counting


def turns_of(entries: Sequence[LedgerEntry]) -> list[int]:
    """The turn in which each of some entries is written: those of one partition one after the other, as given."""
    written: dict[TopicPartition, int] = {}
    turns: list[int] = []
    for entry in entries:
        turns.append(written.get(entry.source, 0))
        written[entry.source] = turns[-1] + 1
    return turns
