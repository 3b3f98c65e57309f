"""What Airflow asks a provider for: a literal, since every Airflow process reads it at its start."""

from __future__ import annotations

OPERATORS = (
    "airflow_provider_mm2.operators.connect",
    "airflow_provider_mm2.operators.drill",
    "airflow_provider_mm2.operators.failback",
    "airflow_provider_mm2.operators.failover",
    "airflow_provider_mm2.operators.groups",
    "airflow_provider_mm2.operators.hand_over",
    "airflow_provider_mm2.operators.mirror",
    "airflow_provider_mm2.operators.seed",
    "airflow_provider_mm2.operators.topics",
    "airflow_provider_mm2.operators.translate",
    "airflow_provider_mm2.operators.verify",
)


def get_provider_info() -> dict[str, object]:
    """Give the description that Airflow's provider manager validates.

    A fault in it stops every Airflow command, so a test holds it against Airflow's own schemas. The connection type
    ``kafka`` belongs to the official provider and is used as it is: declaring it here would take it over.
    """
    return {
        "package-name": "airflow-provider-mm2",
        "name": "Kafka mirror (MM2)",
        "description": "Mirror intervals between two Apache Kafka clusters exactly once, and fail over to the copy.",
        "integrations": [
            {
                "integration-name": "Apache Kafka",
                "external-doc-url": "https://kafka.apache.org/documentation/#georeplication",
                "tags": ["apache"],
            }
        ],
        "operators": [
            {
                "integration-name": "Apache Kafka",
                "python-modules": list(OPERATORS),
            }
        ],
        "sensors": [
            {
                "integration-name": "Apache Kafka",
                "python-modules": ["airflow_provider_mm2.sensors.groups", "airflow_provider_mm2.sensors.mirror"],
            }
        ],
        "triggers": [
            {
                "integration-name": "Apache Kafka",
                "python-modules": ["airflow_provider_mm2.triggers.condition"],
            }
        ],
        "hooks": [
            {
                "integration-name": "Apache Kafka",
                "python-modules": ["airflow_provider_mm2.hooks.cluster", "airflow_provider_mm2.hooks.mirror_client"],
            }
        ],
    }
