"""Airflow's settings are made before anything imports it."""

from tests import airflow_env

__all__ = ["airflow_env"]
