"""Comparing by order alone: what another tool's mirror lost, doubled, moved or made up, or copied though aborted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.errors import NothingToVerify, NotOfTheFlow, OptionsDisagree
from airflow_provider_mm2.mirror.verify import apart, by_order
from airflow_provider_mm2.mirror.verify.comparison import Comparison, no_report
from airflow_provider_mm2.mirror.verify.resume import Memory
from airflow_provider_mm2.mirror.verify.scope import VerifyOrder
from airflow_provider_mm2.mirror.verify.scope_by_order import scope_by_order
from tests.fakes.log import Message, Outcome
from tests.mirror.offsets.group_world import BASE_MS
from tests.mirror.verify.verify_world import COPY, ORDERS, VerifyWorld, message, told


@pytest.fixture
def world() -> VerifyWorld:
    """Give 300 records and their copies, made by another tool."""
    world = VerifyWorld()
    world.write(0, 300)
    world.pair.eu.create_topic(COPY.topic)
    world.pair.eu.produce(*COPY, *(message(number) for number in range(300)))
    return world


def found(world: VerifyWorld) -> list[tuple[str, int | None, int | None, int]]:
    """What is found by order."""
    return world.found(by_order=True)


def test_clean(world: VerifyWorld) -> None:
    """Nothing is recorded of the flow, and the sides are proved alike all the same."""
    report = world.verify(by_order=True)
    (row,) = report.to_json()["partitions"]
    assert (report.count, report.records, report.mode) == (0, 300, "order")
    assert row["digest"] == row["target_digest"]


FAULTS: dict[str, tuple[Any, list[tuple[str, int | None, int | None, int]]]] = {
    "dropped": (lambda r: r[:50] + r[51:], [("missing", 50, None, 1)]),
    "several dropped": (lambda r: r[:50] + r[60:], [("missing", 50, None, 10)]),
    "doubled": (lambda r: [*r[:51], r[50], *r[51:]], [("duplicate", 50, 51, 1)]),
    "swapped": (lambda r: [*r[:50], r[51], r[50], *r[52:]], [("reordered", 51, 50, 1)]),
    "changed": (lambda r: [*r[:50], message(50, value=b"x"), *r[51:]], [("changed", 50, 50, 1)]),
    "a millisecond": (lambda r: [*r[:50], message(50, timestamp_ms=1), *r[51:]], [("changed", 50, 50, 1)]),
    "tail": (lambda r: r[:290], [("tail missing", 290, None, 10)]),
    "last one": (lambda r: r[:299], [("tail missing", 299, None, 1)]),
    "all gone": (lambda r: [], [("tail missing", 0, None, 300)]),
    "first one": (lambda r: r[1:], [("missing", 0, None, 1)]),
    "foreign": (lambda r: [*r[:50], message(999), *r[50:]], [("foreign", None, 50, 1)]),
    "foreign behind": (lambda r: [*r, message(999)], [("foreign", None, 300, 1)]),
    "restarted": (lambda r: [*r[:200], *r[150:]], [("duplicate", 150, 200, 50)]),
    "restarted at the end": (lambda r: [*r, *r[280:]], [("duplicate", 280, 300, 20)]),
    "moved far": (lambda r: [*r[:50], *r[60:100], *r[50:60], *r[100:]], [("reordered", 50, 90, 10)]),
    "a part moved": (
        lambda r: [*r[:50], *r[60:100], *r[50:55], *r[100:]],
        [("reordered", 50, 90, 5), ("missing", 55, None, 5)],
    ),
    "moved forward": (lambda r: [*r[:50], *r[90:100], *r[50:90], *r[100:]], [("reordered", 90, 50, 10)]),
    "the end moved forward": (lambda r: [*r[:50], *r[290:], *r[50:290]], [("reordered", 290, 50, 10)]),
    "two blocks exchanged": (lambda r: [*r[:50], *r[150:250], *r[50:150], *r[250:]], [("reordered", 150, 50, 100)]),
    "two far apart exchanged": (
        lambda r: [*r[:50], r[250], *r[51:250], r[50], *r[251:]],
        [("reordered", 50, 250, 1), ("reordered", 250, 50, 1)],
    ),
    "doubled far ahead": (lambda r: [*r[:50], *r[250:253], *r[50:]], [("duplicate", 250, 50, 3)]),
    "last changed": (lambda r: [*r[:299], message(299, key=None)], [("changed", 299, 299, 1)]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault(world: VerifyWorld, fault: str) -> None:
    """Each fault is one finding, and the rest is compared behind it."""
    edit, expected = FAULTS[fault]
    world.plant(edit)
    assert found(world) == expected


def test_several_faults(world: VerifyWorld) -> None:
    """Faults beside one another are told apart."""
    world.plant(lambda r: [r[1], r[0], *r[2:10], *r[11:20], r[19], message(20, headers=()), *r[21:295]])
    assert found(world) == [
        ("reordered", 1, 0, 1),
        ("missing", 10, None, 1),
        ("changed", 20, 20, 1),
        ("duplicate", 19, 19, 1),
        ("tail missing", 295, None, 5),
    ]


def test_aborted_data(world: VerifyWorld) -> None:
    """What was aborted at the source, and copied by a mirror that reads it, is named so with its ranges (K93)."""
    world = VerifyWorld()
    world.pair.eu.create_topic(COPY.topic)
    world.write(0, 100)
    world.pair.us.transaction("orders", 0, *(message(n) for n in range(1000, 1050)), outcome=Outcome.ABORTED)
    world.write(100, 200)
    entries = world.source_log.everything(0, 1000)
    world.pair.eu.produce(*COPY, *(entry.message for entry in entries if entry.message is not None))
    report = world.verify(by_order=True)
    assert told(report.mismatches) == [("aborted at the source", 100, 100, 50)]
    assert report.mismatches[0].source == (100, 150)
    assert report.records == 200


def test_aborted_data_among_other_data() -> None:
    """A transaction that others write between is found record by record."""
    world = VerifyWorld()
    world.pair.eu.create_topic(COPY.topic)
    world.write(0, 20)
    opened = world.pair.us.transaction("orders", 0, message(1000), outcome=Outcome.OPEN)
    world.write(20, 22)
    world.source_log.append(message(1001), opened)
    world.write(22, 40)
    world.pair.us.end(opened, Outcome.ABORTED)
    entries = world.source_log.everything(0, 1000)
    world.pair.eu.produce(*COPY, *(entry.message for entry in entries if entry.message is not None))
    assert found(world) == [("aborted at the source", 20, 20, 1), ("aborted at the source", 23, 23, 1)]


def test_open_data_behind_the_end(world: VerifyWorld) -> None:
    """A mirror that reads what is not committed yet is told by it."""
    world.pair.us.transaction("orders", 0, message(1000), message(1001), outcome=Outcome.OPEN)
    world.pair.eu.produce(*COPY, message(1000), message(1001))
    assert found(world) == [("aborted at the source", 300, 300, 2)]


@pytest.mark.parametrize("head", [30, 250])
def test_expired_heads(world: VerifyWorld, monkeypatch: pytest.MonkeyPatch, head: int) -> None:
    """A head that retention took on one side is counted, also where it is longer than a look ahead."""
    monkeypatch.setattr(apart, "WINDOWS", (20, 100))
    monkeypatch.setattr(by_order, "WINDOWS", (20, 100))
    world.pair.eu.advance_log_start(*COPY, head)
    (row,) = world.verify(by_order=True).to_json()["partitions"]
    assert (row["mismatches"], row["expired_source"], row["expired_target"]) == (0, 0, head)
    world.pair.us.advance_log_start("orders", 0, head + 20)
    (row,) = world.verify(by_order=True).to_json()["partitions"]
    assert (row["mismatches"], row["expired_source"], row["expired_target"]) == (0, 20, 0)


def test_all_of_it_expired(world: VerifyWorld) -> None:
    """A target that retention has emptied had records once: what the source still has is not called missing."""
    world.pair.eu.advance_log_start(*COPY, 300)
    report = world.verify(by_order=True)
    (row,) = report.to_json()["partitions"]
    assert (report.count, row["expired_target"]) == (0, 300)


def test_unlike(world: VerifyWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is alike any more that is said once, and no further guess is made."""
    monkeypatch.setattr(apart, "WINDOWS", (20, 50))
    world.plant(lambda r: r[:100] + [message(1000 + n) for n in range(200)])
    report = world.verify(by_order=True)
    assert told(report.mismatches) == [("unlike", 100, 100, 1)]
    assert (report.records, report.to_json()["partitions"][0]["target_records"]) == (300, 300)


def test_records_that_are_alike() -> None:
    """Records that all say the same are counted, which is all that can be told of them."""
    world = VerifyWorld()
    same = Message(value=b"beat", timestamp_ms=BASE_MS)
    world.pair.eu.create_topic(COPY.topic)
    world.pair.us.produce("orders", 0, *[same] * 100, message(1))
    world.pair.eu.produce(*COPY, *[same] * 99, message(1))
    assert [each[0] for each in found(world)] == ["missing"]


@pytest.mark.parametrize("side", ["source", "target"])
def test_compaction(side: str) -> None:
    """In a compacted topic what a later record of its key replaced is no loss; a last record is."""
    world = VerifyWorld()
    world.pair.eu.create_topic(COPY.topic)
    rows = [message(number, key=b"k%d" % (number % 7)) for number in range(100)]
    world.pair.us.produce("orders", 0, *rows)
    world.pair.eu.produce(*COPY, *rows)
    world.compact(**{side: True})
    (row,) = world.verify(by_order=True).to_json()["partitions"]
    assert (row["mismatches"], row[f"compacted_{side}"]) == (0, 93)
    log = world.source_log if side == "source" else world.target_log
    log.entries = [entry for entry in log.entries if entry.offset != 95]
    kind = "missing at the source" if side == "source" else "missing"
    assert [each[0] for each in found(world)] == [kind]


def test_topics(world: VerifyWorld) -> None:
    """A topic or partition that is not on the target is missing with all its records; an unknown one is refused."""
    world.pair.us.create_topic("orders-2")
    world.pair.us.produce("orders-2", 0, message(1), message(2))
    world.pair.us.grow_topic("orders", 2)
    world.pair.us.produce("orders", 1, message(1))
    report = world.verify(by_order=True)
    assert told(report.mismatches) == [("missing", 0, None, 1), ("missing", 0, None, 2)]
    assert [each.detail for each in report.mismatches] == [
        "us.orders has 1 partition(s)",
        "there is no topic us.orders-2",
    ]
    with pytest.raises(NotOfTheFlow):
        world.verify(by_order=True, topics=("order",))
    with pytest.raises(NothingToVerify, match=r"not on the target: us\.orders-2"):
        world.verify(by_order=True, topics=("orders-2",))


def test_what_needs_a_map(world: VerifyWorld) -> None:
    """Neither a range nor a sample can be placed without one."""
    for order in ({"since": 3}, {"until": 3}, {"sample": 3}):
        with pytest.raises(OptionsDisagree, match="without a map"):
            world.verify(by_order=True, **order)


@pytest.mark.parametrize(("due", "missed"), [(250, []), (280, [("tail missing", 250, None, 30)]), (None, None)])
def test_what_is_not_copied_yet(world: VerifyWorld, due: int | None, missed: Any) -> None:
    """Behind what whoever copies has copied nothing is missed, and it is told; what lies before it is."""
    world.plant(lambda records: records[:250])
    order = VerifyOrder(by_order=True)
    copied = None if due is None else {ORDERS: due}
    (part,) = scope_by_order(world.flow, world.pair, order, copied).parts
    comparison = Comparison(world.pair, no_tick, no_report)
    result = comparison.whole(part)
    assert told(result.findings.listed) == ([("tail missing", 250, None, 50)] if missed is None else missed)
    left = 0 if due is None else 300 - due
    said = f"orders-0: {left} record(s) at its end were not copied yet, and are not missed"
    assert (comparison.warnings, result.tally.records) == ([said] if left else [], 300 - left)


def test_a_comparison_that_goes_on(world: VerifyWorld, tmp_path: Path) -> None:
    """What was due when it began is what counts to its end: it is held against the target's end of that time."""
    order, file = VerifyOrder(by_order=True), tmp_path / "resume.json"
    first, later = (scope_by_order(world.flow, world.pair, order, {ORDERS: due}).parts for due in (250, 300))
    Memory(file, "f", order).begin(first)
    assert [part.due for part in Memory(file, "f", order).begin(later)] == [250]


def test_a_topic_that_is_not_copied_yet(world: VerifyWorld) -> None:
    """One that whoever copies has not begun is not missed."""
    world.pair.us.create_topic("orders-new")
    world.produce(5, topic="orders-new")
    order = VerifyOrder(by_order=True)
    assert len(scope_by_order(world.flow, world.pair, order).absent) == 1
    assert scope_by_order(world.flow, world.pair, order, {ORDERS: 300}).absent == ()


def test_a_flow_that_connectors_mirror(world: VerifyWorld) -> None:
    """It has no map, so it is compared by order; without Connect all is due, and that is told."""
    world.flow = world.flow.model_copy(update={"engine": "connect"})
    report = world.verify()
    assert (report.mode, report.count, report.records) == ("order", 0, 300)
    assert report.warnings[0].startswith("how far the connectors are is not known, so what they have not copied yet is")
    with pytest.raises(OptionsDisagree, match="engine: connect"):
        world.verify(sample=1)
