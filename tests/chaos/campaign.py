"""Rounds: applications write, flows run, something strikes, all is well again, and the oracle judges."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TypeVar

from tests.chaos.blows import BLOWS
from tests.chaos.crossing import Crossing
from tests.chaos.judge import judge
from tests.chaos.lane import Lane
from tests.chaos.oracle import Tally
from tests.chaos.troubles import OF_CROSSINGS, TROUBLES, none
from tests.chaos.world import World
from tests.proof.attempt import Attempt, Start
from tests.proof.points import POINTS, Action, Fault

Report = Callable[[str], None]
T = TypeVar("T")
R = TypeVar("R")

LANES = 3
ERA = 6
"""Rounds after which flows and topics are others."""


@dataclass(slots=True)
class Result:
    """What a campaign found.

    :param rounds: of one flow each.
    :param failures: what was wrong, with the words to run it again.
    """

    seed: int
    rounds: int = 0
    tally: Tally = field(default_factory=Tally)
    failures: list[str] = field(default_factory=list)
    struck: dict[str, int] = field(default_factory=dict)
    """How often each blow and each trouble struck."""


class Campaign:
    """Rounds on one world; the same seed gives the same deeds, faults and moments.

    :param report: told each round in a line.
    :param only: a blow or trouble that each round has; all of them in turn without.
    :param lanes: flows side by side.
    """

    def __init__(
        self, world: World, start: Start, seed: int, report: Report, *, only: str | None = None, lanes: int = LANES
    ) -> None:
        self._world, self._start, self._report = world, start, report
        self._only, self._count = only, lanes
        self.lanes: list[Lane] = []
        self.result = Result(seed)

    def run(self, rounds: Sequence[int]) -> Result:
        """Play these rounds, the first of them with new flows."""
        for number in rounds:
            if not self.lanes or number % ERA == 0:
                self.lanes = together(self._make_lane, [f"c{number}-{lane}" for lane in range(self._count)])
            self._play(number)
        return self.result

    def _make_lane(self, name: str) -> Lane:
        return Lane(self._world, self._start, name, random.Random(f"{self.result.seed}/{name}"))  # noqa: S311

    def _play(self, number: int) -> None:
        chance = random.Random(f"{self.result.seed}/{number}")  # noqa: S311
        blow, troubles = self._plan(number, chance)
        began = time.monotonic()
        try:
            told = self._strike(blow, troubles, chance)
        except Exception:  # noqa: BLE001 - told with the words to run it again; the next round has other flows
            self._fail(number, f"{blow}, {troubles}: {traceback.format_exc()}")
            self.lanes = []
            return
        for each in (blow, *troubles):
            self.result.struck[each] = self.result.struck.get(each, 0) + 1
        self._report(f"round {number}, {time.monotonic() - began:.0f} s: {told}")

    def _plan(self, number: int, chance: random.Random) -> tuple[str, list[str]]:
        """Every blow comes in turn, in an order that the seed shuffles; each flow has a trouble of its own."""
        blows, troubles = list(BLOWS), list(TROUBLES)
        order = random.Random(f"{self.result.seed}/order {number // len(blows)}")  # noqa: S311
        order.shuffle(blows)
        blow = blows[number % len(blows)]
        chosen = [chance.choice(troubles) for _ in range(self._count)]
        if self._only in BLOWS:
            return self._only, chosen
        return (blow, chosen) if self._only is None else (blow, [self._only] * self._count)

    def _strike(self, blow: str, troubles: Sequence[str], chance: random.Random) -> str:
        for lane in self.lanes:
            lane.curable = frozenset()
        together(Lane.write, self.lanes)
        attempts = together(self._begin, self.lanes)
        with ExitStack() as stack:
            entered = [
                (TROUBLES[name] if lane.crossing is None or name in OF_CROSSINGS else none)(lane, attempt)
                for name, lane, attempt in zip(troubles, self.lanes, attempts, strict=True)
            ]
            told = together(stack.enter_context, entered)
            told.append(stack.enter_context(BLOWS[blow](self._world, chance, [lane.name for lane in self.lanes])))
            for attempt in attempts:
                attempt.release()
            self._last(attempts, chance.uniform(0.5, 8))
        stories = together(self._settle, list(zip(self.lanes, attempts, strict=True)))
        for lane, (story, tally) in zip(self.lanes, stories, strict=True):
            self.result.rounds += 1
            self.result.tally.add(tally)
            told.append(f"{lane.name}: {story}")
            assert tally.clean, f"{lane.name}: {tally} ({'; '.join(told)})"
        return "; ".join(told)

    def _begin(self, lane: Lane) -> Attempt | Crossing:
        """Start its run, held at a point that it passes until the clusters are struck; or a failover or failback."""
        if lane.set_out():
            assert lane.crossing is not None
            return lane.crossing
        point = lane.chance.choice(POINTS)
        attempt = lane.begin(Fault(point=point, action=Action.HOLD, nth=lane.chance.choice([1, 1, 2])))
        attempt.await_landing()
        return attempt

    @staticmethod
    def _last(attempts: Sequence[Attempt | Crossing], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and any(attempt.running for attempt in attempts):
            time.sleep(0.05)

    @staticmethod
    def _settle(each: tuple[Lane, Attempt | Crossing]) -> tuple[str, Tally]:
        lane, attempt = each
        story = lane.settle(attempt.outcome(240))
        return story, judge(lane)

    def _fail(self, number: int, what: str) -> None:
        first = number - number % ERA
        words = f"python -m tests.chaos --seed {self.result.seed} --from {first} --rounds {number - first + 1}"
        self.result.failures.append(f"round {number} ({words}): {what}")
        self._report(self.result.failures[-1])


def together(work: Callable[[T], R], given: Sequence[T]) -> list[R]:
    """Do it for all of them at the same time."""
    with ThreadPoolExecutor(LANES) as pool:
        return list(pool.map(work, given))
