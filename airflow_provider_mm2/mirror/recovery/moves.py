"""Where each group goes on, in numbers a person can judge, and the digest that an approval is bound to. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_mm2.mirror.group_model import GroupOffsets, GroupState
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.offsets.group_report import GroupsReport
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.offsets.positions import GroupPosition
from airflow_provider_mm2.mirror.offsets.taken_over import is_sure
from airflow_provider_mm2.mirror.offsets.translate import Reason, Translated
from airflow_provider_mm2.mirror.recovery.record import GroupMove, Order, PartMove
from airflow_provider_mm2.mirror.state_model import PartitionLedger

_MISSING_HERE = (Reason.AHEAD, Reason.BEHIND_START, Reason.EXPIRED)
"""Reasons whose distance counts what is not on the target."""

SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicEnd:
    """How far one topic is mirrored.

    :param ends: next source offset to be mirrored, by partition.
    :param target_ends: the target's end after the last run, by partition.
    :param through_ms: all that was stamped before it is there; None: nothing can be claimed.
    """

    topic: str
    target_topic: str
    ends: Mapping[int, int]
    target_ends: Mapping[int, int]
    through_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What step 5 finds and a person approves."""

    as_of_ms: int
    groups: Mapping[str, GroupMove]
    topics: tuple[TopicEnd, ...]
    warnings: tuple[str, ...] = ()
    repoints: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def through_ms(self) -> int | None:
        """The earliest time that every topic is mirrored through; None: nothing can be claimed."""
        through = [topic.through_ms for topic in self.topics]
        known = [moment for moment in through if moment is not None]
        return min(known) if known and len(known) == len(through) else None

    @property
    def known_missing(self) -> int:
        """Records that are known not to be on the target: some group has read them on the source."""
        worst: dict[TopicPartition, int] = {}
        for move in self.groups.values():
            for part in move.parts:
                if part.reason is not None and part.reason.startswith(Reason.AHEAD.value):
                    worst[part.source] = max(worst.get(part.source, 0), part.not_on_target)
        return sum(worst.values())

    @property
    def digest(self) -> str:
        """Of all that is applied: the groups' offsets before and after, the ends of the mirror, the repoints."""
        rows = [
            [move.group, *part.source, part.source_offset, part.offset, part.before]
            for _, move in sorted(self.groups.items())
            for part in move.parts
        ]
        ends = [[topic.topic, sorted(topic.ends.items())] for topic in self.topics]
        document = json.dumps([rows, ends, self.repoints], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(document.encode()).hexdigest()[:16]


def chosen(report: GroupsReport, order: Order) -> dict[str, tuple[GroupPosition, ...]]:
    """The groups that an order is about, with their positions on its topics."""
    return {
        name: tuple(each for each in found if not order.topics or each.source.topic in order.topics)
        for name, found in sorted(report.positions.items())
        if not order.groups or name in order.groups
    }


def move_of(
    name: str,
    positions: Iterable[GroupPosition],
    maps: Mapping[TopicPartition, OffsetMap],
    present: GroupOffsets,
    state: GroupState,
) -> GroupMove:
    """One group's move.

    :param present: all it has committed on the target.
    :param state: who is in it there.
    """
    had = tuple((*part, offset, present.metadata.get(part, "")) for part, offset in sorted(present.offsets.items()))
    parts = tuple(_part(each, maps.get(each.source), present) for each in positions)
    return GroupMove(group=name, parts=parts, had=had, members=state.members)


def _part(found: GroupPosition, offset_map: OffsetMap | None, present: GroupOffsets) -> PartMove:
    position = found.position
    offset = position.offset if isinstance(position, Translated) else None
    exact = isinstance(position, Translated) and position.exact and not found.pending
    reason = None if position.reason is None else position.reason.value
    if position.reason is not None and position.distance:
        reason = f"{reason} by {position.distance}"
    if found.pending:
        pending = "an open transaction holds a newer offset"
        reason = pending if reason is None else f"{reason}; {pending}"
    lag = None
    if offset is not None and offset_map is not None and is_sure(found):
        lag = offset_map.records_before(offset_map.mirrored_end) - offset_map.records_before(offset)
    return PartMove(
        source=found.source,
        source_offset=found.source_offset,
        target=found.target,
        offset=offset,
        exact=exact,
        reason=reason,
        lag=lag,
        reread=None if offset is None or found.pending or not is_sure(found) else 0,
        not_on_target=position.distance if position.reason in _MISSING_HERE else 0,
        before=None if found.target is None else present.offsets.get(found.target),
        metadata=found.metadata,
    )


def left_alone(groups: Iterable[GroupMove]) -> tuple[str, ...]:
    """What is to be said of positions that have no place on the target, and another there that is not touched."""
    found = [
        f"group {move.group}, {part.source}: {part.source_offset} has no place on the target ({part.reason}), so the "
        f"group goes on at {part.before} there, where it stood before: it may skip records"
        for move in groups
        for part in move.parts
        if part.offset is None and part.before is not None and part.source_offset is not None
    ]
    more = (f"and {len(found) - SHOWN:,} more position(s) like these",) if len(found) > SHOWN else ()
    return (*found[:SHOWN], *more)


def topic_ends(ledgers: Mapping[TopicPartition, PartitionLedger]) -> tuple[TopicEnd, ...]:
    """How far each topic is mirrored, by name."""
    by_topic: dict[str, list[PartitionLedger]] = {}
    for part, ledger in sorted(ledgers.items()):
        by_topic.setdefault(part.topic, []).append(ledger)
    return tuple(_topic_end(topic, some) for topic, some in by_topic.items())


def _topic_end(topic: str, ledgers: list[PartitionLedger]) -> TopicEnd:
    latest = [ledger.latest for ledger in ledgers]
    through = [entry.through_ms for entry in latest]
    known = [moment for moment in through if moment is not None]
    return TopicEnd(
        topic=topic,
        target_topic=latest[0].target_topic,
        ends={entry.partition: entry.next_offset for entry in latest},
        target_ends={entry.partition: entry.target_end for entry in latest},
        through_ms=min(known) if len(known) == len(through) else None,
    )


def differences(approved: Mapping[str, GroupMove], found: Mapping[str, GroupMove]) -> Iterator[str]:
    """What is not any more as it was approved, each with both values; what is in place already does not differ."""
    for name in sorted(approved.keys() | found.keys()):
        if name not in found or name not in approved:
            yield f"group {name}: {'was not there' if name not in approved else 'is gone'}"
            continue
        before = {part.source: part for part in approved[name].parts}
        for part in found[name].parts:
            known = before.get(part.source)
            if known is None:
                yield f"group {name}, {part.source}: was not there"
            elif part.offset != known.offset:
                yield f"group {name}, {part.source}: goes on at {part.offset}, approved was {known.offset}"
            elif part.before not in (known.before, known.after):
                yield f"group {name}, {part.target}: stands at {part.before} on the target, approved was {known.before}"


NOTHING_LOST = "nothing: the source stood still, and was mirrored to its end"


def loss_window(plan: Plan, *, drained: bool = False, known: int | None = None) -> str:
    """What may not be on the target, in a sentence.

    :param drained: whether the source was mirrored to its end while nobody wrote to it.
    :param known: how many records groups have read that are not there, where the source was asked; None: by the plan.
    """
    known = plan.known_missing if known is None else known
    if drained and not known:
        return NOTHING_LOST
    missing = f"; {known:,} of them are known, since groups have read them" if known else ""
    if plan.through_ms is None:
        return f"records that were not mirrored: nothing can be claimed of their times{missing}"
    return f"records stamped at {show(plan.through_ms)} or later that were not mirrored{missing}"
