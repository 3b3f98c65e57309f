"""Where a position lies among the target's records, told by the records around it on the source."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.model import Record
from airflow_provider_mm2.mirror.offsets.refine import (
    LOOK_AHEAD,
    Ahead,
    Doubt,
    Found,
    PlaceSearch,
    Seen,
    Window,
    fingerprint,
)

PARTS = st.none() | st.binary(max_size=2)
RECORDS = st.builds(
    Record,
    offset=st.just(0),
    key=PARTS,
    value=PARTS,
    headers=st.lists(st.tuples(st.text("ab", max_size=2), PARTS), max_size=2).map(tuple),
    timestamp_ms=st.integers(-1, 1),
)


def search(source: str, target: str, *, at_end: bool = True, first: int = 0, **options: Any) -> Found | Ahead | Doubt:
    """Look for the bar of ``source`` in ``target``: letters are records, alike where they are the same, dots holes.

    :param first: offset of the target's first letter or dot.
    """
    before, after = source.split("|")
    read = tuple(Seen(offset, letter.encode()) for offset, letter in enumerate(before) if letter != ".")
    unread = tuple(Seen(offset, letter.encode()) for offset, letter in enumerate(after, len(before)) if letter != ".")
    looked = PlaceSearch(Window(position=len(before), read=read, unread=unread, **{"whole": True, **options}), first)
    for offset, letter in enumerate(target, first):
        if letter != ".":
            looked.feed(offset, letter.encode())
    return looked.result(at_end=at_end)


@pytest.mark.parametrize(
    ("source", "target", "place"),
    [
        pytest.param("ab|cd", "abcd", 2, id="the same log"),
        pytest.param("ab|cd", "zzabcd", 4, id="records from before on the target"),
        pytest.param("ab|cd", "a..b..c.d", 6, id="markers on the target"),
        pytest.param("a..b.|c.d", "abcd", 2, id="markers on the source"),
        pytest.param("|abc", "xyabc", 2, id="nothing read"),
        pytest.param("abc|", "abc", 3, id="all read"),
        pytest.param("abc...|", "abc..", 3, id="all read, and markers behind it"),
        pytest.param("abc|de", "abc", 3, id="what is unread is not mirrored yet"),
    ],
)
def test_plain_logs(source: str, target: str, place: int) -> None:
    """The place is that of the first unread record, or behind the last that was read."""
    assert search(source, target) == Found(offset=place)


@pytest.mark.parametrize(
    ("source", "target", "place"),
    [
        pytest.param("axx|xb", "axxxb", 3, id="between two telling records"),
        pytest.param("a|xxxb", "axxxb", 1, id="behind a telling record"),
        pytest.param("axxx|b", "axxxb", 4, id="before a telling record"),
        pytest.param("a|xxx", "axxx", 1, id="alike to the end"),
        pytest.param("axyx|yxb", "axyxyxb", 4, id="two kinds"),
        pytest.param("axx|xb", "axxxxb", Doubt.ALIKE, id="one more on the target"),
        pytest.param("axx|xb", "axxb", Doubt.ALIKE, id="one less on the target"),
        pytest.param("xx|xx", "xxxx", Doubt.ALIKE, id="nothing but alike ones"),
        pytest.param("ax|xx", "axxx", Doubt.ALIKE, id="one side only"),
        pytest.param("a|xxx", "azxx", Doubt.ALIKE, id="what follows is another record"),
    ],
)
def test_records_that_are_alike(source: str, target: str, place: int | Doubt) -> None:
    """Alike records count only as a whole sequence between records that are not; else the doubt is told."""
    assert search(source, target) == (Found(offset=place) if isinstance(place, int) else place)


@pytest.mark.parametrize(
    ("source", "target", "place"),
    [
        pytest.param("ab..|cd", "abXYcd", 4, id="the position is the next record's"),
        pytest.param("ab|..cd", "abXYcd", 2, id="the position is right behind the last one"),
        pytest.param("ab.|.cd", "abcd", 2, id="only a hole on the source"),
        pytest.param("ab.|.cd", "abXYcd", Doubt.HOLES, id="in the midst of what nobody sees"),
        pytest.param("ab|", "abX", 2, id="at the end"),
        pytest.param("ab..|", "abXY", Doubt.HOLES, id="behind the end"),
    ],
)
def test_copies_of_what_nobody_sees(source: str, target: str, place: int | Doubt) -> None:
    """Aborted records that were copied, or records that the source has compacted since, are neither lost nor passed."""
    assert search(source, target) == (Found(offset=place) if isinstance(place, int) else place)


@pytest.mark.parametrize(
    ("source", "target", "place"),
    [
        pytest.param("ab|cd", "a.cd", 2, id="the last read record is gone"),
        pytest.param("ab|cd", "ab.d", 2, id="the next record is gone"),
        pytest.param("ab|cd", "a..d", Doubt.HOLES, id="both are gone"),
        pytest.param("ab|cd", "..cd", 2, id="all that was read is gone"),
        pytest.param("ab|cd", "ab..", 2, id="all that is unread is gone"),
    ],
)
def test_records_gone_from_the_target(source: str, target: str, place: int | Doubt) -> None:
    """What compaction took from the target is found by its neighbours."""
    assert search(source, target) == (Found(offset=place) if isinstance(place, int) else place)


def test_target_that_ends_before() -> None:
    """Where the target ends before the position its last record's place is given, with the offsets that are missing."""
    assert search("abcd|ef", "ab") == Ahead(offset=2, distance=2)
    assert search("abcd|", "abc.") == Ahead(offset=3, distance=1)
    assert search("abcd|ef", "ab", at_end=False) is Doubt.HOLES


@pytest.mark.parametrize(
    ("source", "target", "doubt"),
    [
        ("ab|cd", "abcbcd", Doubt.AGAIN),
        ("ab|cd", "cabd", Doubt.ANOTHER_ORDER),
        ("ab|cd", "wxyz", Doubt.NOT_FOUND),
        ("ab|cd", "", Doubt.NOT_FOUND),
        ("..|..", "ab", Doubt.NOTHING_LEFT),
    ],
)
def test_doubts(source: str, target: str, doubt: Doubt) -> None:
    """What cannot be sure is said, each doubt by its name."""
    assert search(source, target) is doubt


def test_one_record_is_too_few() -> None:
    """A single record counts only where no other can be alike, since all that may be on the target was looked at."""
    assert search("a|", "a") == Found(offset=1)
    assert search("a|", "a", whole=False) is Doubt.ALIKE
    assert search("ab|", "ab", whole=False) == Found(offset=2)


def test_anchor() -> None:
    """A sync's record has its place although others are alike, unless another record lies there."""
    assert search("xx|xb", "xxxb", first=5) is Doubt.ALIKE
    assert search("xx|xb", "xxxb", first=5, anchor=(0, 5)) == Found(offset=7)
    assert search("xx|xb", "zxxb", first=5, anchor=(0, 5)) is Doubt.ALIKE


def test_lookalikes_further_back() -> None:
    """A record that occurs further back, too, tells nothing: a target that is behind may hold that one."""
    assert search("ab|", "ab", whole=False) == Found(offset=2)
    assert search("ab|", "ab", whole=False, elsewhere=frozenset({b"a", b"b"})) is Doubt.ALIKE


@pytest.mark.parametrize(
    ("target", "has_holes"), [("abcd", False), ("ab.cd", True), ("abc.d", False), ("..abcd", True)]
)
def test_holes_before_the_place_are_told(target: str, has_holes: bool) -> None:
    """Whether records may be gone from the target is told up to the first unread record."""
    looked = PlaceSearch(Window(position=2, read=(Seen(0, b"a"), Seen(1, b"b")), unread=(Seen(2, b"c"),)), 0)
    for offset, letter in enumerate(target):
        if letter != ".":
            looked.feed(offset, letter.encode())
    assert looked.has_holes is has_holes


def test_search_is_over() -> None:
    """The search goes on behind the place, for copies made again, and ends some way behind or with the first doubt."""
    looked = PlaceSearch(Window(position=1, read=(Seen(0, b"a"),), unread=(Seen(1, b"b"),), whole=True), 0)
    for offset, letter in enumerate((b"a", b"b")):
        looked.feed(offset, letter)
    for offset in range(2, LOOK_AHEAD + 2):
        assert not looked.is_over
        looked.feed(offset, b"z")
    assert looked.is_over
    assert looked.result(at_end=False) == Found(offset=1)
    again = PlaceSearch(Window(position=1, read=(Seen(0, b"a"),), unread=(Seen(1, b"b"),)), 0)
    for offset, letter in enumerate((b"a", b"b", b"a")):
        again.feed(offset, letter)
    assert again.is_over


@given(st.lists(RECORDS, min_size=2, max_size=6, unique=True))
def test_fingerprints_tell_records_apart(records: list[Record]) -> None:
    """Records that differ in a part, were it only nothing and an empty one, have another fingerprint."""
    for one, other in combinations(records, 2):
        assert fingerprint(one) != fingerprint(other)


def test_fingerprint_is_the_same_at_another_offset() -> None:
    """The offset is no part of it."""
    parts: dict[str, Any] = {"key": b"k", "value": b"v", "headers": (("h", None),), "timestamp_ms": 5}
    assert fingerprint(Record(offset=1, **parts)) == fingerprint(Record(offset=2, **parts))
