"""The clusters on real Kafka; the only folder that imports ``confluent_kafka``."""
