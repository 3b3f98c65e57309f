"""The Airflow DAG ``mm2_dr_drill``, for the flows in ``flows/`` beside this file, or in $MM2_FLOWS."""

from airflow_provider_mm2.drill_dag import load_drill_dag

load_drill_dag(globals())
