"""An order-sensitive digest of records over key, value, headers and timestamp, which both sides have alike. Pure.

Records come as columns, so each column is hashed by itself: what comes out does not depend on how the records came in
batches. Every ``BLOCK`` records of the source the columns' digests are added to a chain, which is 32 bytes: there a
comparison can be broken off and gone on with.

Of a block: for each column of lengths and numbers, 8 bytes a record (-1 for a part that is missing), and the joined
bytes of keys, values, header names and header values, each by SHA-256.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from hashlib import sha256
from itertools import chain

from airflow_provider_mm2.mirror.model import Columns

BLOCK = 50_000
START = bytes(32)
_COLUMNS = 10


class _Block:
    """The records of one side of a block."""

    def __init__(self) -> None:
        self.count = 0
        self._hashes = [sha256() for _ in range(_COLUMNS)]

    def copy(self) -> _Block:
        """Another one that has the same records."""
        other = _Block()
        other.count, other._hashes = self.count, [each.copy() for each in self._hashes]
        return other

    def add(self, columns: Columns) -> None:
        """Add records."""
        self.count += len(columns)
        self._add_parts(0, columns.keys)
        self._add_parts(2, columns.values)
        self._hashes[4].update(array("q", columns.timestamps))
        headers = columns.headers
        if headers.count(None) == len(headers):
            self._hashes[5].update(bytes(8 * len(headers)))
            return
        self._hashes[5].update(array("q", [len(each or ()) for each in headers]))
        every = list(chain.from_iterable(filter(None, headers)))
        self._add_parts(6, [name.encode(errors="surrogateescape") for name, _ in every])
        self._add_parts(8, [value for _, value in every])

    def _add_parts(self, place: int, parts: Sequence[bytes | None]) -> None:
        lengths, joined = self._hashes[place : place + 2]
        if parts.count(None):
            lengths.update(array("q", [-1 if part is None else len(part) for part in parts]))
            joined.update(b"".join(filter(None, parts)))
        else:
            lengths.update(array("q", map(len, parts)))  # type: ignore[arg-type]
            joined.update(b"".join(parts))  # type: ignore[arg-type]

    def chained(self, before: bytes) -> bytes:
        """The chain with this block behind it."""
        whole = sha256(before + self.count.to_bytes(8, "big"))
        for each in self._hashes:
            whole.update(each.digest())
        return whole.digest()


class Digests:
    """The digests of both sides. As long as a block is the same on both it is hashed once.

    :param source: the chain so far, 32 bytes; ``target`` likewise.
    """

    def __init__(self, source: bytes = START, target: bytes = START) -> None:
        self._source = source
        self._target = target
        self._begin()

    def _begin(self) -> None:
        self._ours = _Block()
        self._theirs: _Block | None = None

    @property
    def room(self) -> int:
        """How many records of the source fit into the block."""
        return BLOCK - self._ours.count

    @property
    def is_at_block_end(self) -> bool:
        """Whether the chains say all there is."""
        return self._ours.count == 0 and self._theirs is None

    @property
    def chains(self) -> tuple[bytes, bytes]:
        """The chains up to the last block's end."""
        return self._source, self._target

    def add_both(self, columns: Columns) -> None:
        """Add records that are the same on both sides."""
        for part in self._parts(columns):
            self._ours.add(part)
            if self._theirs is not None:
                self._theirs.add(part)
            self._close_full()

    def add_source(self, columns: Columns) -> None:
        """Add records of the source alone."""
        for part in self._parts(columns):
            self._part_ways()
            self._ours.add(part)
            self._close_full()

    def add_target(self, columns: Columns) -> None:
        """Add records of the target alone."""
        if len(columns):
            self._part_ways().add(columns)

    def _part_ways(self) -> _Block:
        if self._theirs is None:
            self._theirs = self._ours.copy()
        return self._theirs

    def _parts(self, columns: Columns) -> list[Columns]:
        """The records, cut where a block ends."""
        parts: list[Columns] = []
        start, room = 0, self.room
        while start < len(columns):
            parts.append(columns.slice(start, start + room))
            start, room = start + room, BLOCK
        return parts

    def _close_full(self) -> None:
        if self.room == 0:
            self._source, self._target = self._ends()
            self._begin()

    def _ends(self) -> tuple[bytes, bytes]:
        theirs = self._theirs or self._ours
        return self._ours.chained(self._source), theirs.chained(self._target)

    def ends(self) -> tuple[str, str]:
        """The digests of all records so far, as text: of the source, of the target."""
        source, target = self.chains if self.is_at_block_end else self._ends()
        return source.hex(), target.hex()
