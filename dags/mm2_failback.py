"""The Airflow DAG ``mm2_failback``, for the flows in ``flows/`` beside this file, or in $MM2_FLOWS."""

from airflow_provider_mm2.failback_dag import load_failback_dag

load_failback_dag(globals())
