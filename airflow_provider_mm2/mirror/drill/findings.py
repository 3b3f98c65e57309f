"""What is collected in a drill, and the report that is made of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_provider_mm2.mirror.clusters.applications import Written
from airflow_provider_mm2.mirror.drill.flow import DrillFlow
from airflow_provider_mm2.mirror.drill.home import Home
from airflow_provider_mm2.mirror.drill.report import DrillPhase, DrillReport, GroupPlace, Sample
from airflow_provider_mm2.mirror.drill.stage import groups_of
from airflow_provider_mm2.mirror.drill.tally import count, missing, tally_group
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.recovery.report import FailoverReport


@dataclass(slots=True, kw_only=True)
class Found:
    """What is collected on the way."""

    written: Written = field(default_factory=Written)
    later: Written = field(default_factory=Written)
    before: Mapping[str, Mapping[TopicPartition, Sequence[int]]] = field(default_factory=dict)
    after: Mapping[str, Mapping[TopicPartition, Sequence[int]]] = field(default_factory=dict)
    mirrored: Mapping[TopicPartition, Sequence[int]] = field(default_factory=dict)
    first_read_ms: dict[str, int | None] = field(default_factory=dict)
    cut_ms: int = 0
    failover: FailoverReport | None = None
    home: Home | None = None


def told(
    flow: DrillFlow,
    found: Found,
    *,
    mode: str,
    started_ms: int,
    phases: Sequence[DrillPhase],
    samples: Sequence[Sample],
    left: tuple[str, ...],
    warnings: tuple[str, ...] = (),
) -> DrillReport:
    """The report of a drill that has come to its end.

    :param left: what could not be taken away.
    """
    written = {part: list(numbers) for part, numbers in found.written.numbers.items()}
    lost = tuple(sorted(_stamps_of(found, missing(written, found.mirrored))))
    for part, numbers in found.later.numbers.items():
        written.setdefault(part, []).extend(numbers)
    plan = None if found.failover is None else found.failover.plan
    return DrillReport(
        flow=flow.real,
        mode=mode,
        started_ms=started_ms,
        cut_ms=found.cut_ms,
        written=count(written),
        mirrored=count(found.mirrored),
        lost_ms=lost,
        window_ms=None if plan is None else plan.through_ms,
        loss_window=None if found.failover is None else found.failover.to_json()["loss_window"],
        groups=tuple(
            tally_group(group, written, found.mirrored, found.before.get(group, {}), found.after.get(group, {}))
            for group in groups_of(flow)
        ),
        places=tuple(_places(found)),
        first_read_ms=found.first_read_ms,
        phases=tuple(phases),
        samples=tuple(samples),
        limits_given=flow.drill,
        left_behind=left,
        warnings=(*warnings, *(() if found.home is None else found.home.told)),
        home=found.home,
    )


def _stamps_of(found: Found, lost: Mapping[TopicPartition, Sequence[int]]) -> Iterator[int]:
    for part, numbers in lost.items():
        stamps = dict(zip(found.written.numbers[part], found.written.stamps[part], strict=True))
        yield from (stamps[number] for number in numbers)


def _places(found: Found) -> Iterator[GroupPlace]:
    moves = {} if found.failover is None else found.failover.groups
    for name, move in moves.items():
        for part in move.parts:
            yield GroupPlace.of(name, part)
