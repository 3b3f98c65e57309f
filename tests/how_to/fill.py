"""A topic with some records on the source of the local pair."""

from __future__ import annotations

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic


def fill(cluster: dict[str, str | int | float | bool]) -> None:
    """Create ``flights`` and write a hundred records.

    :param cluster: librdkafka settings, of which ``bootstrap.servers`` is enough for the local pair.
    """
    admin = AdminClient(cluster)
    admin.create_topics([NewTopic("flights", 4, 1)])["flights"].result()
    producer = Producer(cluster)
    for number in range(100):
        producer.produce("flights", key=str(number), value=f"flight {number}")
    producer.flush()
