"""Seeding, policies and forgetting with ``delivery: at_least_once``, on the in-memory pair."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.errors import ProgressDisagrees
from airflow_provider_mm2.mirror.incident_model import IncidentKind
from airflow_provider_mm2.mirror.interval import admission
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.run import forget_progress
from airflow_provider_mm2.mirror.state import lease
from airflow_provider_mm2.mirror.state.ledger import read_ledger
from airflow_provider_mm2.mirror.state_model import Delivery, PartitionLedger
from tests.mirror.interval.seed_world import GROUP, SeedWorld
from tests.mirror.offsets.group_world import Killed

LEAST = Delivery.AT_LEAST_ONCE
PART = TopicPartition("orders", 0)
AT_SIX = "timestamp:2023-11-14T22:13:26Z"


@pytest.fixture(autouse=True)
def _short_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "SECOND_LOOK_S", 0.0)
    monkeypatch.setattr(lease, "WAKE_POLL_S", 0.01)


@pytest.fixture
def world() -> SeedWorld:
    """Give a flow without transactions that has mirrored 10 records in two runs."""
    world = SeedWorld()
    world.flow = world.flow.model_copy(update={"delivery": LEAST})
    world.pair.deliver(LEAST)
    for first in (0, 5):
        world.write(5, first=first)
        world.run()
    return world


def ledger(world: SeedWorld) -> PartitionLedger:
    """What is recorded of the partition."""
    return read_ledger(world.pair.target, "f", 0, lambda: None)[PART]


def die_at(world: SeedWorld, step: str, after: int = 0) -> None:
    """Let the process be killed before a step that has happened so many times."""
    left = after

    def die(at: str) -> None:
        nonlocal left
        if at == step:
            left -= 1
            if left < 0:
                raise Killed

    world.pair.hooks.before = die


def live_again(world: SeedWorld) -> None:
    """Begin anew after a kill."""
    world.pair.hooks.before = lambda step: None
    world.pair.eu.expire_member("mm2.f.0.lease")


@pytest.mark.parametrize(("text", "new", "again"), [("earliest", 0, range(10)), (AT_SIX, 6, range(6, 10))])
def test_set_back(world: SeedWorld, text: str, new: int, again: range) -> None:
    """A flow that is set back copies from there once more, in a new generation that delivers as the flow does."""
    before = ledger(world).latest
    world.seed(text, force=True)
    seeded = ledger(world).latest
    assert (seeded.next_offset, seeded.delivery, seeded.generation) == (new, LEAST, before.generation + 1)
    assert seeded.sequence > before.sequence
    assert world.progress() == new
    assert world.run().warnings == ()
    assert world.values() == [*range(10), *again]
    assert [kind for kind, *_ in world.incidents()] == [IncidentKind.SEEDED]


def test_set_ahead_and_first_seed() -> None:
    """A seed before the first run is written as the flow delivers, and so is one that passes records over."""
    world = SeedWorld()
    world.flow = world.flow.model_copy(update={"delivery": LEAST})
    world.pair.deliver(LEAST)
    world.write(4)
    world.seed("latest")
    assert ledger(world).latest.delivery is LEAST
    world.write(4, first=4)
    world.seed("latest", force=True)
    world.write(2, first=8)
    assert world.run().warnings == ()
    assert world.values() == [8, 9]


@pytest.mark.parametrize("written", range(4))
def test_killed_between_the_writes_of_a_seed(world: SeedWorld, written: int) -> None:
    """Half a seed leaves the old progress or the new one, never a third; made again it ends as it was meant.

    The records are: what goes on record, the entry of the new generation, the removal of the old one.
    """
    die_at(world, "ledger" if written < 3 else "progress", written % 3)
    with pytest.raises(Killed):
        world.seed(AT_SIX, force=True)
    live_again(world)
    assert ledger(world).latest.next_offset == (10 if written < 2 else 6)
    if written >= 2:  # the group is ahead of the ledger: a run does not guess which of them was meant
        with pytest.raises(ProgressDisagrees):
            world.run()
    world.seed(AT_SIX, force=True)
    assert world.progress() == 6
    world.run()
    assert world.values() == [*range(10), *range(6, 10)]


@pytest.mark.parametrize("policy", ["stop", "warn", "accept"])
def test_records_beyond_the_end_are_told_and_no_incident(world: SeedWorld, policy: str) -> None:
    """Repeats of an attempt that died may look foreign: whatever the policy, they are told, and are not on record."""
    world.write(4, first=10)
    die_at(world, "add", 1)
    with pytest.raises(Killed):
        world.run(on_foreign_writes=policy)
    live_again(world)
    (told,) = world.run(on_foreign_writes=policy).warnings
    assert "4 record(s) beyond the recorded end 10: repeats of an attempt that died, or foreign" in told
    assert world.values() == [*range(14), *range(10, 14)]
    assert world.incidents() == []


@pytest.mark.parametrize("policy", ["warn", "accept"])
def test_strangers_among_the_records_of_a_shared_topic(world: SeedWorld, policy: str) -> None:
    """A stranger's record inside a batch ends no attempt where each record's place is known; the map stays exact."""
    world.write(6, first=10)
    world.commit("app", 13)
    left = 3

    def disturb(at: str) -> None:
        nonlocal left
        if at == "produce":
            left -= 1
            if left == 0:
                world.copy_by_hand(*world.numbered(1, 99))

    world.pair.hooks.before = disturb
    warnings = world.run(on_foreign_writes=policy, sync_group_offsets=True).warnings
    assert any("1 record(s) came among those of this run" in text for text in warnings)
    assert sorted(world.values()) == [*range(16), 99]
    assert world.values_from(world.target_offsets("app")[0]) == [13, 14, 15]
    assert world.incidents() == []


def test_a_gap_is_accepted(world: SeedWorld) -> None:
    """``on_gap: accept`` goes on behind the gap, with it on record; the ledger keeps its way of delivery."""
    world.write(10, first=10)
    world.pair.us.log(PART).advance_start(15)
    world.run(on_gap="accept")
    assert world.values() == [*range(10), *range(15, 20)]
    assert world.incidents() == [(IncidentKind.GAP, 10, 15, None)]
    assert ledger(world).latest.delivery is LEAST


@pytest.mark.parametrize("written", range(4))
def test_a_source_made_anew_is_restarted(world: SeedWorld, written: int) -> None:
    """A restart that is killed between its writes loses nothing: it is accepted again, or stops for the group."""
    world.make_anew()
    world.write(5, first=100)
    die_at(world, "ledger" if written < 3 else "progress", written % 3)
    with pytest.raises(Killed):
        world.run(on_recreated="restart")
    live_again(world)
    if written >= 2:  # the group is ahead of the ledger: a stop that says what to do
        with pytest.raises(ProgressDisagrees, match="deleting the group lets the ledger decide"):
            world.run(on_recreated="restart")
        del world.pair.eu.groups[GROUP]
    world.run(on_recreated="restart")
    seen = world.values()
    assert list(dict.fromkeys(seen)) == [*range(10), *range(100, 105)]
    assert {kind for kind, *_ in world.incidents()} == {IncidentKind.SOURCE_RECREATED}
    assert len(seen) - len(set(seen)) <= 5


@pytest.mark.parametrize("switched", [False, True])
def test_set_back_and_delivered_in_the_other_way(world: SeedWorld, switched: bool) -> None:
    """A flow that changes its delivery with a seed or behind it keeps every entry of its map, each in its own way."""
    once = {"delivery": Delivery.EXACTLY_ONCE}
    if switched:
        world.flow = world.flow.model_copy(update=once)
        world.pair.deliver(Delivery.EXACTLY_ONCE)
    world.seed(AT_SIX, force=True)
    world.flow = world.flow.model_copy(update=once)
    world.pair.deliver(Delivery.EXACTLY_ONCE)
    world.run()
    assert world.values() == [*range(10), *range(6, 10)]
    assert [entry.delivery for entry in ledger(world).entries] == [LEAST, Delivery.EXACTLY_ONCE]
    assert world.run().warnings == ()


def test_forgotten(world: SeedWorld) -> None:
    """What is recorded of a topic is removed without transactions too, and what is not forgotten stays."""
    forget_progress(world.flow, world.pair, topics=["orders"], apply=True, owner="me")
    assert read_ledger(world.pair.target, "f", 0, lambda: None) == {}
    assert world.progress() is None
    world.seed("match")
    world.run()
    assert world.values() == list(range(10))
