"""Digests: the same for the same records however they come, another one for any other records."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.model import Columns, Row
from airflow_provider_mm2.mirror.verify import digest
from airflow_provider_mm2.mirror.verify.digest import START, Digests

PART = st.one_of(st.none(), st.binary(max_size=3))
HEADERS = st.one_of(st.none(), st.lists(st.tuples(st.text(max_size=2), PART), min_size=1, max_size=2).map(tuple))
ROWS = st.lists(st.tuples(PART, PART, st.integers(-1, 3), HEADERS), max_size=12)


def columns_of(rows: Sequence[Any]) -> Columns:
    """Lay records side by side."""
    return Columns(
        start=0,
        keys=[row[0] for row in rows],
        values=[row[1] for row in rows],
        timestamps=[row[2] for row in rows],
        headers=[None if row[3] is None else list(row[3]) for row in rows],
    )


def digest_of(rows: Sequence[Row], cuts: Sequence[int] = ()) -> str:
    """Hash records that come in batches."""
    digests = Digests()
    ends = sorted({0, len(rows), *(cut % (len(rows) + 1) for cut in cuts)})
    for start, end in pairwise(ends):
        digests.add_both(columns_of(rows[start:end]))
    source, target = digests.ends()
    assert source == target
    return source


@pytest.fixture(autouse=True, scope="module")
def _small_blocks() -> Any:
    """Let a block be full soon, and joining stop early."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digest, "BLOCK", 5)
        patch.setattr(digest, "LARGE", 2)
        yield


@given(ROWS, st.lists(st.integers(0, 12), max_size=5))
def test_batches_do_not_matter(rows: list[Row], cuts: list[int]) -> None:
    """Whatever the batches, the digest is that of the records."""
    assert digest_of(rows, cuts) == digest_of(rows)


@given(ROWS, ROWS)
def test_other_records_have_another_digest(rows: list[Row], others: list[Row]) -> None:
    """Only the same records in the same order have the same digest."""
    assert (digest_of(rows) == digest_of(others)) == (rows == others)


@given(ROWS, ROWS, ROWS)
def test_sides_that_part_ways(same: list[Row], here: list[Row], there: list[Row]) -> None:
    """The source has the digest of its records whatever the target has, and the target's tells that it is another."""
    digests = Digests()
    digests.add_both(columns_of(same))
    digests.add_source(columns_of(here))
    digests.add_target(columns_of(there))
    source, target = digests.ends()
    assert source == digest_of([*same, *here])
    if here != there:
        assert source != target


@given(ROWS, st.integers(0, 12))
def test_gone_on_with(rows: list[Row], cut: int) -> None:
    """From a block's end on the chain is all that is needed."""
    done = cut // 5 * 5 if cut <= len(rows) else 0
    first = Digests()
    first.add_both(columns_of(rows[:done]))
    assert first.is_at_block_end
    second = Digests(*first.chains)
    second.add_both(columns_of(rows[done:]))
    assert second.ends()[0] == digest_of(rows)


def test_nothing() -> None:
    """The digest of no records is the beginning of the chain."""
    assert digest_of([]) == START.hex()
