"""Finding a group's place on the target by the records around it, where no map says where they lie. Pure.

Known are the records that a reader sees on the source right before the group's position (read) and from it on
(unread), and the target's records go by one after the other. A mirror keeps the order, so the place lies between the
copies of the last read and of the first unread record. What must not mislead:

* **Records that are alike** (same key, value, headers and timestamp) say nothing one by one. Only records that occur
  once among those around the position are *telling*; alike ones count where everything between two telling records is
  the same sequence on both sides.
* **Copies of what a reader does not see** (a ``read_uncommitted`` mirror copies aborted records), and copies of what
  compaction has taken from the source since: unknown records on the target. A telling record right before or right at
  the position is enough beside them; where the source has a hole on both sides of the position, it is not.
* **Records that are gone from the target** by compaction: their neighbours tell. Where some may be gone, a later record
  that looks like one of those is looked for on the source, too.
* **Copies of the same records again** (a mirror that was restarted): a telling record that comes twice ends the search.

An answer is exact or none is given; a doubt leaves the group where MirrorMaker 2's rule puts it. What nobody can tell
is a record that the source has lost and that looked like one it has, timestamp and all, while the target is still
behind: a group may then read such records again, and misses none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b

from airflow_provider_mm2.mirror.model import Record

LOOK_AHEAD = 10_000
"""Records of the target that are looked at behind the place: copies made again come within a restart's few seconds."""


def fingerprint(record: Record) -> bytes:
    """16 bytes that are the same for records with the same key, value, headers and timestamp."""
    told = blake2b(record.timestamp_ms.to_bytes(8, "big", signed=True), digest_size=16)
    for part in (record.key, record.value):
        _add(told, part)
    for name, value in record.headers:
        _add(told, name.encode(errors="surrogateescape"))
        _add(told, value)
    return told.digest()


def _add(told: blake2b, part: bytes | None) -> None:
    """Add a part with its length, so that no two rows of parts look the same; a missing one has none."""
    told.update((-1 if part is None else len(part)).to_bytes(8, "big", signed=True))
    told.update(part or b"")


@dataclass(frozen=True, slots=True)
class Seen:
    """A record that was seen, by its offset and its fingerprint."""

    offset: int
    fingerprint: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The source around a group's position.

    :param position: the group's next offset to read.
    :param read: records below it, as many as were looked at, in order; ``unread`` likewise from it on.
    :param anchor: an offset on the source and the target offset it is known to lie at; None: none is known.
    :param elsewhere: fingerprints of those that occur before ``read``, too, as far back as the anchor.
    :param whole: ``read`` begins at the anchor and ``unread`` ends at the log's end, without a hole: no other record
        can be alike.
    """

    position: int
    read: tuple[Seen, ...]
    unread: tuple[Seen, ...]
    anchor: tuple[int, int] | None = None
    elsewhere: frozenset[bytes] = frozenset()
    whole: bool = False

    @property
    def fingerprints(self) -> frozenset[bytes]:
        """Those of all its records."""
        return frozenset(seen.fingerprint for seen in (*self.read, *self.unread))


class Doubt(str, Enum):
    """Why no exact place was found."""

    NOTHING_LEFT = "the source holds no record around it any more"
    NOT_FOUND = "none of the records around it was found on the target"
    ALIKE = "records around it are alike and cannot be told apart"
    HOLES = "records right beside it are missing on one of the sides"
    AGAIN = "records around it are on the target more than once"
    ANOTHER_ORDER = "records around it are on the target in another order"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The exact place."""

    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """The target ends before the position: the place behind its last record, and how many offsets are missing."""

    offset: int
    distance: int


class PlaceSearch:
    """Takes the target's visible records in order and says where the position lies among them.

    It keeps only what lies between the last telling record that was read and the first that was not, and never more of
    it than the source has there.

    :param start: the target offset from which the records are given.
    """

    def __init__(self, window: Window, start: int) -> None:
        self._window = window
        self._records = (*window.read, *window.unread)
        self._cut = len(window.read)
        counts = Counter([*window.elsewhere, *(seen.fingerprint for seen in self._records)])
        self._telling = {
            seen.fingerprint: index for index, seen in enumerate(self._records) if counts[seen.fingerprint] == 1
        }
        self._next = start
        self._has_holes = False
        self._found: dict[int, int] = {}
        self._left: int | None = None
        self._right: int | None = None
        self._between: list[Seen] = []
        self._is_more_between = False
        self._behind = 0
        self._doubt: Doubt | None = None

    @property
    def is_over(self) -> bool:
        """Whether further records change nothing."""
        return self._doubt is not None or self._behind >= LOOK_AHEAD

    @property
    def has_holes(self) -> bool:
        """Whether offsets are missing on the target before the place: markers, or records that compaction took."""
        return self._has_holes

    def feed(self, offset: int, told: bytes) -> None:
        """Take the target's next visible record."""
        self._has_holes |= self._right is None and offset != self._next
        self._next = offset + 1
        index = self._index_of(offset, told)
        if self._right is not None:
            self._behind += 1
        if index is None:
            self._keep(Seen(offset, told))
            return
        if index in self._found:
            self._doubt = Doubt.AGAIN
        elif self._found and index < next(reversed(self._found)):
            self._doubt = Doubt.ANOTHER_ORDER
        self._found[index] = offset
        if index < self._cut:
            self._left, self._between, self._is_more_between = index, [], False
        elif self._right is None:
            self._right = index

    def _index_of(self, offset: int, told: bytes) -> int | None:
        """Which of the source's records this is a copy of, where that can be told."""
        anchor = self._window.anchor
        if anchor is not None and offset == anchor[1] and self._records and self._records[0].offset == anchor[0]:
            return 0 if self._records[0].fingerprint == told else None
        return self._telling.get(told)

    def _keep(self, seen: Seen) -> None:
        if self._left is None or self._right is not None:
            return
        if len(self._between) >= len(self._records):
            self._is_more_between = True
        else:
            self._between.append(seen)

    def result(self, *, at_end: bool) -> Found | Ahead | Doubt:
        """The place, as far as the records taken tell.

        :param at_end: whether the target's records were taken to their end.
        """
        if not self._records:
            return Doubt.NOTHING_LEFT
        if self._doubt is not None:
            return self._doubt
        if not self._found:
            return Doubt.NOT_FOUND if self._telling else Doubt.ALIKE
        if len(self._found) == 1 and not self._window.whole:
            return Doubt.ALIKE  # a single record may be one that is alike and lies further off
        if self._left is not None and self._right is not None:
            return self._between_both(self._left, self._right)
        if self._left is not None:
            return self._behind_left(self._left, at_end=at_end)
        return Found(offset=self._found[self._cut]) if self._is_right_at_position else self._unsure()

    def _between_both(self, left: int, right: int) -> Found | Doubt:
        is_same = not self._is_more_between and self._is_same(left + 1, right)
        if is_same and self._between:
            read = self._cut - left - 1
            return Found(offset=self._between[read].offset if read < len(self._between) else self._found[right])
        if self._is_left_at_position and not is_same:
            return Found(offset=self._found[left] + 1)
        if self._is_right_at_position or (is_same and (self._is_left_at_position or self._is_right_sure)):
            return Found(offset=self._found[right])
        return self._unsure()

    def _behind_left(self, left: int, *, at_end: bool) -> Found | Ahead | Doubt:
        """No unread record was found: the group stands at the end of one of the sides, or what comes is alike."""
        is_last = at_end and not self._between
        if is_last and left < self._cut - 1:
            seen = self._records[left]
            return Ahead(offset=self._found[left] + 1, distance=self._window.position - seen.offset - 1)
        goes_on = all(
            here.fingerprint == there.fingerprint
            for here, there in zip(self._between, self._window.unread, strict=False)
        )
        ends = at_end or bool(self._window.unread)
        if is_last or (self._is_left_at_position and goes_on and ends):
            return Found(offset=self._found[left] + 1)
        return self._unsure()

    def _is_same(self, start: int, end: int) -> bool:
        """Whether what lies between the two telling records is the same sequence on both sides."""
        here = [seen.fingerprint for seen in self._records[start:end]]
        return here == [seen.fingerprint for seen in self._between]

    @property
    def _is_left_at_position(self) -> bool:
        """Whether the record right before the position was found: all behind its copy is unread."""
        last = self._cut - 1
        return self._left == last and self._records[last].offset == self._window.position - 1

    @property
    def _is_right_at_position(self) -> bool:
        """Whether the record right at the position was found: all before its copy was read."""
        return self._right == self._cut and self._records[self._cut].offset == self._window.position

    @property
    def _is_right_sure(self) -> bool:
        """Whether the first unread record is no lookalike of one that the source has lost: others follow it, too."""
        return self._window.whole or sum(1 for index in self._found if index >= self._cut) > 1

    def _unsure(self) -> Doubt:
        left = self._cut if self._left is None else self._left + 1
        right = len(self._records) if self._right is None else self._right
        alike = any(seen.fingerprint not in self._telling for seen in self._records[left:right])
        return Doubt.ALIKE if alike else Doubt.HOLES
