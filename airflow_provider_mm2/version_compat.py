"""The one place that knows what differs between the Airflow versions that are supported (3.1.8 and newer)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, cast

from airflow.sdk import Context
from airflow.sdk.log import mask_secret

if TYPE_CHECKING:
    from airflow.sdk.configuration import conf
    from airflow.sdk.exceptions import (
        AirflowFailException,
        AirflowNotFoundException,
        AirflowSkipException,
        AirflowTimetableInvalid,
    )
else:
    try:
        from airflow.sdk.configuration import conf
        from airflow.sdk.exceptions import (
            AirflowFailException,
            AirflowNotFoundException,
            AirflowSkipException,
            AirflowTimetableInvalid,
        )
    except ImportError:  # 3.1
        from airflow.configuration import conf
        from airflow.exceptions import (
            AirflowFailException,
            AirflowNotFoundException,
            AirflowSkipException,
            AirflowTimetableInvalid,
        )

__all__ = [
    "AirflowFailException",
    "AirflowNotFoundException",
    "AirflowSkipException",
    "cron_timetable",
    "default_deferrable",
    "manual_runs_only",
    "mask_secret",
    "task_states",
]


class _DagRun(Protocol):
    """What is used of a DAG run here."""

    dag_id: str
    run_id: str
    run_after: datetime


def cron_timetable(cron: str, *, with_interval: bool) -> Any:
    """A timetable in UTC: with an interval that ends when the run starts, or a mere trigger of zero width.

    :raises ValueError: Airflow cannot use the expression.
    """
    names = ("CronDataIntervalTimetable", "interval") if with_interval else ("CronTriggerTimetable", "trigger")
    sdk: Any = importlib.import_module("airflow.sdk")
    home = sdk if names[0] in sdk.__all__ else importlib.import_module(f"airflow.timetables.{names[1]}")  # 3.1
    timetable = getattr(home, names[0])(cron, timezone="UTC")
    try:
        timetable.validate()
    except AirflowTimetableInvalid as error:
        raise ValueError(f"Airflow refuses {cron!r}: {error}") from None
    return timetable


def manual_runs_only() -> dict[str, Any]:
    """Arguments that keep a DAG from any run but those that a person starts; none on 3.1, which does not know them."""
    sdk: Any = importlib.import_module("airflow.sdk")
    known = {field.name for field in sdk.DAG.__attrs_attrs__}
    return {"allowed_run_types": ["manual"]} if "allowed_run_types" in known else {}


def default_deferrable() -> bool:
    """Whether tasks that wait hand over to the triggerer: ``[operators] default_deferrable``."""
    return bool(conf.getboolean("operators", "default_deferrable", fallback=False))


def task_states(context: Context, task_ids: list[str]) -> Mapping[str, str]:
    """States of tasks of this run, by task id and, where mapped, ``<task id>_<map index>``."""
    instance: Any = context["ti"]
    run = cast("_DagRun", context["dag_run"])
    states = instance.get_task_states(dag_id=run.dag_id, task_ids=task_ids, run_ids=[run.run_id])
    return cast("Mapping[str, str]", states.get(run.run_id, {}))
