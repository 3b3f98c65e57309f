"""A DAG that tells whether groups could move, as docs/how-to/failover-in-airflow.md shows it."""

from __future__ import annotations

from airflow.sdk import DAG

from airflow_provider_mm2.operators.translate import TranslateOffsetsOperator

with DAG("orders_could_move", schedule="@daily") as dag:
    TranslateOffsetsOperator(task_id="places", flow="orders", live=False)
