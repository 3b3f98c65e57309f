"""Whatever happens without transactions: nothing is lost, repeats are bounded, and positions skip nothing."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test

from airflow_provider_mm2.mirror.interval import admission
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.fakes.log import Outcome
from tests.hypothesis_profiles import is_long
from tests.mirror.histories import TOPIC
from tests.mirror.least_histories import CHUNK_RECORDS, LEAST_STEPS, LeastHistory
from tests.mirror.test_histories import SECONDS, Histories, kill

pytestmark = pytest.mark.thorough

NUMBERS = st.integers(1, 4)
LEAST = Delivery.AT_LEAST_ONCE


class LeastHistories(Histories):
    """The same histories, with kills and freezes also between the writes of the state."""

    history: LeastHistory

    @initialize(shards=st.integers(1, 3))
    def begin(self, shards: int) -> None:
        """A new pair."""
        self.history = LeastHistory(shards)

    @rule(second=SECONDS, step=st.sampled_from(LEAST_STEPS), after=st.booleans(), number=NUMBERS)
    def run_and_die(self, second: int | None, step: str, after: bool, number: int) -> None:
        """A run is killed before or after a step."""
        self.history.run_disturbed(second, step, after, number, kill)

    @rule(second=SECONDS, other=SECONDS, step=st.sampled_from(LEAST_STEPS), after=st.booleans(), number=NUMBERS)
    def run_and_freeze(self, second: int | None, other: int | None, step: str, after: bool, number: int) -> None:
        """A run freezes at a step while another one goes through, and then goes on."""
        self.history.run_disturbed(second, step, after, number, self.history.take_over(other))

    @invariant()
    def nothing_twice_or_out_of_order(self) -> None:
        """What is on the target was committed on the source, came there in order, and seldom more than once."""
        judge(self.history)

    def teardown(self) -> None:
        """In the end everything is there."""
        while self.history.open:
            self.history.end_open(0, Outcome.COMMITTED)
        self.history.run()
        for partition in range(self.history.partitions):
            assert self.history.first_seen(partition) == self.history.expected(partition)
        self.nothing_twice_or_out_of_order()


@pytest.fixture(autouse=True)
def _quick_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look twice without the two seconds between: nothing moves in the fake meanwhile."""
    monkeypatch.setattr(admission, "SECOND_LOOK_S", 0.0)


def test_histories_without_transactions() -> None:
    """Random histories of kills, freezes, compaction, retention and expiry lose nothing."""
    run_state_machine_as_test(
        LeastHistories,
        settings=settings(
            max_examples=settings().max_examples if is_long() else 25,
            stateful_step_count=25,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )


def walk(history: LeastHistory, chance: random.Random, *, changes: bool) -> None:
    """Rounds of new records and a run that is killed, or overtaken by another one, at any step."""
    for _ in range(chance.randint(2, 6)):
        for partition in range(history.partitions):
            outcome = chance.choice([None, None, Outcome.COMMITTED, Outcome.ABORTED])
            history.write(partition, history.messages(chance.randint(0, 7), b"k%d" % partition, 1), outcome)
        if changes and chance.random() < 0.4:
            history.switch()
        act = kill if chance.random() < 0.5 else history.take_over(None)
        step = chance.choice(LEAST_STEPS)
        history.run_disturbed(None, step, chance.random() < 0.5, chance.choice([1, 1, 2, 3, 5]), act)
        if history.partitions < 3 and chance.random() < 0.2:
            history.pair.us.grow_topic(TOPIC, history.partitions + 1)
        judge(history)


def judge(history: LeastHistory) -> None:
    """What is on the target was committed on the source, came there in order, and seldom more than once."""
    for partition in range(history.partitions):
        rest = iter(history.expected(partition))
        assert all(value in rest for value in history.first_seen(partition))
    assert history.repeats <= CHUNK_RECORDS * history.ended
    history.assert_map()


@pytest.mark.parametrize("changes", [False, True])
def test_walks_without_transactions(changes: bool) -> None:
    """Seeded walks with a fault in every run lose nothing, also where the way of delivery changes between runs.

    Unlike the histories above, these come to the rare places: an attempt that wrote late, between two turns of another.
    """
    repeats = 0
    for seed in range(6000 if is_long() else 80):
        chance = random.Random(seed)  # noqa: S311
        history = LeastHistory(chance.randint(1, 2), chance.choice(list(Delivery)) if changes else LEAST)
        try:
            walk(history, chance, changes=changes)
            history.run_to_the_end()
            for partition in range(history.partitions):
                assert history.first_seen(partition) == history.expected(partition)
            judge(history)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
        repeats += history.repeats
    assert repeats > 30, "the walks came to no place that costs a repeat"
