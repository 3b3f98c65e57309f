"""A DAG of failovers with people who may approve, as docs/how-to/failover-in-airflow.md shows it."""

from __future__ import annotations

from datetime import timedelta

from airflow_provider_mm2.failover_dag import load_failover_dag

load_failover_dag(
    globals(),
    assigned_users=[{"id": "ada", "name": "Ada"}, {"id": "grace", "name": "Grace"}],
    response_timeout=timedelta(minutes=30),
)
