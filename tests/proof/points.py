"""The places at which an attempt is killed or frozen, by the step numbers of the two modules that number them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Moment(str, Enum):
    """Where in a call."""

    BEFORE = "before"
    INSIDE = "inside"
    """While the call runs, from another thread."""
    TICK = "tick"
    """In the call's tick, from the second one on: something was done before, and more is to come."""
    AFTER = "after"


class Stage(str, Enum):
    """Which part of a run makes the call; some calls are made in both."""

    PREPARE = "prepare"
    SHARD = "shard"
    GROUPS = "groups"


class When(str, Enum):
    """In which of a flow's runs a place is passed, and how often."""

    EVERY_RUN = "every run"
    FIRST_RUN = "first run"
    LATER_RUN = "later run"
    EVERY_CHUNK = "every chunk"


class Passing(str, Enum):
    """Which passing of a place is meant."""

    FIRST = "first"
    """In the flow's first run, its first chunk."""
    LATER = "later"
    """In a later run; where every chunk passes, in the first run's third chunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One place.

    :param step: number of the step.
    :param call: ``object.method`` of a port, for reads of state topics with the topic behind it.
    """

    step: int
    stage: Stage
    moment: Moment
    call: str
    when: When = When.EVERY_RUN

    @property
    def name(self) -> str:
        """How tests and marks name it."""
        return f"step {self.step}, {self.moment.value} {self.call}"

    @property
    def passings(self) -> tuple[Passing, ...]:
        """The passings that there are."""
        only = {When.FIRST_RUN: Passing.FIRST, When.LATER_RUN: Passing.LATER}.get(self.when)
        return tuple(Passing) if only is None else (only,)

    def nth(self, passing: Passing) -> int:
        """Which passing that is within one run, counted from 1."""
        return 3 if passing is Passing.LATER and self.when is When.EVERY_CHUNK else 1

    def needs_run_before(self, passing: Passing) -> bool:
        """Whether the flow must have run before."""
        return passing is Passing.LATER and self.when is not When.EVERY_CHUNK


def _points(step: int, stage: Stage, call: str, *moments: Moment, when: When = When.EVERY_RUN) -> tuple[Point, ...]:
    return tuple(Point(step=step, stage=stage, moment=moment, call=call, when=when) for moment in moments)


_B, _I, _T, _A = Moment.BEFORE, Moment.INSIDE, Moment.TICK, Moment.AFTER
_P, _S, _G = Stage.PREPARE, Stage.SHARD, Stage.GROUPS
_FIRST, _LATER, _CHUNK = When.FIRST_RUN, When.LATER_RUN, When.EVERY_CHUNK

POINTS: tuple[Point, ...] = (
    *_points(0, _P, "target.read_state gate", _B, _A),
    *_points(0, _P, "target.read_state ledger", _B, _A, when=_LATER),
    *_points(0, _P, "target.topic_settings", _A),
    *_points(0, _P, "target.create_topics internal", _B, _A, when=_FIRST),
    *_points(0, _P, "membership.acquired", _A, when=_FIRST),
    *_points(0, _P, "writer.fence", _B, _A, when=_FIRST),
    *_points(0, _P, "writer.write", _B, _I, _A, when=_FIRST),
    *_points(0, _P, "target.create_topics data", _B, _A, when=_FIRST),
    *_points(1, _S, "target.membership", _A),
    *_points(1, _S, "membership.acquired", _A),
    *_points(2, _S, "copier.fence", _B, _I, _A),
    *_points(3, _S, "target.read_state gate", _B, _A),
    *_points(3, _S, "target.read_state ledger", _B, _A),
    *_points(3, _S, "target.describe_topics", _A),
    *_points(3, _S, "target.committed", _B, _A),
    *_points(4, _S, "source.log_offsets", _B, _A),
    *_points(4, _S, "target.log_offsets", _A),
    *_points(4, _S, "copier.assign", _B, _A),
    *_points(5, _S, "copier.begin", _B, _A, when=_CHUNK),
    *_points(5, _S, "copier.copy", _T, _I, _A, when=_CHUNK),
    *_points(6, _S, "copier.flush", _I, _A, when=_CHUNK),
    *_points(7, _S, "copier.add", _B, _I, _A, when=_CHUNK),
    *_points(8, _S, "copier.commit", _B, _I, _A, when=_CHUNK),
    *_points(8, _S, "copier.see", _I, _A, when=_CHUNK),
    *_points(9, _S, "copier.close", _B, _A),
    *_points(9, _S, "membership.leave", _B, _A),
    *_points(10, _G, "membership.acquired", _A),
    *_points(10, _G, "writer.fence", _B, _A),
    *_points(11, _G, "source.group_offsets", _B, _A),
    *_points(11, _G, "target.read_state ledger", _B, _A),
    *_points(13, _G, "target.read_state groups", _B),
    *_points(13, _G, "writer.write", _B, _I, _A),
)

COMMIT_TIMED_OUT = Point(step=8, stage=_S, moment=_T, call="copier.commit", when=_CHUNK)
"""Passed only while a commit has no answer: the second slice of its time begins."""

BY_NAME = {point.name: point for point in (*POINTS, COMMIT_TIMED_OUT)}


class Action(str, Enum):
    """What happens at a point."""

    KILL = "kill"
    """SIGKILL to itself."""
    FREEZE = "freeze"
    """SIGSTOP to itself; somebody else wakes it."""
    HOLD = "hold"
    """Wait alive, with its threads at work, until the release file is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What an attempt does to itself, and where.

    :param nth: at which passing of the point, counted from 1.
    :param delay_ms: for a point inside a call: how long after the call began.
    :param victim: pid of another process, a broker's, that the signal goes to instead; the attempt goes on.
    """

    point: Point
    action: Action
    nth: int = 1
    delay_ms: float = 0.0
    victim: int | None = None

    @property
    def landing(self) -> str:
        """What the attempt writes into its mark right before it acts."""
        return f"{self.action.value} at {self.point.name}, passing {self.nth}"

    @property
    def stage(self) -> Stage:
        """The point's stage."""
        return self.point.stage

    @property
    def moment(self) -> Moment:
        """The point's moment."""
        return self.point.moment

    @property
    def call(self) -> str:
        """The point's call."""
        return self.point.call

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the attempt's job."""
        return {
            "point": self.point.name,
            "action": self.action.value,
            "nth": self.nth,
            "delay_ms": self.delay_ms,
            "victim": self.victim,
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Fault:
        """The reverse of ``to_json``."""
        return cls(**{**given, "point": BY_NAME[given["point"]], "action": Action(given["action"])})
