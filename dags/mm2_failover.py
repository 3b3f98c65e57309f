"""The Airflow DAG ``mm2_failover``, for the flows in ``flows/`` beside this file, or in $MM2_FLOWS."""

from airflow_provider_mm2.failover_dag import load_failover_dag

load_failover_dag(globals())
