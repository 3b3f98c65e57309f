"""What is told of a flow's connectors: what was put or done, how they run. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_provider_mm2.mirror.connect.connectors import Part
from airflow_provider_mm2.mirror.connect.difference import Change, ConnectorChange
from airflow_provider_mm2.mirror.connect.limits import Difference
from airflow_provider_mm2.mirror.model import TopicPartition

RUNNING, FAILED, MISSING = "RUNNING", "FAILED", "MISSING"
TRACE_LINES, TRACE_LENGTH = 30, 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class PutReport:
    """What putting a flow's connectors changes.

    :param differs: what MirrorMaker 2 does in place of the flow's defaults.
    """

    flow: str
    worker: str
    applied: bool
    changes: tuple[ConnectorChange, ...]
    differs: tuple[Difference, ...]
    warnings: tuple[str, ...] = ()

    @property
    def to_change(self) -> int:
        """How many connectors are not as they are to be."""
        return sum(1 for each in self.changes if each.change is not Change.NOTHING)

    def to_json(self) -> dict[str, Any]:
        """The document of ``mm2 connect FLOW put --json``."""
        return {
            "flow": self.flow,
            "worker": self.worker,
            "applied": self.applied,
            "to_change": self.to_change,
            "connectors": [each.to_json() for each in self.changes],
            "differs": [{"key": each.key, "text": each.text} for each in self.differs],
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionReport:
    """What an action changed: states by connector, before and after."""

    flow: str
    action: str
    applied: bool
    states: Mapping[str, tuple[str, str]]

    def to_json(self) -> dict[str, Any]:
        """The document of ``mm2 connect FLOW pause --json`` and its like."""
        rows = [{"connector": name, "before": one, "after": other} for name, (one, other) in self.states.items()]
        return {"flow": self.flow, "action": self.action, "applied": self.applied, "connectors": rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """How one task runs.

    :param trace: why it failed, bounded, without secrets; empty where it has not.
    """

    number: int
    state: str
    worker: str
    trace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorState:
    """How one connector runs; ``MISSING``: there is none."""

    name: str
    part: Part
    state: str
    worker: str = ""
    trace: str = ""
    tasks: tuple[TaskState, ...] = ()

    @property
    def failures(self) -> list[str]:
        """What has failed of it, and why."""
        own = [f"{self.name} on {self.worker}: {self.trace}"] if self.state == FAILED else []
        failed = [task for task in self.tasks if task.state == FAILED]
        return own + [f"task {task.number} of {self.name} on {task.worker}: {task.trace}" for task in failed]

    @property
    def waits(self) -> list[str]:
        """What of it does not run; the connector that copies has tasks once it has found something to copy."""
        if self.state != RUNNING:
            return [f"{self.name} is {self.state}"]
        if not self.tasks and self.part is Part.SOURCE:
            return [f"{self.name} has no task yet"]
        return [f"task {task.number} of {self.name} is {task.state}" for task in self.tasks if task.state != RUNNING]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        tasks = [
            {"task": task.number, "state": task.state, "worker": task.worker, "trace": task.trace or None}
            for task in self.tasks
        ]
        return {
            "connector": self.name,
            "state": self.state,
            "worker": self.worker,
            "trace": self.trace or None,
            "tasks": tasks,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReport:
    """How a flow's connectors run, and how far the one that copies is.

    :param progress: by source partition, the next offset to copy.
    """

    flow: str
    connectors: tuple[ConnectorState, ...]
    progress: Mapping[TopicPartition, int]

    @property
    def failures(self) -> list[str]:
        """What has failed, and why."""
        return [text for each in self.connectors for text in each.failures]

    @property
    def waits(self) -> list[str]:
        """What does not run."""
        return [text for each in self.connectors for text in each.waits]

    def to_json(self) -> dict[str, Any]:
        """The document of ``mm2 connect FLOW status --json``."""
        return {
            "flow": self.flow,
            "running": not self.waits,
            "waits": self.waits,
            "connectors": [each.to_json() for each in self.connectors],
            "partitions": [{**part._asdict(), "progress": offset} for part, offset in sorted(self.progress.items())],
        }


def progress_of(offsets: Sequence[Mapping[str, Any]], alias: str) -> dict[TopicPartition, int]:
    """Where MirrorMaker 2 goes on in each source partition: Connect has the last offset that was copied.

    :param offsets: of the MirrorSourceConnector, as Connect's REST interface has them.
    :param alias: of the source.
    """
    return {
        TopicPartition(one["partition"]["topic"], int(one["partition"]["partition"])): int(one["offset"]["offset"]) + 1
        for one in offsets
        if one.get("offset") and one["partition"].get("cluster") == alias
    }


def shortened(trace: str) -> str:
    """The beginning of a trace, and what caused it."""
    lines = trace.strip().splitlines()
    causes = [line for line in lines[TRACE_LINES:] if line.startswith("Caused by")]
    return "\n".join([*lines[:TRACE_LINES], *causes])[:TRACE_LENGTH]
