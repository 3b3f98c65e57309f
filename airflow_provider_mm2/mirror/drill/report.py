"""What a drill found, and the document of ``mm2 drill --json``. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from airflow_provider_mm2.mirror.drill.home import Home
from airflow_provider_mm2.mirror.drill.tally import GroupTally
from airflow_provider_mm2.mirror.drill_settings import DrillSettings
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.recovery.record import PartMove

SCHEMA_VERSION = 1
GAME_DAY = "game-day"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillPhase:
    """One part of a drill; both ends in milliseconds since 1970."""

    name: str
    started_ms: int
    ended_ms: int
    counts_for_rto: bool = False

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.ended_ms - self.started_ms) / 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How many records were written, mirrored and read by each group at one moment."""

    at_ms: int
    written: int
    mirrored: int
    read: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What the copy of a real group met on one partition in a game day.

    :param source_now: where the group stood on the source by then; None: nowhere.
    :param digest: of what was read, which both sides have alike; None: they have not, or nothing was read.
    :param cut: a limit ended the reading.
    """

    source_now: int | None
    compared: int
    read: int
    lost: int
    repeated: int
    skipped: int
    reordered: int
    unlike: int
    digest: str | None
    cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlace:
    """Where a group stood on one partition on the source, and where it went on on the target.

    :param reason: why the target's place is not exact, or is none, and what of it could not be compared; None: all is.
    :param played: what it met there; None in a drill, and where it stands nowhere.
    """

    group: str
    topic: str
    partition: int
    source_offset: int | None
    target_offset: int | None
    exact: bool
    reason: str | None = None
    played: Played | None = None

    @classmethod
    def of(cls, group: str, part: PartMove) -> GroupPlace:
        """As a failover plans it."""
        return cls(
            group=group,
            topic=part.source.topic,
            partition=part.source.partition,
            source_offset=part.source_offset,
            target_offset=part.offset,
            exact=part.exact,
            reason=part.reason,
        )

    def to_json(self) -> dict[str, Any]:
        """A row of the document."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "source_offset": self.source_offset,
            "target_offset": self.target_offset,
            "exact": self.exact,
            "reason": self.reason,
            **({} if self.played is None else asdict(self.played)),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A limit of the flow, and what was found."""

    name: str
    limit: float
    value: float

    @property
    def passed(self) -> bool:
        """Whether it was kept."""
        return self.value <= self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillReport:
    """A drill or a game day from its beginning to its end.

    :param lost_ms: timestamps of acknowledged records that are not on the target.
    :param lost_count: how many these are, where not all of them were read.
    :param gone: further records that groups have not read: the target had them, or they lie before the mirror's begin.
    :param unlike: records that a game day found otherwise on the target than on the source.
    :param window_ms: records stamped before this are all on the target, as the failover said; None: it claimed nothing.
    :param first_read_ms: when each group read its first record on the target; in a game day those alone that have
        something to read.
    :param ready_ms: from when on groups could have read, however little there was.
    :param home: what was judged after coming home; None: the drill did not.
    """

    flow: str
    mode: str
    started_ms: int
    cut_ms: int
    written: int
    mirrored: int
    lost_ms: tuple[int, ...]
    window_ms: int | None
    loss_window: str | None
    groups: tuple[GroupTally, ...]
    places: tuple[GroupPlace, ...]
    first_read_ms: dict[str, int | None]
    phases: tuple[DrillPhase, ...]
    samples: tuple[Sample, ...]
    limits_given: DrillSettings
    left_behind: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    lost_count: int | None = None
    gone: int = 0
    unlike: int = 0
    ready_ms: int | None = None
    home: Home | None = None

    @property
    def lost(self) -> int:
        """Records that are lost to somebody: those not mirrored, and what of the others a group would never read."""
        return self.rpo_records + self.gone

    @property
    def rpo_records(self) -> int:
        """Acknowledged records that were not mirrored."""
        return len(self.lost_ms) if self.lost_count is None else self.lost_count

    @property
    def rpo_s(self) -> float:
        """From the oldest lost record to the cut."""
        return max(0.0, (self.cut_ms - min(self.lost_ms)) / 1000) if self.lost_ms else 0.0

    @property
    def rto_s(self) -> float | None:
        """From the cut to the moment when the last group was at work on the target; None: one never was."""
        first = list(self.first_read_ms.values())
        moments = [moment for moment in (*first, self.ready_ms) if moment is not None]
        return (max(moments) - self.cut_ms) / 1000 if moments and None not in first else None

    @property
    def lost_outside_window(self) -> int:
        """Lost records that are older than the failover said that they could be."""
        return 0 if self.window_ms is None else sum(1 for stamp in self.lost_ms if stamp < self.window_ms)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Each limit with what was found."""
        return tuple(self._limits())

    def _limits(self) -> Iterator[Limit]:
        given = self.limits_given
        is_planned, is_game_day = self.mode == "planned", self.mode == GAME_DAY
        if is_planned or given.lost is not None:
            yield Limit(name="lost", limit=given.lost or 0, value=self.lost)
        if is_game_day:
            # What was mirrored once is not in the window of what a failover may lose.
            yield Limit(name="lost outside the window", limit=given.lost or 0, value=self.gone)
            yield Limit(name="unlike the source", limit=0, value=self.unlike)
        else:
            yield Limit(name="lost outside the window", limit=0, value=self.lost_outside_window)
        for name in ("repeated", "skipped", "reordered"):
            # Real groups read on after the last run: what they would read again is a limit only where one is set.
            if name != "repeated" or not is_game_day or name in given.model_fields_set:
                value = sum(getattr(group, name) for group in self.groups)
                yield Limit(name=name, limit=getattr(given, name), value=value)
        if given.rpo_s is not None:
            yield Limit(name="rpo_s", limit=given.rpo_s, value=self.rpo_s)
        if given.rto_s is not None:
            yield Limit(name="rto_s", limit=given.rto_s, value=float("inf") if self.rto_s is None else self.rto_s)
        if self.home is not None:
            yield Limit(name="records not home once", limit=0, value=self.home.records_wrong)
            yield Limit(name="group positions wrong at home", limit=0, value=self.home.positions_wrong)
        yield Limit(name="left behind", limit=0, value=len(self.left_behind))

    @property
    def passed(self) -> bool:
        """Whether every limit was kept and every group came up on the target."""
        return self.rto_s is not None and all(limit.passed for limit in self.limits)

    def to_json(self) -> dict[str, Any]:
        """The document, by the published schema."""
        sums = {
            name: sum(getattr(group, name) for group in self.groups) for name in ("repeated", "skipped", "reordered")
        }
        return {
            "version": SCHEMA_VERSION,
            "drill": show(self.started_ms),
            "flow": self.flow,
            "mode": self.mode,
            "passed": self.passed,
            "lost": self.lost,
            **sums,
            "rpo_records": self.rpo_records,
            "rpo_s": self.rpo_s,
            "rto_s": self.rto_s,
            "written": self.written,
            "mirrored": self.mirrored,
            "loss_window": self.loss_window,
            "failback": None if self.home is None else self.home.to_json(),
            "cut": show(self.cut_ms),
            "phases": [self._phase(phase) for phase in self.phases],
            "groups": [self._group(group) for group in self.groups],
            "limits": [self._limit(limit) for limit in self.limits],
            "samples": [
                {
                    "seconds": round((sample.at_ms - self.started_ms) / 1000, 3),
                    "written": sample.written,
                    "mirrored": sample.mirrored,
                    "read": sample.read,
                }
                for sample in self.samples
            ],
            "left_behind": list(self.left_behind),
            "warnings": list(self.warnings),
        }

    def _phase(self, phase: DrillPhase) -> dict[str, Any]:
        begin = round((phase.started_ms - self.started_ms) / 1000, 3)
        return {"name": phase.name, "begin": begin, "seconds": phase.seconds, "counts_for_rto": phase.counts_for_rto}

    def _group(self, group: GroupTally) -> dict[str, Any]:
        first = self.first_read_ms.get(group.group)
        return {
            "group": group.group,
            "lost": group.lost,
            "repeated": group.repeated,
            "skipped": group.skipped,
            "reordered": group.reordered,
            "read_before": group.read_before,
            "read_after": group.read_after,
            "rto_s": None if first is None else (first - self.cut_ms) / 1000,
            "positions": [place.to_json() for place in self.places if place.group == group.group],
        }

    @staticmethod
    def _limit(limit: Limit) -> dict[str, Any]:
        value = None if limit.value == float("inf") else limit.value
        return {"name": limit.name, "limit": limit.limit, "value": value, "passed": limit.passed}
