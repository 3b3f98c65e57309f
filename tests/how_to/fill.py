"""A topic with some records on the source of the local pair, and a consumer group in the midst of them."""

from __future__ import annotations

import os

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic


def fill(cluster: dict[str, str | int | float | bool]) -> None:
    """Create ``flights``, write a hundred records, and let the group ``billing`` read forty.

    :param cluster: librdkafka settings, of which ``bootstrap.servers`` is enough for the local pair.
    """
    admin = AdminClient(cluster)
    admin.create_topics([NewTopic("flights", 4, 1)])["flights"].result()
    producer = Producer(cluster)
    for number in range(100):
        producer.produce("flights", key=str(number), value=f"flight {number}")
    producer.flush()
    consumer = Consumer({**cluster, "group.id": "billing", "auto.offset.reset": "earliest"})
    consumer.subscribe(["flights"])
    read = 0
    while read < 40:
        message = consumer.poll(1)
        read += message is not None and message.error() is None
    consumer.close()  # commits what it has read


if __name__ == "__main__":
    fill({"bootstrap.servers": os.environ["MM2_SOURCE"]})
