"""Records that are on one side alone: what retention and compaction explain is told apart from loss.

* Below the other log's start: *expired*.
* In a compacted topic a later record of the same key takes a record's place, or a tombstone goes once its time is over
  and all before it of its key are gone. So of each key that misses something the side is searched for a later record,
  and for one that a missing tombstone should have taken along. Where neither explains it, the key's last record is
  *missing*: the last one of each key must be on both sides.

Keys are remembered as digests, as long as nothing explains what they miss: 16 bytes and a few numbers a key.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from airflow_provider_mm2.mirror.model import Columns
from airflow_provider_mm2.mirror.verify.findings import Kind, Side, Tally
from airflow_provider_mm2.mirror.verify.strays import Strays

Read = Callable[[Side, int, int | None], Iterator[Columns]]
"""Reads visible records of one side in a range, to the log's present end where the end is None."""

NO_LATER = "the last record of its key is not there, and no later one explains it"
KEPT_OLDER = "it is a tombstone, and a record of its key before it is still there"

ASK_S = 1.0


@dataclass(slots=True)
class _Missing:
    """What a key misses on one side: the last such record where it is, where it should be, and how many."""

    here: int
    there: int | None
    count: int
    is_tombstone: bool


def key_digest(key: bytes) -> bytes:
    """What a key is remembered by."""
    return blake2b(key, digest_size=16).digest()


class Absences:
    """Judges records that one side has not.

    :param starts: where each log began.
    :param compacted: sides whose topic is compacted.
    :param start_now: asks where a side's log begins by now: retention goes on while both sides are read.
    """

    def __init__(
        self,
        *,
        starts: Mapping[Side, int],
        compacted: frozenset[Side],
        tally: Tally,
        strays: Strays,
        start_now: Callable[[Side], int] | None = None,
    ) -> None:
        self._starts = dict(starts)
        self._start_now = start_now
        self._asked = dict.fromkeys(Side, 0.0)
        self._compacted = compacted
        self._tally = tally
        self._strays = strays
        self._waiting: dict[Side, dict[bytes, _Missing]] = {side: {} for side in Side}

    def is_compacted(self, side: Side) -> bool:
        """Whether a later record may explain that one is not there."""
        return side in self._compacted

    def expired(self, side: Side, there: int | None, count: int) -> int:
        """How many of the next ``count`` records retention took from ``side``; they are counted here."""
        if there is not None and there + count > self._starts[side]:
            self._ask(side)
        gone = 0 if there is None else max(0, min(count, self._starts[side] - there))
        self._tally.expired[side] += gone
        return gone

    def _ask(self, side: Side) -> None:
        """See where a log begins by now, once a second at most: a compacted topic misses records all the time."""
        now = time.monotonic()
        if self._start_now is not None and now - self._asked[side] >= ASK_S:
            self._asked[side] = now
            self._starts[side] = max(self._starts[side], self._start_now(side))

    def missing(self, side: Side, columns: Columns, there: int | None, kind: Kind, detail: str) -> None:
        """Take records of the other side that ``side`` has not, and retention did not take.

        :param there: the offset on ``side`` that the first of them should have; None: nobody knows.
        :param kind: what they are where nothing explains it.
        """
        if side in self._compacted:
            self._remember(side, columns, there)
        else:
            self._tell(side, kind, columns.start, there, len(columns), detail)

    def _tell(self, side: Side, kind: Kind, here: int, there: int | None, records: int, detail: str) -> None:
        source, target = (there, here) if side is Side.SOURCE else (here, there)
        self._strays.add(kind, source=source, target=target, records=records, detail=detail)

    def _remember(self, side: Side, columns: Columns, there: int | None) -> None:
        waiting = self._waiting[side]
        for place, (key, value) in enumerate(zip(columns.keys, columns.values, strict=True)):
            here, at = columns.start + place, None if there is None else there + place
            if key is None:
                self._tell(side, self._kind(side), here, at, 1, NO_LATER)
                continue
            known = waiting.pop(digest := key_digest(key), None)
            count = 1 if known is None else known.count + 1
            waiting[digest] = _Missing(here, at, count, value is None)

    def seen(self, side: Side, columns: Columns) -> None:
        """Take records that ``side`` has: what their keys missed before is explained."""
        waiting = self._waiting[side]
        if not waiting:
            return
        for place, key in enumerate(columns.keys):
            known = None if key is None else waiting.get(digest := key_digest(key))
            if known is not None and (known.there is None or known.there < columns.start + place):
                self._tally.compacted[side] += known.count
                del waiting[digest]

    def close(self, read: Read, bounds: Mapping[Side, int]) -> None:
        """Look for what explains the rest: behind the bounds, and, of tombstones, before them."""
        for side in Side:
            waiting = self._waiting[side]
            if waiting:
                for columns in read(side, bounds[side], None):
                    self.seen(side, columns)
                    if not waiting:
                        break
            if waiting:
                self._judge(side, read, bounds[side])

    def _judge(self, side: Side, read: Read, bound: int) -> None:
        waiting = self._waiting[side]
        kept: set[bytes] = set()
        if any(each.is_tombstone for each in waiting.values()):
            for columns in read(side, 0, bound):
                kept.update(waiting.keys() & {key_digest(key) for key in columns.keys if key is not None})
        for digest, known in waiting.items():
            is_explained = known.is_tombstone and digest not in kept
            self._tally.compacted[side] += known.count if is_explained else known.count - 1
            if not is_explained:
                detail = KEPT_OLDER if known.is_tombstone else NO_LATER
                self._tell(side, self._kind(side), known.here, known.there, 1, detail)
        waiting.clear()

    @staticmethod
    def _kind(side: Side) -> Kind:
        return Kind.MISSING if side is Side.TARGET else Kind.MISSING_AT_SOURCE

    def to_json(self) -> dict[str, Any]:
        """What is not explained yet."""
        return {
            side.value: {
                digest.hex(): [known.here, known.there, known.count, known.is_tombstone]
                for digest, known in self._waiting[side].items()
            }
            for side in Side
        }

    def restore(self, row: Mapping[str, Any]) -> None:
        """Go on from what ``to_json`` gave."""
        for side in Side:
            self._waiting[side] = {bytes.fromhex(digest): _Missing(*known) for digest, known in row[side.value].items()}
