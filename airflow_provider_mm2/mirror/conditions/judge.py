"""Whether a condition is met by what was read, with a sentence that has the numbers. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from airflow_provider_mm2.mirror.conditions.condition import GroupCaughtUp, GroupLeftSource, LagBelow, MirroredThrough
from airflow_provider_mm2.mirror.conditions.finding import Finding
from airflow_provider_mm2.mirror.group_model import GroupOffsets, GroupState
from airflow_provider_mm2.mirror.model import LogOffsets, TopicPartition
from airflow_provider_mm2.mirror.moments import show, to_ms
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.offsets.positions import Mirror, Topics
from airflow_provider_mm2.mirror.state_model import LedgerEntry

LISTED = 20
"""Partitions and members that facts list, NAMED that a sentence names; counts always count everything."""
NAMED = 3

Entries = Mapping[TopicPartition, LedgerEntry]


def not_begun(flow: str) -> Finding:
    """Nothing is on the target yet."""
    return Finding(met=False, text=f"flow {flow!r} has no record on the target yet: it never ran")


def judge_through(condition: MirroredThrough, entries: Entries, missing: Collection[TopicPartition]) -> Finding:
    """Hold the newest ledger entries against a time and offsets.

    :param entries: by source partition.
    :param missing: partitions that the flow mirrors and that have no entry yet.
    """
    timed = {part: entry for part, entry in entries.items() if _is_timed(condition, part)}
    by_offset = {topic for topic, _, _ in condition.offsets}
    looked_at = {part: entry for part, entry in sorted(entries.items()) if part in timed or part.topic in by_offset}
    unknown = sorted({*condition.topics, *by_offset} - {part.topic for part in (*entries, *missing)})
    waits = [f"{name} is not mirrored yet" for name in (*unknown, *_absent(condition, entries, missing))]
    waits += [] if condition.until is None else _behind_time(timed, to_ms(condition.until))
    waits += _behind_offsets(condition, entries)
    met = not waits and bool(looked_at)
    goal = " and ".join(goals(condition))
    if met:
        text = f"mirrored through {goal} on {_count(looked_at, 'partition')}"
    elif not looked_at and not waits:
        text = f"not mirrored through {goal}: no partition is mirrored yet"
    else:
        text = f"not mirrored through {goal} yet: {some(waits)}"
    facts = {
        "partitions": len(looked_at),
        "waiting": len(waits),
        "mirrored_through": _through(looked_at.values()),
        "progress": [_row(part, entry) for part, entry in looked_at.items()][:LISTED],
    }
    return Finding(met=met, text=text, facts=facts)


def _is_asked(topic: str, topics: Collection[str]) -> bool:
    return not topics or topic in topics


def _is_timed(condition: MirroredThrough, part: TopicPartition) -> bool:
    return condition.until is not None and _is_asked(part.topic, condition.topics)


def _absent(condition: MirroredThrough, entries: Entries, missing: Collection[TopicPartition]) -> list[TopicPartition]:
    """Partitions that count and have no entry yet, of topics that are known."""
    known = {part.topic for part in (*entries, *missing)}
    whole = {topic for topic, number, _ in condition.offsets if number is None}
    single = {TopicPartition(topic, number) for topic, number, _ in condition.offsets if number is not None}
    due = {part for part in missing if _is_timed(condition, part) or part.topic in whole}
    return sorted(due | {part for part in single - entries.keys() if part.topic in known})


def goals(condition: MirroredThrough) -> Iterable[str]:
    """What is waited for, for people."""
    if condition.until is not None:
        yield show(to_ms(condition.until))
    for topic, partition, offset in condition.offsets[:NAMED]:
        yield f"offset {offset} of {topic}" if partition is None else f"offset {offset} of {topic}-{partition}"
    if len(condition.offsets) > NAMED:
        yield f"{len(condition.offsets) - NAMED} more offsets"


def _behind_time(entries: Entries, until_ms: int) -> list[str]:
    behind = {part: entry for part, entry in entries.items() if entry.through_ms is None or entry.through_ms < until_ms}
    order = sorted(behind.items(), key=lambda item: -1 if item[1].through_ms is None else item[1].through_ms)
    return [f"{part} is through {show(entry.through_ms)}{_held(entry)}" for part, entry in order]


def _held(entry: LedgerEntry) -> str:
    return "" if entry.pending is None else f" (an open transaction on the source holds it at {entry.pending[0]})"


def _behind_offsets(condition: MirroredThrough, entries: Entries) -> list[str]:
    return [
        f"{part} is at {entry.next_offset} of {offset}{_held(entry)}"
        for topic, number, offset in condition.offsets
        for part, entry in sorted(entries.items())
        if part.topic == topic and number in (None, part.partition) and entry.next_offset < offset
    ]


def _through(entries: Collection[LedgerEntry]) -> str | None:
    through = [entry.through_ms for entry in entries]
    known = [moment for moment in through if moment is not None]
    return show(min(known)) if known and len(known) == len(through) else None


def _row(part: TopicPartition, entry: LedgerEntry) -> dict[str, Any]:
    through = None if entry.through_ms is None else show(entry.through_ms)
    return {**part._asdict(), "next_offset": entry.next_offset, "mirrored_through": through}


def judge_lag(
    condition: LagBelow, progress: Mapping[TopicPartition, int], logs: Mapping[TopicPartition, LogOffsets]
) -> Finding:
    """Hold the offsets that are not mirrored yet against a limit.

    They count what records cannot be told from without reading: transactions' markers, aborted and compacted records.

    :param progress: next source offset; a partition without one begins at its log's start.
    """
    asked = {part: log for part, log in logs.items() if _is_asked(part.topic, condition.topics)}
    lags = {part: max(0, log.stable - progress.get(part, log.start)) for part, log in asked.items()}
    unknown = sorted(set(condition.topics) - {part.topic for part in logs})
    total = sum(lags.values())
    worst = sorted((part for part, lag in lags.items() if lag), key=lambda part: (-lags[part], part))
    held = {part: log.end - log.stable for part, log in sorted(asked.items()) if log.end > log.stable}
    text = f"{total} offsets not mirrored yet on {_count(lags, 'partition')}, wanted: fewer than {condition.below}"
    if worst:
        text += f" ({some([f'{part}: {lags[part]}' for part in worst])})"
    if held:
        text += f"; open transactions hold back {some([f'{count} more on {part}' for part, count in held.items()])}"
    if unknown:
        text += f"; the source has no {some(unknown)}"
    facts = {
        "lag": total,
        "partitions": len(lags),
        "held_back": sum(held.values()),
        "worst": [{**part._asdict(), "lag": lags[part]} for part in worst[:LISTED]],
    }
    return Finding(met=total < condition.below and bool(lags) and not unknown, text=text, facts=facts)


def judge_caught_up(condition: GroupCaughtUp, found: GroupOffsets, mirror: Mirror) -> Finding:
    """Hold the mirrored records that a group has before it on the target against a limit.

    A partition that it has no offset of counts with all its records, since nobody knows that it has read them. What
    came to the target otherwise, and records that have expired there, does not count.
    """
    asked = topics_asked(condition, found, mirror.topics)
    maps = [each for each in mirror.maps.values() if each.source.topic in asked]
    before = {each.target: _records_before_it(each, found, mirror) for each in maps}
    lacking = [*sorted(asked & mirror.recreated), *sorted(set(condition.topics) - set(mirror.topics))]
    unknown = f"the map says nothing of {some(lacking)}" if lacking else ""
    return judge_records_before(condition, found, before if asked else None, unknown)


def judge_records_before(
    condition: GroupCaughtUp, found: GroupOffsets, before: Mapping[TopicPartition, int] | None, unknown: str
) -> Finding:
    """Hold the records that a group has before it against a limit.

    :param before: by partition of the target; None: the group has no offsets of mirrored topics.
    :param unknown: of which topics that are asked for nothing can be told, and why; empty: of none.
    """
    name = f"group {condition.group!r}"
    if before is None:
        return Finding(met=False, text=f"{name} has no offsets of mirrored topics on the target")
    total = sum(before.values())
    worst = sorted((part for part, count in before.items() if count), key=lambda part: (-before[part], part))
    uncommitted = [part for part in before if part not in found.offsets]
    text = f"{name} has {total} mirrored records before it on {_count(before, 'partition')}"
    text += f", wanted: fewer than {condition.below}"
    if worst:
        text += f" ({some([f'{part}: {before[part]}' for part in worst])})"
    if uncommitted:
        text += f"; it has no offset of {_count(uncommitted, 'partition')}"
    if unknown:
        text += f"; {unknown}"
    facts = {
        "group": condition.group,
        "lag": total,
        "partitions": len(before),
        "uncommitted": len(uncommitted),
        "worst": [{**part._asdict(), "lag": before[part]} for part in worst[:LISTED]],
    }
    return Finding(met=total < condition.below and not unknown, text=text, facts=facts)


def topics_asked(condition: GroupCaughtUp, found: GroupOffsets, topics: Topics) -> set[str]:
    """Source topics whose copies are looked at."""
    if condition.topics:
        return set(condition.topics)
    committed = {part.topic for part in (*found.offsets, *found.pending)}
    return {source for source, (target, _) in topics.items() if target in committed}


def _records_before_it(offset_map: OffsetMap, found: GroupOffsets, mirror: Mirror) -> int:
    start = mirror.log_starts[offset_map.target]
    position = max(found.offsets.get(offset_map.target, start), start)
    return offset_map.records_before(offset_map.mirrored_end) - offset_map.records_before(position)


def judge_left(condition: GroupLeftSource, state: GroupState) -> Finding:
    """Whether nobody is in a group."""
    name = f"group {condition.group!r}"
    facts = {"group": condition.group, "members": len(state.members), "exists": state.exists}
    if state.members:
        text = f"{name} has {_count(state.members, 'member')} on the source: {some(state.members)}"
        return Finding(met=False, text=text, facts=facts)
    there = "nobody is in it" if state.exists else "the source does not know it any more"
    return Finding(met=True, text=f"{name} has left the source: {there}", facts=facts)


def _count(things: Collection[object], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def some(texts: Collection[str]) -> str:
    """The first few, and how many more there are."""
    named = list(texts)[:NAMED]
    more = len(texts) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")
