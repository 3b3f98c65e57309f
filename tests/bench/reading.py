"""The child that is the yardstick of a comparison: a plain consumer of each side, every field of each record read."""

from __future__ import annotations

import gc
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from airflow_provider_mm2.mirror.clusters.config import copy_reader_settings
from tests.bench.children import Answer, Job, serve
from tests.bench.loads import QUIET

BATCH_BYTES = 750_000


def read_plainly(job: Job) -> Answer:
    """Read a topic and its copy to their present ends, a batch of each in turn; records of the source and seconds."""
    began = time.monotonic()
    sides = [
        _consumer(job, job[side], topic) for side, topic in (("source", job["topic"]), ("target", job["target_topic"]))
    ]
    left = {id(consumer): job["partitions"] for consumer in sides}
    count = max(25, min(1_000, BATCH_BYTES // job["value_bytes"]))
    records = 0
    gc.disable()
    while any(left.values()):
        for consumer in sides:
            if left[id(consumer)]:
                read, ended = _read(consumer, count)
                left[id(consumer)] -= ended
                records += read
    seconds = time.monotonic() - began
    for consumer in sides:
        consumer.close()
    return {"records": records // 2, "seconds": seconds}


def _consumer(job: Job, cluster: dict[str, Any], topic: str) -> Consumer:
    settings: dict[str, Any] = copy_reader_settings(cluster, group="plain", max_record_bytes=1_048_576)
    consumer = Consumer({**settings, **QUIET})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(job["partitions"])])
    return consumer


def _read(consumer: Consumer, count: int) -> tuple[int, int]:
    """Read a batch; how many records, and how many partitions have ended."""
    read = ended = 0
    for message in consumer.consume(count, 0.05):
        error = message.error()
        if error is None:
            message.key(), message.value(), message.headers(), message.timestamp()
            read += 1
        elif error.code() == KafkaError._PARTITION_EOF:
            ended += 1
        else:
            raise KafkaException(error)
    return read, ended


if __name__ == "__main__":
    serve(read_plainly)
