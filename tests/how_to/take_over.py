"""A seed that counts once, in a DAG of its own, as docs/how-to/seed.md shows it."""

from __future__ import annotations

from airflow.sdk import DAG

from airflow_provider_mm2.operators.seed import SeedOffsetsOperator

with DAG("take_over", schedule=None) as dag:
    SeedOffsetsOperator(task_id="seed", flow="orders.yaml", seed_from="connect:mm2-offsets.us.internal", apply=True)
