"""The DAG of docs/how-to/first-mirror.md: a flow in a DAG of one's own."""

from __future__ import annotations

from airflow_provider_mm2.dags import MirrorDag

orders = MirrorDag("orders", dag_id="orders_every_ten_minutes", schedule="*/10 * * * *")
