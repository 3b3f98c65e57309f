"""Pruning: what has expired on the target leaves the map, and the mirror's start stays known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state import ledger as ledger_module
from airflow_provider_mm2.mirror.state.ledger import decode_ledger, read_ledger
from airflow_provider_mm2.mirror.state.pruning import prune
from airflow_provider_mm2.mirror.state_model import LedgerEntry, PartitionLedger
from tests.mirror.offsets.group_world import GroupWorld
from tests.mirror.state.ledger_entries import TOPIC, entry, log_of

FIRST, SECOND, THIRD = entry(10, sequence=1), entry(10, first=11, sequence=2), entry(10, first=22, sequence=3)
LEDGER = PartitionLedger(entries=(FIRST, SECOND, THIRD))


def no_tick() -> None:
    """Let it wait."""


@pytest.mark.parametrize(
    ("log_start", "expired", "removed"),
    [(0, None, ()), (9, None, ()), (10, 10, ()), (21, 20, (SECOND,)), (99, 20, (SECOND,))],
)
def test_what_is_pruned(log_start: int, expired: int | None, removed: tuple[LedgerEntry, ...]) -> None:
    """Entries all of whose records lie below the target's log start go, never the one that tells the progress."""
    kept, gone = prune(LEDGER, log_start)
    assert (None if kept is None else kept.expired, gone) == (expired, removed)


def test_pruned_ledger_is_read_back() -> None:
    """What stands for the pruned entries joins the rest, keeps the start and counts what was mirrored."""
    kept, _ = prune(LEDGER, 99)
    assert kept is not None
    (found,) = decode_ledger(TOPIC, 3, log_of(kept, THIRD)).values()
    assert [(each.first, each.next_offset) for each in found.entries] == [(0, 22), (22, 33)]
    assert found.records == 30


def test_pruned_again() -> None:
    """A ledger that was pruned is left alone until more has expired, and then counts all of it."""
    kept, _ = prune(LEDGER, 10)
    assert kept is not None
    once = PartitionLedger(entries=(kept, SECOND, THIRD))
    assert prune(once, 10) == (None, ())
    again, removed = prune(once, 21)
    assert again is not None
    assert (again.first, again.expired, removed) == (0, 20, (SECOND,))


def test_kept_entry_replaces_the_first() -> None:
    """It is written under the key of the first entry, so that no tombstone is needed for that one."""
    kept, _ = prune(LEDGER, 99)
    assert kept is not None
    assert ledger_module.encode_key(kept) == ledger_module.encode_key(FIRST)
    assert replace(kept, expired=0).segments == ()


def test_a_run_prunes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run over a target that has lost old records prunes in its own transaction, and positions stay exact."""
    monkeypatch.setattr(ledger_module, "ENTRY_LIMIT_BYTES", 4)
    world = GroupWorld(sync_group_offsets=True)
    for _ in range(20):
        world.produce(10)
        world.run()
    part = TopicPartition("orders", 0)
    before = read_ledger(world.pair.target, "f", 0, no_tick)[part]
    world.pair.eu.advance_log_start("us.orders", 0, 150)
    world.commit("old", 5)
    world.commit("new", 195)
    world.run()
    found = read_ledger(world.pair.target, "f", 0, no_tick)[part]
    assert len(found.entries) < len(before.entries)
    assert (found.entries[0].first, found.records) == (0, 200)
    rows = {row["group"]: row for row in world.locate().to_json()["groups"]}
    assert (rows["new"]["target_offset"], rows["new"]["exact"]) == (214, True)
    assert (rows["old"]["target_offset"], rows["old"]["exact"]) == (150, False)
    assert rows["old"]["reason"].startswith("expired on target by ")
    keys = [record.key for record in world.pair.target.read_state(TopicPartition(naming.ledger_topic("f"), 0), no_tick)]
    world.run()
    again = world.pair.target.read_state(TopicPartition(naming.ledger_topic("f"), 0), no_tick)
    assert len(again) == len(keys) + 1  # nothing is pruned twice
