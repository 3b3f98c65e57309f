"""Airflow's exceptions that only tests look for; they have moved between the versions that are supported."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tests.airflow_env import IS_3_1

_home: Any = import_module("airflow.exceptions" if IS_3_1 else "airflow.sdk.exceptions")

AirflowSensorTimeout: type[Exception] = _home.AirflowSensorTimeout
TaskDeferred: Any = _home.TaskDeferred
