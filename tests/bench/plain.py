"""The child that is the floor of overhead: a plain loop of confluent-kafka with the mirror's own client settings.

Transactional, a commit every five seconds, no progress and no map: a restart would double everything.
"""

from __future__ import annotations

import gc
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from airflow_provider_mm2.mirror.clusters.config import copy_reader_settings, producer_settings
from tests.bench.children import Answer, Job, serve
from tests.bench.loads import QUIET

COMMIT_S = 5.0
IN_FLIGHT_BYTES = 64 * 1024 * 1024
BATCH_BYTES = 750_000


def copy_plainly(job: Job) -> Answer:
    """Copy ``topic`` to ``target_topic``, which exists, up to its present end; records and seconds."""
    reading: dict[str, Any] = copy_reader_settings(job["source"], group="plain", max_record_bytes=1_048_576)
    writing: dict[str, Any] = producer_settings(job["target"], transactional_id=job["target_topic"], timeout_s=60)
    consumer, producer = Consumer({**reading, **QUIET}), Producer({**writing, **QUIET})
    producer.init_transactions(30)
    began = time.monotonic()
    consumer.assign([TopicPartition(job["topic"], number, 0) for number in range(job["partitions"])])
    records = _loop(consumer, producer, job["target_topic"], job["partitions"], job["value_bytes"])
    seconds = time.monotonic() - began
    consumer.close()
    return {"records": records, "copy_seconds": seconds}


def _loop(consumer: Consumer, producer: Producer, target: str, partitions: int, value_bytes: int) -> int:
    """Copy until every partition has ended; how many records."""
    consume, produce, poll, now = consumer.consume, producer.produce, producer.poll, time.monotonic
    count = max(25, min(2_000, BATCH_BYTES // value_bytes))
    in_flight = IN_FLIGHT_BYTES // value_bytes
    copied = ended = 0
    gc.disable()
    producer.begin_transaction()
    commit_at = now() + COMMIT_S
    while ended < partitions:
        for message in consume(count, 0.05):
            error = message.error()
            if error is not None:
                ended += _ends(error)
                continue
            _, stamp = message.timestamp()
            number = message.partition()
            produce(target, message.value(), message.key(), number, None, None, stamp, message.headers())  # type: ignore[arg-type]
            copied += 1
        poll(0)
        while len(producer) > in_flight:
            poll(0.05)
        if now() > commit_at:
            producer.commit_transaction(60)
            producer.begin_transaction()
            commit_at = now() + COMMIT_S
    producer.commit_transaction(60)
    return copied


def _ends(error: KafkaError) -> bool:
    if error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
    return True


if __name__ == "__main__":
    serve(copy_plainly)
