"""Slow tests begin first, on every worker."""

from __future__ import annotations

import pytest

from tests.slow_first import slow_first


def is_slow(test: str) -> bool:
    """Capital letters are."""
    return test.isupper()


@pytest.mark.parametrize(
    ("tests", "workers", "ordered"),
    [
        ("", 2, ""),
        ("abcdEF", 1, "EFabcd"),
        ("abcdEF", 2, "EabFcd"),
        ("aBcDeFg", 2, "BFaDceg"),
        ("abABCDEFGH", 4, "AEBFCGaDHb"),
        ("ABCab", 2, "ACBab"),
        ("ab", 4, "ab"),
    ],
)
def test_each_share_begins_with_slow_ones(tests: str, workers: int, ordered: str) -> None:
    """The slow ones are dealt out to the heads of the shares; the others keep their order."""
    assert "".join(slow_first(tests, is_slow, workers=workers)) == ordered
