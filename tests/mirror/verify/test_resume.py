"""A comparison that was ended anywhere and is gone on with tells what a whole one tells."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_mm2.mirror.errors import FileNotWritable, ResumeRefused
from airflow_provider_mm2.mirror.verify import digest, resume
from tests.fakes.log import Outcome
from tests.mirror.verify.verify_world import COPY, VerifyWorld, message


class Killed(Exception):
    """The process is gone."""


class Dying:
    """A tick that ends the process at its ``number``-th call."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self) -> None:
        """Count down."""
        self.left -= 1
        if self.left == 0:
            raise Killed


def by_map() -> VerifyWorld:
    """Give 300 mirrored records with faults of every kind."""
    world = VerifyWorld().mirrored(100, 100, 100)
    world.edit_at(5, value=b"x")
    world.edit_at(150, timestamp_ms=3)
    world.target_log.entries = [entry for entry in world.target_log.entries if entry.offset not in (20, 220, 221)]
    world.source_log.entries = [entry for entry in world.source_log.entries if entry.offset != 260]
    return world


def moved() -> VerifyWorld:
    """Give 300 mirrored records of which one is dropped, one doubled and some lie elsewhere."""
    world = VerifyWorld().mirrored(100, 100, 100)
    world.plant_runs(
        lambda runs: [
            runs[0][:30] + runs[0][31:],
            [*runs[1][:10], runs[2][40], *runs[1][10:]],
            [*runs[2][:40], *runs[2][41:60], runs[2][59], *runs[2][60:]],
        ]
    )
    return world


def by_order() -> VerifyWorld:
    """Give 300 records and another tool's copies with faults of every kind."""
    world = VerifyWorld()
    world.pair.eu.create_topic(COPY.topic)
    world.write(0, 150)
    world.pair.us.transaction("orders", 0, *(message(n) for n in range(900, 905)), outcome=Outcome.ABORTED)
    world.write(150, 300)
    copies = [entry.message for entry in world.source_log.everything(0, 10**6) if entry.message is not None]
    copies = [*copies[:10], *copies[12:80], message(80, key=None), *copies[81:200], *copies[190:290]]
    world.pair.eu.produce(*COPY, *copies)
    return world


def compacted() -> VerifyWorld:
    """Give a topic of which the cleaner has taken a part on the target, and somebody one record more."""
    world = VerifyWorld()
    rows = [message(number, key=b"k%d" % (number % 40)) for number in range(300)]
    world.pair.us.produce("orders", 0, *rows)
    world.run()
    world.compact(target=True)
    world.target_log.entries = [entry for entry in world.target_log.entries if entry.offset != 290]
    return world


def document(world: VerifyWorld, **order: Any) -> dict[str, Any]:
    """Everything that a comparison tells but its time."""
    return {**world.verify(**order).to_json(), "seconds": None}


@pytest.mark.thorough
@pytest.mark.parametrize("make", [by_map, moved, by_order, compacted])
def test_killed_anywhere(make: Callable[[], VerifyWorld], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after any number of batches, and again, the rest gives the same digests, counts and findings."""
    monkeypatch.setattr(digest, "BLOCK", 16)
    world = make()
    order = {"by_order": make is by_order}
    whole = document(world, **order)
    assert len(whole["mismatches"]) >= 1
    gone_on = 0
    for number in range(2, 80, 3):
        file = tmp_path / f"{number}.json"
        for each in (number, number + 9):
            try:
                world.verify(**order, tick=Dying(each), resume=file, every_s=0)
            except Killed:
                gone_on += bool(json.loads(file.read_text())["states"]) if file.exists() else 0
        assert document(world, **order, resume=file, every_s=0) == whole, number
        assert document(world, **order, resume=file) == whole
    assert gone_on > 5


def test_the_ends_are_those_of_the_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is mirrored in between is not compared; what retention takes in between is no loss."""
    monkeypatch.setattr(digest, "BLOCK", 16)
    world = VerifyWorld().mirrored(200)
    file = tmp_path / "state.json"
    with pytest.raises(Killed):
        world.verify(tick=Dying(30), resume=file, every_s=0)
    world.mirrored(50)
    world.pair.eu.advance_log_start(*COPY, 190)
    report = world.verify(resume=file)
    assert (report.count, report.results[0].part.end) == (0, 200)


def test_a_file_of_something_else(tmp_path: Path) -> None:
    """A file of another flow, range or topic, or of no comparison at all, is refused and left as it is."""
    world = VerifyWorld().mirrored(20)
    file = tmp_path / "state.json"
    world.verify(resume=file)
    before = file.read_text()
    orders: tuple[dict[str, Any], ...] = ({"since": 3}, {"by_order": True}, {"topics": ("orders",)})
    for order in orders:
        with pytest.raises(ResumeRefused, match="its order"):
            world.verify(resume=file, **order)
    other = VerifyWorld(name="other").mirrored(20)
    with pytest.raises(ResumeRefused, match="its flow is f, asked for is other"):
        other.verify(resume=file)
    assert file.read_text() == before
    world.pair.eu.delete_topic(COPY.topic)
    world.pair.us.delete_topic("orders")
    world.pair.us.create_topic("orders")
    world.write(0, 5)
    world.pair.eu.create_topic(COPY.topic)
    by_order_file = tmp_path / "other.json"
    world.verify(by_order=True, resume=by_order_file)
    world.pair.eu.delete_topic(COPY.topic)
    world.pair.eu.create_topic(COPY.topic)
    with pytest.raises(ResumeRefused, match="orders-0 is another topic since"):
        world.verify(by_order=True, resume=by_order_file)
    for text in ("", "[]", "{}", "[" * 100_000, '{"version": 7}'):
        file.write_text(text)
        with pytest.raises(ResumeRefused):
            world.verify(by_order=True, resume=file)


Document = dict[str, Any]
FIRST = "orders-0"


def _without_mismatches(known: Document) -> None:
    known["states"][FIRST]["mismatches"] = []


def _moved_back(known: Document) -> None:
    known["states"][FIRST].update(source=10, target=10, digests=None)


def _of_no_kind(known: Document) -> None:
    known["states"][FIRST]["mismatches"][0]["kind"] = "strange"


CHANGES: dict[str, Callable[[Document], object]] = {
    "a state that is text": lambda known: known["states"].update({FIRST: "x"}),
    "a state of nothing": lambda known: known["states"].update({FIRST: {}}),
    "a kind that is none": _of_no_kind,
    "no mismatch any more": _without_mismatches,
    "partitions that are text": lambda known: known.update(parts="abc"),
    "no partition": lambda known: known.update(parts=[]),
    "a shorter range": lambda known: known["parts"][0].update(end=50, target_end=50),
    "a range before the first record": lambda known: known["parts"][0].update(start=-5),
    "a place gone back to": _moved_back,
    "chains that are none": lambda known: known["states"][FIRST].update(chains=["zz", "yy"]),
}
IMPOSSIBLE = (
    "a state that is text",
    "a state of nothing",
    "a kind that is none",
    "partitions that are text",
    "a range before the first record",
    "chains that are none",
)


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_was_changed(tmp_path: Path, change: str) -> None:
    """Whatever was changed in a file, it is refused; the file as it was is gone on with."""
    world, file = by_map(), tmp_path / "state.json"
    whole = document(world, resume=file)
    before = file.read_text()
    known = json.loads(before)
    CHANGES[change](known)
    file.write_text(json.dumps(known))
    with pytest.raises(ResumeRefused, match="it was changed since it was written"):
        world.verify(resume=file)
    file.write_text(before)
    assert document(world, resume=file) == whole


@pytest.mark.parametrize("change", IMPOSSIBLE)
def test_a_file_that_says_what_cannot_be(tmp_path: Path, change: str) -> None:
    """A file with a fitting checksum that says what cannot be is refused with the place."""
    world, file = by_map(), tmp_path / "state.json"
    world.verify(resume=file)
    known = json.loads(file.read_text())
    CHANGES[change](known)
    del known["sum"]
    file.write_text(json.dumps({**known, "sum": resume.checksum(known)}))
    with pytest.raises(ResumeRefused, match=r"what it says at .*cannot be"):
        world.verify(resume=file)


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    """That is said before anything is read."""
    with pytest.raises(FileNotWritable):
        VerifyWorld().mirrored(3).verify(resume=tmp_path / "nowhere" / "state.json")


def test_nothing_secret_is_remembered(tmp_path: Path) -> None:
    """The file has neither keys nor values."""
    world = compacted()
    world.verify(resume=tmp_path / "state.json")
    text = (tmp_path / "state.json").read_text()
    assert "k10" not in text
    assert "v2" not in text
