"""One look at what connectors have mirrored: the conditions that for runs are judged by the ledger.

How far they are, their offsets say, by Connect's REST interface. Behind a copied record may lie markers and aborted
records, which nobody copies: so the next visible record decides, here as for ``ConnectMirrorSensor``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, ClusterReader, TargetCluster, Tick
from airflow_provider_mm2.mirror.conditions.condition import ConnectRunning, GroupCaughtUp, LagBelow, MirroredThrough
from airflow_provider_mm2.mirror.conditions.connectors import Reached, check_failures, reached
from airflow_provider_mm2.mirror.conditions.finding import Finding
from airflow_provider_mm2.mirror.conditions.judge import (
    LISTED,
    goals,
    judge_lag,
    judge_records_before,
    some,
    topics_asked,
)
from airflow_provider_mm2.mirror.connect.flow_connectors import FlowConnectors
from airflow_provider_mm2.mirror.connect.standing import next_to_copy, source_logs
from airflow_provider_mm2.mirror.errors import COUNT_LIMIT, MirrorError
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.group_model import GroupOffsets
from airflow_provider_mm2.mirror.model import LogOffsets, TopicPartition
from airflow_provider_mm2.mirror.moments import show, to_ms
from airflow_provider_mm2.mirror.offsets.mm2_reading import topics_on_target

Logs = Mapping[TopicPartition, LogOffsets]
Progress = Mapping[TopicPartition, int]


def look_at_progress(
    condition: MirroredThrough | LagBelow,
    flow: MirrorFlow,
    source: ClusterReader,
    connectors: FlowConnectors,
    tick: Tick,
) -> Finding:
    """Whether the connectors are so far; Connect and the source are asked.

    :raises ConnectFailed: a connector or task has failed, with its trace: it would be waited for in vain.
    :raises MirrorError: somebody who has to be asked does not answer.
    """
    status = connectors.status(tick)
    check_failures(flow, status)
    if isinstance(condition, LagBelow):
        logs = source_logs(flow, source)
        return judge_lag(condition, copied(status.progress, logs, source, tick), logs)
    timed = ConnectRunning(until=condition.until, topics=condition.topics)
    found = [] if condition.until is None else reached(timed, flow, source, status.progress, tick)
    logs = source_logs(flow, source) if condition.offsets else {}
    return judge_progress(condition, found, logs, copied(status.progress, logs, source, tick))


def copied(progress: Progress, logs: Logs, source: ClusterReader, tick: Tick) -> dict[TopicPartition, int]:
    """The source offset below which all that a reader sees of each partition is on the target.

    :param progress: next offset to copy, as the connectors have it; a partition without one begins at its log's start.
    """
    found: dict[TopicPartition, int] = {}
    for part, log in logs.items():
        tick()
        at = max(progress.get(part, log.start), log.start)
        following = next_to_copy(source, part, at, log)
        found[part] = max(at, log.stable) if following is None else following[0]
    return found


def judge_progress(condition: MirroredThrough, found: list[Reached], logs: Logs, ends: Progress) -> Finding:
    """Hold what is copied against a time and offsets. Pure.

    :param found: how far each partition is against the time; empty: none was asked for.
    :param ends: as :func:`copied` gives them, of all partitions where offsets are asked for.
    """
    waits = [f"{each.part} is {each.behind}" for each in found if each.behind]
    asked = {part for topic, number, _ in condition.offsets for part in logs if _is_of(part, topic, number)}
    waits += [
        f"{part} is at {ends[part]} of {offset}"
        for topic, number, offset in condition.offsets
        for part in sorted(logs)
        if _is_of(part, topic, number) and ends[part] < offset
    ]
    waits += [
        f"{topic if number is None else TopicPartition(topic, number)} is not mirrored yet"
        for topic, number, _ in condition.offsets
        if not any(_is_of(part, topic, number) for part in logs)
    ]
    looked_at = {each.part: each.position for each in found} | {part: ends[part] for part in asked}
    met, goal = not waits and bool(looked_at), " and ".join(goals(condition))
    text = f"mirrored through {goal} by connectors on {len(looked_at)} partition(s)"
    if not met:
        text = f"not mirrored through {goal} yet: {some(waits) or 'nothing is mirrored'}"
    through = show(to_ms(condition.until)) if met and condition.until is not None else None
    facts: dict[str, Any] = {
        "partitions": len(looked_at),
        "waiting": len(waits),
        "mirrored_through": through,
        "progress": [{**part._asdict(), "next_offset": looked_at[part]} for part in sorted(looked_at)][:LISTED],
    }
    return Finding(met=met, text=text, facts=facts)


def _is_of(part: TopicPartition, topic: str, number: int | None) -> bool:
    return part.topic == topic and number in (None, part.partition)


def look_at_group(condition: GroupCaughtUp, flow: MirrorFlow, pair: ClusterPair, tick: Tick) -> Finding:
    """Whether a group has read what connectors have copied; the target alone is asked, and its records are counted.

    :raises MirrorError: the target does not answer.
    """
    found = pair.target.group_offsets([condition.group], tick)[condition.group]
    if isinstance(found, MirrorError):
        raise found
    topics = topics_on_target(flow, pair.target)
    asked = topics_asked(condition, found, topics)
    places = [
        TopicPartition(topics[name][0], number) for name in asked & topics.keys() for number in range(topics[name][1])
    ]
    lacking = sorted(set(condition.topics) - topics.keys())
    unknown = f"the target has no copy of {some(lacking)}" if lacking else ""
    return judge_records_before(condition, found, _before(pair.target, places, found, tick) if asked else None, unknown)


def _before(
    target: TargetCluster, places: list[TopicPartition], found: GroupOffsets, tick: Tick
) -> dict[TopicPartition, int]:
    """Records before the group; where they are more than the reader counts, offsets, which are as many at least."""
    before: dict[TopicPartition, int] = {}
    for part, log in target.log_offsets(places).items():
        at = max(found.offsets.get(part, log.start), log.start)
        records = target.count_visible(part, at, log.stable, tick) if at < log.stable else 0
        before[part] = records if records < COUNT_LIMIT else log.stable - at
    return before
