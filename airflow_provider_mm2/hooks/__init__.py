"""Hooks: Airflow connections turned into settings of Kafka clients."""
