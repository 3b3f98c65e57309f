"""What becomes of a partition when its progress is seeded: taken, unchanged, or refused with what it would cost. Pure.

Never without ``force``: back, which copies records once more; ahead, past records that no copy is known of; past what
the source has lost; beside or behind records on the target that are not ours; and where the records at the end of the
copy contradict what another tool says of it. ``match`` has found where the copy ends, so neither way of it loses or
repeats a record.

Source: KIP-656, "Migration": the target is seeded from the source's group when its own is missing or lower.
"""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_mm2.mirror.errors import COUNT_LIMIT
from airflow_provider_mm2.mirror.incident_model import Incident, IncidentKind
from airflow_provider_mm2.mirror.interval.plan import PartitionFacts, place_at
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.offsets.seed import NoPoint, Point, Seed, SeedKind
from airflow_provider_mm2.mirror.state.rebase import Rebased, begun_anew, rebase
from airflow_provider_mm2.mirror.state_model import Delivery

_ITS_OWN = (SeedKind.PROGRESS_GROUP, SeedKind.CONNECTORS)
"""Kinds that say that what lies behind the mirrored records is the flow's own."""
_AS_IT_STANDS = (SeedKind.MATCH, SeedKind.CONNECT, SeedKind.CONNECTORS)
"""Kinds that tell the last record that was copied, so what follows it without a record is not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedFacts:
    """What is known of a partition that is to be seeded.

    :param visible: records on the source between where it stands and where it is to stand, whichever comes first.
    :param oldest_ms: timestamp of the first record that a run would copy then.
    :param retention_ms: how long the target keeps records by their timestamp; None: for ever.
    :param copy_end: where the copy ends by its own last records, where that was looked for and is clear.
    :param astray: records on the source between that and the point.
    :param accepts_gap: the flow goes on where the source does when records are gone, and that goes on record.
    """

    facts: PartitionFacts
    point: Point | NoPoint
    visible: int
    oldest_ms: int | None
    retention_ms: int | None
    copy_end: int | None = None
    astray: int = 0
    accepts_gap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRow:
    """What becomes of a partition: ``old`` and ``new`` are the next source offset to copy, None where there is none.

    :param costs: what the seed would lose or repeat; without ``force`` any of it refuses the row.
    :param problem: what refuses it whatever is forced.
    :param changes: whether there is anything to write.
    :param lost: source offsets that were to be copied and are gone.
    :param visible: records on the source between ``old`` and ``new``.
    :param foreign: target offsets behind the mirrored records, and how many records of somebody else lie there.
    """

    source: TopicPartition
    target: TopicPartition
    old: int | None
    new: int | None
    reason: str
    costs: tuple[str, ...] = ()
    problem: str | None = None
    changes: bool = False
    lost: tuple[int, int] | None = None
    foreign: tuple[int, int, int] | None = None
    visible: int = 0
    passes_copies: bool = False

    def refusal(self, *, force: bool) -> str | None:
        """Why the row is refused, None when it is not."""
        why = self.problem or (None if force or not self.costs else "; ".join(self.costs))
        return None if why is None else f"{self.source}: {why}"


def stands_at(facts: PartitionFacts) -> int | None:
    """The next source offset of a partition as things stand; None where that means nothing (any more)."""
    if facts.ledger is None:
        return facts.group_offset
    return facts.ledger.latest.next_offset if _is_same_log(facts) else None


def _is_same_log(facts: PartitionFacts) -> bool:
    latest = None if facts.ledger is None else facts.ledger.latest
    if latest is None or latest.target_topic_id != facts.target_topic.topic_id:
        return False
    return latest.is_of(facts.source_topic.topic_id)


def judge_seed(given: SeedFacts, seed: Seed, *, now_ms: int) -> SeedRow:
    """What becomes of one partition."""
    facts, point, old = given.facts, given.point, stands_at(given.facts)
    if isinstance(point, NoPoint):
        problem = point.why if point.refused else None
        return SeedRow(
            source=facts.source,
            target=facts.target,
            old=old,
            new=None,
            reason="left as it is" if point.refused else f"left as it is: {point.why}",
            problem=problem,
        )
    start, lost = facts.source_log.start, _lost(given, seed, old)
    new = max(point.offset, start)
    is_all_there = old is not None and min(old, new) >= start and _is_same_log(facts)
    if seed.kind.is_of_a_copy and old is not None and is_all_there and not given.visible:
        new = old if seed.kind in _AS_IT_STANDS else new  # only markers lie between the two
    is_whole = not (facts.visible and not facts.may_repeat) and not facts.hidden
    is_in_place = facts.ledger is not None and old == new and facts.group_offset in (None, new) and is_whole
    return SeedRow(
        source=facts.source,
        target=facts.target,
        old=old,
        new=new,
        reason="unchanged" if is_in_place else point.why,
        costs=() if is_in_place else tuple(_costs(given, seed, old, new, now_ms)),
        problem=_problem(facts, point.offset),
        changes=not is_in_place,
        lost=lost,
        foreign=_foreign(given, seed, old, new),
        visible=given.visible,
        passes_copies=_passes_copies(given, seed, old, new),
    )


def _lost(given: SeedFacts, seed: Seed, old: int | None) -> tuple[int, int] | None:
    """Source offsets that were to be copied and are gone; None where there are none, or their copies were found."""
    start, point = given.facts.source_log.start, given.point
    if isinstance(point, NoPoint) or seed.kind is SeedKind.MATCH:
        return None
    is_told = old is None or seed.kind is SeedKind.CONNECTORS  # they have copied what lies between
    first = point.offset if is_told or old is None else min(point.offset, old)
    return (first, start) if first < start and not _is_of_another_log(given.facts) else None


def _copies(given: SeedFacts, seed: Seed, old: int | None, new: int) -> int:
    """Records behind the mirrored ones on the target that the seed says are copies."""
    is_copied = seed.kind.is_of_a_copy and _is_ahead(given.facts, old, new)
    return min(given.facts.visible, given.visible) if is_copied else 0


def _passes_copies(given: SeedFacts, seed: Seed, old: int | None, new: int) -> bool:
    """Whether copies by another tool lie between where a partition stands and where it is to go on.

    Their originals may be gone from the source by now, so its records in between are not all that counts.
    """
    if old is None or new <= old or not seed.kind.is_of_a_copy:
        return False
    if seed.kind is SeedKind.CONNECTORS:
        return True
    if not given.facts.visible:
        return False
    return given.visible > 0 or given.facts.source_log.start > old


def _foreign(given: SeedFacts, seed: Seed, old: int | None, new: int) -> tuple[int, int, int] | None:
    facts, records = given.facts, given.facts.visible - _copies(given, seed, old, new)
    if old is None or facts.ledger is None or facts.may_repeat or not records or seed.kind in _ITS_OWN:
        return None
    return facts.recorded_end, facts.target_log.end, records


def _is_of_another_log(facts: PartitionFacts) -> bool:
    return facts.ledger is not None and not _is_same_log(facts)


def _problem(facts: PartitionFacts, offset: int) -> str | None:
    log, target = facts.source_log, facts.target_log
    if offset > log.stable:
        pending = f"; an open transaction begins at {log.stable}" if offset <= log.end else ""
        beyond = f"{offset:,} lies beyond the source's end {log.stable:,}"
        return f"{beyond}: what is written up to it would be skipped{pending}"
    if target.stable < target.end:
        return f"an open transaction of somebody else is on {facts.target} at {target.stable:,}"
    return None


def _costs(given: SeedFacts, seed: Seed, old: int | None, new: int, now_ms: int) -> list[str]:
    """What a seed would lose or repeat."""
    facts, costs, lost = given.facts, list[str](), _lost(given, seed, old)
    start, is_told = facts.source_log.start, seed.kind is SeedKind.MATCH
    if lost is not None and not given.accepts_gap:
        costs.append(f"source offsets [{lost[0]:,}, {lost[1]:,}) are gone and are never copied")
    if old is not None and new < old and given.visible and not is_told:
        costs.append(f"it stands at {old:,}; going back to {new:,} copies {_count(given.visible)} once more")
    if given.copy_end is not None and given.astray:
        does = "copies" if given.copy_end > new else "never copies"
        again = " once more" if given.copy_end > new else ""
        costs.append(
            f"by its last records the copy ends at {given.copy_end:,}, so going on at {new:,} {does} "
            f"{_count(given.astray)}{again}; --from match goes on at {given.copy_end:,}"
        )
    copies = _copies(given, seed, old, new)
    is_copied = is_told or seed.kind is SeedKind.CONNECTORS  # though compaction may have left less on the target
    if _is_ahead(facts, old, new) and given.visible > copies and not is_copied:
        stands = f"it stands at {old:,}" if old is not None else f"the new topic begins at {start:,}"
        costs.append(f"{stands}; going ahead to {new:,} never copies {_count(given.visible)}")
    if old is None and facts.visible and not seed.kind.is_of_a_copy:
        costs.append(f"the target holds {_count(facts.visible)} that are not known to be copies of this flow")
    foreign = _foreign(given, seed, old, new)
    if foreign is not None:
        costs.append(f"{_count(foreign[2])} of somebody else lie behind the mirrored ones and would stay")
    if old != new and _expires_at_once(given, now_ms):
        costs.append(
            f"the first record to copy is of {show(given.oldest_ms)}, and the target keeps records for "
            f"{(given.retention_ms or 0) / 3_600_000:,.0f} h: what is older vanishes soon after it was copied"
        )
    return costs


def _expires_at_once(given: SeedFacts, now_ms: int) -> bool:
    if given.retention_ms is None or given.oldest_ms is None or given.oldest_ms < 0:
        return False
    return given.oldest_ms < now_ms - given.retention_ms


def _is_ahead(facts: PartitionFacts, old: int | None, new: int) -> bool:
    """Whether records would be passed over; where nothing was ever mirrored, beginning later is what was asked for."""
    if old is not None:
        return new > old
    return facts.ledger is not None and new > facts.source_log.start


def _count(records: int) -> str:
    return f"{records:,}{' or more' if records >= COUNT_LIMIT else ''} record(s)"


def rebased_by(row: SeedRow, facts: PartitionFacts, source_cluster_id: str, delivery: Delivery) -> Rebased:
    """The ledger that a row gives its partition; behind another tool's copies nothing of the old map is kept.

    :raises ValueError: the row gives it none.
    """
    if row.new is None:
        raise ValueError(f"{row.source} is not seeded")
    place = place_at(facts, row.new, source_cluster_id, delivery)
    if facts.ledger is not None and row.passes_copies:
        return begun_anew(facts.ledger, place)
    return rebase(facts.ledger, place)


def incidents_of(row: SeedRow, seed: Seed, *, force: bool, owner: str, now_ms: int) -> list[Incident]:
    """What goes on record of a row that is written."""
    new = row.new or 0
    decided_by = f"{seed.command}{' --force' if force else ''} by {owner}"
    old = new if row.old is None else row.old
    spans: list[tuple[IncidentKind, int, int, int | None]] = [(IncidentKind.SEEDED, old, new, row.visible)]
    spans += [(IncidentKind.GAP, *row.lost, None)] if row.lost else []
    spans += [(IncidentKind.FOREIGN_WRITES, *row.foreign)] if row.foreign else []
    return [
        Incident(
            kind=kind,
            topic=row.source.topic,
            partition=row.source.partition,
            at_ms=now_ms,
            start=start,
            end=end,
            records=records,
            decided_by=decided_by,
        )
        for kind, start, end, records in spans
    ]
