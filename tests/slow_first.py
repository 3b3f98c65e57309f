"""The order of a run on several workers: what takes long begins first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TypeVar

Test = TypeVar("Test")


def slow_first(tests: Sequence[Test], is_slow: Callable[[Test], bool], *, workers: int) -> list[Test]:
    """Deal the slow tests out to the workers, at the head of each one's share.

    ``--dist worksteal`` gives each worker an equal share of the tests in their order, and an idle worker half of the
    tail of the longest one: a test of minutes in the tail would begin when nothing is left to run beside it.
    """
    slow = [test for test in tests if is_slow(test)]
    quick = iter([test for test in tests if not is_slow(test)])
    ordered: list[Test] = []
    for worker in range(workers):
        share = (len(tests) - len(ordered)) // (workers - worker)
        head = slow[worker::workers]
        ordered += head
        ordered += islice(quick, max(share - len(head), 0))
    return [*ordered, *quick]
