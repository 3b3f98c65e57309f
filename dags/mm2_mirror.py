"""An Airflow DAG ``mm2_mirror__<flow>`` for each flow file in ``flows/`` beside this file, or in $MM2_FLOWS."""

from airflow_provider_mm2.dags import load_flow_dags

load_flow_dags(globals())
