"""A sample: which windows it draws, what it finds, and what it may claim of the rest."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.errors import ArgumentRefused, OptionMissing, OptionsDisagree
from airflow_provider_mm2.mirror.verify import sampling
from airflow_provider_mm2.mirror.verify.sampling import DOUBT, most_that_differ
from tests.mirror.verify.verify_world import VerifyWorld


def seen_by_counting(windows: int, looked_at: int, differing: int, wrong: int) -> Fraction:
    """How likely no more than so many wrong windows are drawn, by drawing every sample there is."""
    samples = list(combinations(range(windows), looked_at))
    return Fraction(sum(sum(each < wrong for each in drawn) <= differing for drawn in samples), len(samples))


@pytest.mark.parametrize("windows", [5, 9])
def test_the_claim_is_exact(windows: int) -> None:
    """The most that may differ is the largest number under which so few are seen more often than the doubt."""
    for looked_at in range(1, windows + 1):
        for differing in range(looked_at + 1):
            likely = [
                wrong
                for wrong in range(differing, windows - looked_at + differing + 1)
                if seen_by_counting(windows, looked_at, differing, wrong) > DOUBT
            ]
            assert most_that_differ(windows, looked_at, differing) == max(likely)


def test_the_claim_in_known_numbers() -> None:
    """Clean samples: the more is looked at the less may differ, and all of it leaves no doubt."""
    claims = [most_that_differ(1000, looked_at, 0) for looked_at in (10, 59, 100, 500, 1000)]
    assert claims == [257, 48, 28, 4, 0]
    assert most_that_differ(1_000_000, 300, 0) == 9934


@given(st.integers(1, 400), st.data())
def test_the_claim_never_falls_short(windows: int, data: st.DataObject) -> None:
    """At least what was seen may differ, and no more than that and all that was not looked at."""
    looked_at = data.draw(st.integers(1, windows))
    differing = data.draw(st.integers(0, looked_at))
    claim = most_that_differ(windows, looked_at, differing)
    assert differing <= claim <= windows - looked_at + differing


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> VerifyWorld:
    """Give 200 records in four runs, and windows of ten."""
    monkeypatch.setattr(sampling, "WINDOW", 10)
    return VerifyWorld().mirrored(33, 47, 60, 60)


def test_all_windows(world: VerifyWorld) -> None:
    """A sample of all windows reads each record once, and finds what a whole comparison finds, markers between."""
    world.edit_at(0, value=b"x")
    world.target_log.entries = [entry for entry in world.target_log.entries if entry.offset != 100]
    report = world.verify(sample=20)
    assert (report.records, world.found(sample=50), report.count) == (200, world.found(), 2)
    assert report.sampled is not None
    assert {name: report.sampled[name] for name in ("windows", "of_windows", "differing", "at_most")} == {
        "windows": 20,
        "of_windows": 20,
        "differing": 2,
        "at_most": 2,
    }


def test_some_windows(world: VerifyWorld) -> None:
    """The same seed draws the same windows; the statement has the exact numbers."""
    report = world.verify(sample=5, seed=7)
    assert report.sampled is not None
    assert (report.count, report.records, report.sampled["seed"]) == (0, 50, 7)
    assert report.sampled["statement"] == (
        "with 95 % confidence at most 8 of 20 windows differ, which have 80 of 200 records"
    )
    assert report.sampled == world.verify(sample=5, seed=7).sampled
    assert report.to_json()["partitions"][0]["digest"] is None


def test_random_windows(world: VerifyWorld) -> None:
    """Without a seed each call draws anew, and says by which."""
    seeds = {(world.verify(sample=1).sampled or {})["seed"] for _ in range(20)}
    assert len(seeds) > 1


def test_several_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The doubt is shared among the partitions, so that all of it holds at once."""
    monkeypatch.setattr(sampling, "WINDOW", 10)
    world = VerifyWorld(partitions=2)
    for partition in range(2):
        world.produce(200, partition=partition)
    world.run()
    sampled = world.verify(sample=10, seed=1).sampled
    assert sampled is not None
    each = most_that_differ(20, 10, 0, DOUBT / 2)
    assert [row["at_most"] for row in sampled["partitions"]] == [each, each]
    assert sampled["at_most"] == 2 * each


def test_compaction_in_a_sample(world: VerifyWorld) -> None:
    """What a later record has replaced is looked for behind the window, and a loss counts for its window."""
    world.compact(target=True)
    world.target_log.entries = [entry for entry in world.target_log.entries if entry.offset != 3]
    report = world.verify(sample=20)
    assert report.sampled is not None
    assert ([each.kind.value for each in report.mismatches], report.sampled["differing"]) == (["missing"], 1)


def test_what_does_not_go_together(world: VerifyWorld, tmp_path: Path) -> None:
    """A seed without a sample, a sample that is to be gone on with, and none at all are refused."""
    with pytest.raises(OptionMissing, match="Next move: add --sample N"):
        world.verify(seed=3)
    with pytest.raises(OptionsDisagree, match="--resume"):
        world.verify(sample=3, resume=tmp_path / "file")
    with pytest.raises(ArgumentRefused, match="0 is no number"):
        world.verify(sample=0)
