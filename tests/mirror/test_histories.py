"""Whatever happens to source, runs and groups: each committed record is mirrored once, in order, mapped exactly."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.interval import admission
from tests.fakes.log import Outcome
from tests.hypothesis_profiles import is_long
from tests.mirror.histories import STEPS, TOPIC, History, Killed

pytestmark = pytest.mark.thorough

SECONDS = st.none() | st.integers(0, 60)
NUMBERS = st.integers(0, 3)
OUTCOMES = st.sampled_from([None, *Outcome])
ENDS = st.sampled_from([Outcome.COMMITTED, Outcome.ABORTED])
KEYS = st.sampled_from([b"a", b"b", b"c", b"d"])


def kill() -> None:
    """End the process."""
    raise Killed


class Histories(RuleBasedStateMachine):
    """A source that is written to, runs that are killed or overtaken, and groups that expire."""

    @initialize(shards=st.integers(1, 3))
    def begin(self, shards: int) -> None:
        """A new pair."""
        self.history = History(shards)

    @rule(partition=NUMBERS, count=st.integers(1, 8), key=KEYS, second=st.integers(0, 50), outcome=OUTCOMES)
    def write(self, partition: int, count: int, key: bytes, second: int, outcome: Outcome | None) -> None:
        """Applications write, with transactions or without, and their clocks are not in order."""
        self.history.write(partition % self.history.partitions, self.history.messages(count, key, second), outcome)

    @precondition(lambda self: self.history.open)
    @rule(index=NUMBERS, outcome=ENDS)
    def end(self, index: int, outcome: Outcome) -> None:
        """An application ends a transaction that was open."""
        self.history.end_open(index, outcome)

    @precondition(lambda self: self.history.partitions < 3)
    @rule()
    def grow(self) -> None:
        """The source topic gets another partition."""
        self.history.pair.us.grow_topic(TOPIC, self.history.partitions + 1)

    @rule(partition=NUMBERS)
    def compact(self, partition: int) -> None:
        """The source's cleaner passes."""
        self.history.compact(partition % self.history.partitions)

    @rule(partition=NUMBERS)
    def retain(self, partition: int) -> None:
        """Retention takes what has been mirrored."""
        partition %= self.history.partitions
        self.history.pair.us.advance_log_start(TOPIC, partition, self.history.progress(partition))

    @rule()
    def expire(self) -> None:
        """The progress group's offsets expire."""
        self.history.pair.eu.groups.pop(naming.progress_group("f"), None)

    @rule(second=SECONDS)
    def run(self, second: int | None) -> None:
        """A run goes through."""
        self.history.run(second)

    @rule(second=SECONDS, step=st.sampled_from(STEPS), after=st.booleans(), number=st.integers(1, 4))
    def run_and_die(self, second: int | None, step: str, after: bool, number: int) -> None:
        """A run is killed before or after a step."""
        self.history.run_disturbed(second, step, after, number, kill)

    @rule(second=SECONDS, other=SECONDS, step=st.sampled_from(STEPS), after=st.booleans(), number=st.integers(1, 4))
    def run_and_freeze(self, second: int | None, other: int | None, step: str, after: bool, number: int) -> None:
        """A run freezes at a step while another one goes through, and then goes on."""
        self.history.run_disturbed(second, step, after, number, self.history.take_over(other))

    @invariant()
    def nothing_twice_or_out_of_order(self) -> None:
        """What is on the target was committed on the source, and stands there once and in order."""
        for partition in range(self.history.partitions):
            found = self.history.mirrored(partition)
            rest = iter(self.history.expected(partition))
            assert all(value in rest for value in found)
        self.history.assert_map()

    def teardown(self) -> None:
        """In the end everything is there."""
        while self.history.open:
            self.history.end_open(0, Outcome.COMMITTED)
        self.history.run()
        for partition in range(self.history.partitions):
            assert self.history.mirrored(partition) == self.history.expected(partition)
        self.nothing_twice_or_out_of_order()


@pytest.fixture
def _quick_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look twice without the two seconds between: nothing moves in the fake meanwhile."""
    monkeypatch.setattr(admission, "SECOND_LOOK_S", 0.0)


@pytest.mark.usefixtures("_quick_second_look")
def test_histories() -> None:
    """Random histories of writes, kills, freezes, compaction, retention and expiry end with an exact mirror."""
    run_state_machine_as_test(
        Histories,
        settings=settings(
            max_examples=settings().max_examples if is_long() else 25,
            stateful_step_count=25,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
