"""The mirror itself, without Airflow: read the folders downwards and they are the flow."""
