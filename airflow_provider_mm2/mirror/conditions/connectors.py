"""One look at a flow's connectors: do they run, and is everything before a time on the target.

A task that is RUNNING may still copy nothing: where its producer has died it was seen to stay so. Only how far the
copy is proves that it goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.conditions.condition import ConnectRunning
from airflow_provider_mm2.mirror.conditions.finding import Finding
from airflow_provider_mm2.mirror.conditions.judge import LISTED, some
from airflow_provider_mm2.mirror.connect.flow_connectors import FlowConnectors
from airflow_provider_mm2.mirror.connect.report import StatusReport
from airflow_provider_mm2.mirror.connect.standing import next_to_copy, source_logs
from airflow_provider_mm2.mirror.errors import ConnectFailed
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import LogOffsets, TopicPartition
from airflow_provider_mm2.mirror.moments import show, to_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """How far the copy of one partition is, against a time.

    :param position: the next source offset to copy.
    :param behind: why what was stamped before the time may not all be on the target; empty: all of it is.
    """

    part: TopicPartition
    position: int
    behind: str = ""


def look_at_connectors(
    condition: ConnectRunning, flow: MirrorFlow, source: ClusterReader, connectors: FlowConnectors, tick: Tick
) -> Finding:
    """Whether they run and are caught up; the source is asked only where a time is given.

    :raises ConnectFailed: a connector or task has failed, with its trace.
    :raises MirrorError: somebody who has to be asked does not answer.
    """
    status = connectors.status(tick)
    check_failures(flow, status)
    if status.waits or condition.until is None:
        return judge_running(condition, status, [])
    if condition.until > datetime.now(timezone.utc):
        return judge_running(condition, status, [], is_early=True)
    return judge_running(condition, status, reached(condition, flow, source, status.progress, tick))


def check_failures(flow: MirrorFlow, status: StatusReport) -> None:
    """Nothing has failed, which nobody would start again.

    :raises ConnectFailed: a connector or task has, with its trace.
    """
    if status.failures:
        raise ConnectFailed(flow=flow.name, failures=tuple(status.failures))


def reached(
    condition: ConnectRunning,
    flow: MirrorFlow,
    source: ClusterReader,
    progress: Mapping[TopicPartition, int],
    tick: Tick,
) -> list[Reached]:
    """How far each partition is: a record that is next and stamped at or after the time ends it, as in a run."""
    assert condition.until is not None  # noqa: S101 # asked for with a time only
    until_ms = to_ms(condition.until)
    logs = {
        part: log
        for part, log in source_logs(flow, source).items()
        if not condition.topics or part.topic in condition.topics
    }
    found: list[Reached] = []
    for part, log in logs.items():
        tick()
        found.append(_reached(part, max(progress.get(part, 0), log.start), log, source, until_ms))
    missing = sorted(set(condition.topics) - {part.topic for part in logs})
    return found + [Reached(part=TopicPartition(name, 0), position=0, behind="not mirrored") for name in missing]


def _reached(part: TopicPartition, position: int, log: LogOffsets, source: ClusterReader, until_ms: int) -> Reached:
    following = next_to_copy(source, part, position, log)
    if following is not None:
        offset, stamped_ms = following
        behind = "" if stamped_ms >= until_ms else f"at {offset} of {log.stable}"
    else:
        behind = f"held at {log.stable} by an open transaction on the source" if log.stable < log.end else ""
    return Reached(part=part, position=position, behind=behind)


def judge_running(
    condition: ConnectRunning, status: StatusReport, found: list[Reached], *, is_early: bool = False
) -> Finding:
    """Put it into a sentence, with the numbers."""
    tasks = sum(len(each.tasks) for each in status.connectors)
    text = f"{len(status.connectors)} connectors run with {tasks} tasks"
    waits = status.waits
    if waits:
        text = f"{len(waits)} of {len(status.connectors)} connectors or their tasks do not run: {some(waits)}"
    goal = None if condition.until is None else show(to_ms(condition.until))
    behind = [f"{each.part} is {each.behind}" for each in found if each.behind]
    is_met = not waits and not is_early and not behind
    if goal is not None and is_early:
        text += f", and it is not {goal} yet"
    elif goal is not None and not waits:
        is_met = is_met and bool(found)
        text += f", caught up through {goal} on {len(found)} partition(s)" if is_met else f", not through {goal} yet"
        text += f": {some(behind)}" if behind else "" if found else ": nothing is mirrored"
    facts: dict[str, Any] = {
        "connectors": len(status.connectors),
        "tasks": tasks,
        "mirrored_through": goal if is_met else None,
        "partitions": len(found),
        "behind": len(behind),
        "progress": [{**each.part._asdict(), "next_offset": each.position} for each in found][:LISTED],
    }
    return Finding(met=is_met, text=text, facts=facts)
