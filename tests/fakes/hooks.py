"""Where a test steps into the copy engine: to kill it, to let somebody else act, or to count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


def do_nothing(step: str) -> None:
    """Let the step go on."""


@dataclass(slots=True)
class Hooks:
    """Called with the name of a ``Copier`` method before it does anything and after it has done all.

    ``before`` is also called with ``produce`` for each record. What a hook raises comes out of the method: raised
    after ``commit`` it is an answer that never came to a commit that happened.
    """

    before: Callable[[str], None] = do_nothing
    after: Callable[[str], None] = do_nothing

    @contextmanager
    def around(self, step: str) -> Iterator[None]:
        """Call both around a step that does not fail."""
        self.before(step)
        yield
        self.after(step)
