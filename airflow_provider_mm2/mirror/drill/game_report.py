"""The report of a game day, in the form of a drill's. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from airflow_provider_mm2.mirror.drill.beyond import Beyond, Counted
from airflow_provider_mm2.mirror.drill.copies import BYTES
from airflow_provider_mm2.mirror.drill.flow import DrillFlow
from airflow_provider_mm2.mirror.drill.game_plan import GamePlan, is_unused, warnings_of
from airflow_provider_mm2.mirror.drill.once import count_once
from airflow_provider_mm2.mirror.drill.places import Outcome, Unplaced
from airflow_provider_mm2.mirror.drill.report import GAME_DAY, DrillPhase, DrillReport, GroupPlace, Played
from airflow_provider_mm2.mirror.drill.tally import GroupTally
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.recovery.moves import loss_window

WARNED = 50
"""Warnings of one kind that are told one by one."""

LISTED = 5
"""Partitions that a warning on many of them names."""


def game_report(
    flow: DrillFlow,
    plan: GamePlan,
    outcomes: Sequence[Outcome],
    counted: Counted,
    *,
    started_ms: int,
    cut_ms: int,
    phases: Sequence[DrillPhase],
    first_s: Mapping[str, float],
    limit_records: int,
    left_behind: tuple[str, ...],
    warnings: tuple[str, ...],
) -> DrillReport:
    """What a game day found.

    :param counted: what the source has and the target has not, and what is there.
    :param cut_ms: when the plan was begun: from there on the source counts as gone.
    :param first_s: seconds from a member's start to its first record, by group; groups without a copy are left out.
    :param warnings: further ones.
    """
    committed = next(phase.ended_ms for phase in phases if phase.name == "commit copies")
    first = _first_reads(plan, outcomes, committed, first_s)
    left = counted.left
    mapped = sum(
        part.offset_map.records_before(part.offset_map.mirrored_end) for part in plan.mirrored if part.offset_map
    )
    not_there = sum(each.records for each in left.values())
    return DrillReport(
        flow=flow.real,
        mode=GAME_DAY,
        started_ms=started_ms,
        cut_ms=cut_ms,
        written=mapped + not_there,
        mirrored=sum(each.records for each in counted.there.values()),
        lost_ms=tuple(stamp for each in left.values() for stamp in each.stamps),
        lost_count=not_there,
        gone=_gone(outcomes),
        window_ms=None,
        loss_window=loss_window(plan.plan, known=counted.known),
        groups=tuple(_tally(name, [each for each in outcomes if each.group == name]) for name in plan.moves),
        places=tuple(_places(plan, outcomes)),
        first_read_ms=first,
        ready_ms=committed,
        phases=tuple(sorted((*phases, *_first_record(committed, first)), key=lambda phase: phase.started_ms)),
        samples=(),
        limits_given=flow.drill,
        unlike=sum(count_once(each.unlike for each in some) for some in _by_part(outcomes)),
        left_behind=left_behind,
        warnings=(age_of(plan, cut_ms), *warnings, *_warnings(plan, outcomes, counted, limit_records)),
    )


def _warnings(plan: GamePlan, outcomes: Sequence[Outcome], counted: Counted, limit_records: int) -> tuple[str, ...]:
    return (
        *_some(warnings_of(plan)),
        *_some(_held(counted.left)),
        *_never_committed(plan),
        *_cuts(outcomes, counted, limit_records),
        *_some(_empty(plan)),
        *_some(_told(outcomes)),
        *plan.warnings,
    )


def _first_reads(
    plan: GamePlan, outcomes: Sequence[Outcome], committed: int, first_s: Mapping[str, float]
) -> dict[str, int | None]:
    """When each group that has something to read would have read the first of it."""
    reads = {each.group for each in outcomes if each.read}
    return {name: committed + round(1000 * first_s[name]) for name in plan.moves if name in reads}


def _by_part(outcomes: Sequence[Outcome]) -> list[list[Outcome]]:
    """Outcomes of the same partition beside each other: groups meet the same records there."""
    found: dict[TopicPartition, list[Outcome]] = {}
    for each in outcomes:
        found.setdefault(each.source, []).append(each)
    return list(found.values())


def _gone(outcomes: Sequence[Outcome]) -> int:
    """Records of the mirrored ranges that some group has not read and that are not on the target, each once.

    What retention took reaches from where a group stands to where the target's log begins: of several groups the
    longest such range holds the others.
    """
    return sum(
        max(each.outside.expired for each in some) + count_once(each.gone for each in some)
        for some in _by_part(outcomes)
    )


def _first_record(committed: int, first: Mapping[str, int | None]) -> Iterator[DrillPhase]:
    """From where the copies stand in place to the first record of the slowest, as though all began at once."""
    moments = [moment for moment in first.values() if moment is not None]
    if moments:
        name = "first record read"
        yield DrillPhase(name=name, started_ms=committed, ended_ms=max(moments), counts_for_rto=True)


def age_of(plan: GamePlan, now_ms: int) -> str:
    """How old the mirror is that all of it rests on."""
    age_s = (now_ms - plan.plan.as_of_ms) / 1000
    through = plan.plan.through_ms
    claim = "nothing can be claimed of times" if through is None else f"mirrored through {show(through)}"
    return f"by the last run, which read the groups {age_s:,.0f} s ago ({show(plan.plan.as_of_ms)}); {claim}"


def _tally(group: str, outcomes: Sequence[Outcome]) -> GroupTally:
    return GroupTally(
        group=group,
        read_before=sum(each.compared for each in outcomes),
        read_after=sum(each.read for each in outcomes),
        lost=sum(each.lost for each in outcomes),
        repeated=sum(each.repeated for each in outcomes),
        skipped=sum(each.skipped for each in outcomes),
        reordered=sum(each.reordered for each in outcomes),
    )


def _places(plan: GamePlan, outcomes: Sequence[Outcome]) -> Iterator[GroupPlace]:
    known = {(each.group, each.source): each for each in outcomes}
    for name, move in plan.moves.items():
        rows = [GroupPlace.of(name, part) for part in move.parts if part.target is not None]
        rows += [_row_of(each) for each in plan.unplaced[name] if not each.is_planned]
        for row in sorted(rows, key=lambda row: (row.topic, row.partition)):
            source = TopicPartition(row.topic, row.partition)
            found = known.get((name, source))
            if found is not None:
                yield replace(row, reason="; ".join(found.reasons) or None, played=_played(found))
            elif not _is_empty(plan, source):
                yield row


def _is_empty(plan: GamePlan, source: TopicPartition) -> bool:
    """Whether a partition that a group never read holds nothing that it could lose."""
    log = plan.source_logs.get(source)
    return log is not None and log.start >= log.end


def _empty(plan: GamePlan) -> Iterator[str]:
    """Rows that are left out."""
    for name, move in plan.moves.items():
        stands = {each.part.source for each in plan.places[name]} | {each.source for each in plan.unplaced[name]}
        count = sum(
            part.target is not None and part.source not in stands and _is_empty(plan, part.source)
            for part in move.parts
        )
        if count:
            yield f"group {name}: {count:,} partition(s) left out, which are empty and which it never read"


def _row_of(unplaced: Unplaced) -> GroupPlace:
    """A place that no failover would look for."""
    return GroupPlace(
        group=unplaced.group,
        topic=unplaced.source.topic,
        partition=unplaced.source.partition,
        source_offset=unplaced.seen,
        target_offset=None,
        exact=False,
    )


def _played(found: Outcome) -> Played:
    return Played(
        source_now=found.now,
        compared=found.compared,
        read=found.read,
        lost=found.lost,
        repeated=found.repeated,
        skipped=found.skipped,
        reordered=found.reordered,
        unlike=found.unlike.records,
        digest=found.digest,
        cut=found.is_cut,
    )


def _never_committed(plan: GamePlan) -> Iterator[str]:
    names: list[str] = []
    for name, move in plan.moves.items():
        stands = {each.source for each in plan.unplaced[name]}
        unused = [part.source for part in move.parts if part.target is not None and is_unused(part)]
        names += [f"group {name} {part}" for part in unused if part not in stands and not _is_empty(plan, part)]
    if names:
        yield (
            f"no position on the target, since none was committed on the source: {_short(names)}; consumers would "
            "begin there where their auto.offset.reset says, and what is not mirrored of these partitions counts in "
            "the flow's RPO, but as no group's loss"
        )


def _held(left: Mapping[TopicPartition, Beyond]) -> Iterator[str]:
    for part, beyond in left.items():
        if beyond.held:
            yield (
                f"{part}: {beyond.held:,} of {beyond.records:,} record(s) that are not on the target lie behind an "
                "open transaction on the source: which of them will count nobody knows before it ends, so all of them "
                f"do here, and the loss may be up to {beyond.held:,} less"
            )


def _cuts(outcomes: Sequence[Outcome], counted: Counted, limit_records: int) -> Iterator[str]:
    cut = [f"group {each.group} {each.source} ({each.read:,} read)" for each in outcomes if each.is_cut]
    if cut:
        yield (
            f"a limit ended the reading (--limit-records {limit_records}, {BYTES // 1024**2} MiB in all); what was "
            f"read is compared, what lies behind it is not: {_short(cut)}"
        )
    for found, where in ((counted.left, "is not"), (counted.there, "is still")):
        some = [
            f"{part} ({len(beyond.stamps):,} read, {beyond.records:,} at most)"
            for part, beyond in found.items()
            if beyond.is_cut
        ]
        if some:
            yield (
                f"of what {where} on the target offsets were counted behind the limit (--limit-records "
                f"{limit_records}): {_short(some)}"
            )


def _short(names: Sequence[str]) -> str:
    """The first of them in one line, and how many more there are."""
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more:,} more" if more > 0 else "")


def _told(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for each in outcomes:
        yield from each.told


def _some(lines: Iterable[str]) -> tuple[str, ...]:
    """The first of them, and how many more there are."""
    found = tuple(lines)
    more = len(found) - WARNED
    return (*found[:WARNED], f"and {more:,} more like these") if more > 0 else found
