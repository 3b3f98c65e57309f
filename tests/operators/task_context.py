"""A task's context as far as the operators look at it, without Airflow's task runner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

RUN_AFTER = datetime(2026, 1, 1, 1, tzinfo=timezone.utc)


class CronTriggerTimetable:
    """A name is all that is looked at."""


@dataclass
class FakeTaskInstance:
    """What is asked of a task instance; ``states`` is by task id as Airflow gives them."""

    states: Mapping[str, str] = field(default_factory=dict)
    map_index: int = -1
    dag_id: str = "mm2_mirror__orders"
    task_id: str = "mirror"
    run_id: str = "run-1"
    try_number: int = 1
    pushed: dict[str, Any] = field(default_factory=dict)

    def xcom_push(self, key: str, value: Any) -> None:
        """Keep what is pushed."""
        self.pushed[key] = value

    def get_task_states(self, *, dag_id: str, task_ids: list[str], run_ids: list[str]) -> dict[str, Any]:
        """States by run."""
        assert task_ids
        return {run_ids[0]: dict(self.states)}


@dataclass
class Outlet:
    """Events of one outlet."""

    events: dict[str, Any] = field(default_factory=dict)

    def add(self, asset: Any, extra: dict[str, Any]) -> None:
        """Keep an event."""
        self.events[asset.uri] = extra


class Outlets:
    """Outlets by alias, made when asked for."""

    def __init__(self) -> None:
        self.by_name: dict[str, Outlet] = {}

    def __getitem__(self, alias: Any) -> Outlet:
        """Give the outlet of an alias."""
        return self.by_name.setdefault(alias.name, Outlet())


def task_context(
    *,
    interval: tuple[datetime, datetime] | None = None,
    run_after: datetime = RUN_AFTER,
    states: Mapping[str, str] | None = None,
    dag_file: str = "/nowhere/dag.py",
) -> Any:
    """Make the context of a task; without ``interval`` the keys are missing, as in a run started by hand."""
    context: dict[str, Any] = {
        "ti": FakeTaskInstance(states=states or {}),
        "dag_run": SimpleNamespace(dag_id="mm2_mirror__orders", run_id="run-1", run_after=run_after),
        "dag": SimpleNamespace(timetable=CronTriggerTimetable(), fileloc=dag_file),
        "outlet_events": Outlets(),
    }
    if interval is not None:
        context["data_interval_start"], context["data_interval_end"] = interval
    return context
