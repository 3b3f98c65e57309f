"""One side of a comparison: its records in order, with a look ahead where it is wanted."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator

from airflow_provider_mm2.mirror.model import Columns


def size_of(columns: Columns) -> int:
    """Bytes of keys and values."""
    return sum(map(len, filter(None, columns.keys))) + sum(map(len, filter(None, columns.values)))


class Cursor:
    """Stands before the first record that was not taken.

    It holds the batch that it stands in, and more only after a look ahead.
    """

    def __init__(self, batches: Generator[Columns, None, None]) -> None:
        self._batches = batches
        self._ahead: deque[Columns] = deque()
        self._place = 0
        self._pull()

    def _pull(self) -> bool:
        batch = next(self._batches, None)
        if batch is not None:
            self._ahead.append(batch)
        return batch is not None

    @property
    def offset(self) -> int | None:
        """The offset that it stands before; None: all was taken."""
        return self._ahead[0].start + self._place if self._ahead else None

    @property
    def count(self) -> int:
        """How many records lie side by side from here on, as far as it is known without reading more."""
        return len(self._ahead[0]) - self._place if self._ahead else 0

    def peek(self, count: int) -> Columns:
        """The next records, no more than ``self.count``."""
        return self._ahead[0].slice(self._place, self._place + count)

    def skip(self, count: int) -> None:
        """Go past records, no more than ``self.count``."""
        self._place += count
        if self._place == len(self._ahead[0]):
            self._ahead.popleft()
            self._place = 0
            if not self._ahead:
                self._pull()

    def take(self, count: int) -> Iterator[Columns]:
        """Go past records, however they lie."""
        while count:
            part = self.peek(min(count, self.count))
            self.skip(len(part))
            count -= len(part)
            yield part

    def window(self, records: int, limit_bytes: int) -> tuple[list[Columns], bool]:
        """The next records without taking them, and whether these are all that there are.

        :param limit_bytes: no more is read once so much is held.
        """
        held = sum(map(len, self._ahead)) - self._place
        size = sum(map(size_of, self._ahead))
        is_all = False
        while held <= records and size < limit_bytes and not is_all:  # one more tells whether these are all
            if self._pull():
                held, size = held + len(self._ahead[-1]), size + size_of(self._ahead[-1])
            else:
                is_all = True
        found: list[Columns] = []
        left = records
        for number, batch in enumerate(self._ahead):
            part = batch.slice(self._place, len(batch)) if number == 0 else batch
            found.append(part.slice(0, left))
            left -= len(found[-1])
            if left == 0:
                break
        return found, is_all and held <= records
