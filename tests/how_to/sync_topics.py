"""A DAG that only makes topics, as docs/how-to/topics.md shows it."""

from __future__ import annotations

from airflow.sdk import DAG

from airflow_provider_mm2.operators.topics import SyncTopicsOperator

with DAG("make_topics", schedule=None) as dag:
    topics = SyncTopicsOperator(task_id="topics", flow="orders")
