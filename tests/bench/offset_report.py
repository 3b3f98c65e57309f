"""What translated offsets were worth, as a table for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import Enum
from statistics import median
from typing import Any

from airflow_provider_mm2.mirror.offsets.checkpoint import Checkpoint
from tests.bench.offset_topics import BothSides, Given, Shape
from tests.bench.report import machine_json


class Who(str, Enum):
    """Whose answer it is."""

    OURS = "ours"
    MM2 = "mm2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one group is given on one partition; None where it has no position there.

    :param unread: records on the source that it has not read.
    """

    source_offset: int
    target_offset: int | None
    unread: int
    given: Given | None

    @classmethod
    def of(cls, both: BothSides, source_offset: int, checkpoint: Checkpoint | None) -> Answer:
        """Judge a checkpoint."""
        offset = None if checkpoint is None else checkpoint.target_offset
        return cls(
            source_offset=source_offset,
            target_offset=offset,
            unread=sum(1 for at in both.source if at >= source_offset),
            given=None if offset is None else both.given(source_offset, offset),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """All answers on one topic; ``is_whole`` tells whether it was copied once and in order."""

    who: Who
    shape: Shape
    is_whole: bool
    answers: tuple[Answer, ...]

    @property
    def given(self) -> tuple[Given, ...]:
        """Of the groups that have a position."""
        return tuple(answer.given for answer in self.answers if answer.given is not None)

    @property
    def without(self) -> int:
        """Groups that have none."""
        return len(self.answers) - len(self.given)

    def figures(self) -> dict[str, dict[str, float]]:
        """Median and maximum of records that are read again, skipped, missing."""
        columns = {name: [getattr(given, name) for given in self.given] for name in ("again", "skipped", "missing")}
        return {name: {"median": median(found or [0]), "max": max(found, default=0)} for name, found in columns.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredOffsets:
    """A whole measurement; ``load_average`` tells how busy the machine was before, by others."""

    answers: tuple[Answers, ...]
    seconds: float
    load_average: float

    def to_json(self) -> dict[str, Any]:
        """All figures as plain values, with where they come from."""
        return {
            "machine": machine_json(self.load_average),
            "topics": [
                {
                    "topic": found.shape.value,
                    "who": found.who.value,
                    "copied_once_and_in_order": found.is_whole,
                    "positions": len(found.answers),
                    "without_an_answer": found.without,
                    **found.figures(),
                    "answers": [asdict(answer) for answer in found.answers],
                }
                for found in self.answers
            ],
            "seconds": round(self.seconds, 1),
        }

    def lines(self) -> Iterator[str]:
        """The table."""
        yield f"{'':<15}{'':<6}{'':>10}{'no':>8}{'read again':>20}{'skipped':>16}{'missing':>16}"
        yield (
            f"{'topic':<15}{'who':<6}{'positions':>10}{'answer':>8}{'median':>10}{'max':>10}"
            + 2 * f"{'median':>8}{'max':>8}"
        )
        for found in self.answers:
            figures = found.figures()
            shape = found.shape.value if found.who is Who.OURS else ""
            again = f"{figures['again']['median']:>10,.0f}{figures['again']['max']:>10,.0f}"
            rest = "".join(
                f"{figures[name]['median']:>8,.0f}{figures[name]['max']:>8,.0f}" for name in ("skipped", "missing")
            )
            yield f"{shape:<15}{found.who.value:<6}{len(found.answers):>10}{found.without:>8}{again}{rest}"
        yield f"all of it in {self.seconds / 60:.1f} minutes"
