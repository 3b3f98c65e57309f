"""An order-sensitive digest of records over key, value, headers and timestamp, which both sides have alike. Pure.

Records come as columns, so each column is hashed by itself: what comes out does not depend on how the records came in
batches. Every ``BLOCK`` records of the source the columns' digests are added to a chain, which is 32 bytes: there a
comparison can be broken off and gone on with.

Of a block: for each column of lengths and numbers, 8 bytes a record (-1 for a part that is missing), and the joined
bytes of keys, values, header names and header values, each by XXH3 (128 bits); the chain by SHA-256. Records are held
against each other byte by byte, so no verdict rests on a digest; it is for holding one report against another.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import chain

from xxhash import xxh3_128

from airflow_provider_mm2.mirror.model import Columns

BLOCK = 50_000
START = bytes(32)
NULL = b"\xff" * 8
"""The length of a part that is missing, -1, as it is hashed."""
LARGE = 4_096
_COLUMNS = 10


class _Block:
    """The records of one side of a block."""

    def __init__(self) -> None:
        self.count = 0
        self._hashes = [xxh3_128() for _ in range(_COLUMNS)]

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
        nulls = parts.count(None)
        if nulls == len(parts):
            lengths.update(NULL * nulls)
            return
        each: Sequence[bytes] = [part for part in parts if part is not None] if nulls else parts  # type: ignore[assignment]
        known = array("q", map(len, each))
        lengths.update(array("q", [-1 if part is None else len(part) for part in parts]) if nulls else known)
        if sum(known) < LARGE * len(known):
            joined.update(b"".join(each))
        else:  # joining would copy them once more
            for part in each:
                joined.update(part)

    def chained(self, before: bytes) -> bytes:
        """The chain with this block behind it; nothing is added where it has no record."""
        if not self.count:
            return before
        whole = sha256(before + self.count.to_bytes(8, "big"))
        for each in self._hashes:
            whole.update(each.digest())
        return whole.digest()


class _Chain:
    """The digests of both sides up to now, and the block that is not full."""

    def __init__(self, source: bytes, target: bytes) -> None:
        self.ends = source, target
        self._ours = _Block()
        self._theirs: _Block | None = None

    def add_both(self, columns: Columns) -> None:
        """Add records that are the same on both sides."""
        self._ours.add(columns)
        if self._theirs is not None:
            self._theirs.add(columns)

    def add_source(self, columns: Columns) -> None:
        """Add records of the source alone."""
        self._part_ways()
        self._ours.add(columns)

    def add_target(self, columns: Columns) -> None:
        """Add records of the target alone."""
        self._part_ways().add(columns)

    def _part_ways(self) -> _Block:
        if self._theirs is None:
            self._theirs = self._ours.copy()
        return self._theirs

    def chained(self) -> tuple[bytes, bytes]:
        """The chains with the block behind them."""
        source, target = self.ends
        return self._ours.chained(source), (self._theirs or self._ours).chained(target)

    def close_block(self) -> None:
        """Begin the next block."""
        self.ends = self.chained()
        self._ours, self._theirs = _Block(), None


class Digests:
    """The digests of both sides. As long as a block is the same on both it is hashed once.

    :param source: the chain so far, 32 bytes; ``target`` likewise.
    """

    def __init__(self, source: bytes = START, target: bytes = START) -> None:
        self._chain = _Chain(source, target)
        self._count = 0
        self._is_parted = False

    @property
    def room(self) -> int:
        """How many records of the source fit into the block."""
        return BLOCK - self._count

    @property
    def is_at_block_end(self) -> bool:
        """Whether the chains say all there is."""
        return self._count == 0 and not self._is_parted

    @property
    def chains(self) -> tuple[bytes, bytes]:
        """The chains up to the last block's end."""
        return self._chain.ends

    def add_both(self, columns: Columns) -> None:
        """Add records that are the same on both sides."""
        self._add(self._chain.add_both, columns)

    def add_source(self, columns: Columns) -> None:
        """Add records of the source alone."""
        self._is_parted = self._is_parted or len(columns) > 0
        self._add(self._chain.add_source, columns)

    def add_target(self, columns: Columns) -> None:
        """Add records of the target alone."""
        if len(columns):
            self._is_parted = True
            self._chain.add_target(columns)

    def _add(self, add: Callable[[Columns], None], columns: Columns) -> None:
        """Add records of the source, cut where a block ends."""
        start = 0
        while start < len(columns):
            part = columns.slice(start, start + self.room)
            add(part)
            self._count += len(part)
            start += len(part)
            if self.room == 0:
                self._chain.close_block()
                self._count, self._is_parted = 0, False

    def ends(self) -> tuple[str, str]:
        """The digests of all records so far, as text: of the source, of the target."""
        source, target = self._chain.chained()
        return source.hex(), target.hex()
