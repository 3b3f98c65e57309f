"""Hands on the brokers of a test's own clusters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.cluster import LocalCluster
from airflow_provider_mm2.local.jars import kafka_classpath
from airflow_provider_mm2.local.java import run_java
from airflow_provider_mm2.local.ports import is_free
from airflow_provider_mm2.local.wait import poll
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.proof.eyes import Eyes

LIMIT_S = 60.0
PARTITIONS = 4
"""Of the offsets and the transaction state topic, on local clusters."""


def process_of(cluster: LocalCluster, broker: int = 0) -> psutil.Process:
    """The process of one broker."""
    (process,) = processes.find_exactly(cluster.broker_folder(broker))
    return process


@contextmanager
def frozen_broker(cluster: LocalCluster, broker: int = 0) -> Iterator[None]:
    """Stop one broker with SIGSTOP, and let it go on."""
    process = process_of(cluster, broker)
    process.suspend()
    try:
        yield
    finally:
        process.resume()


def restart(cluster: LocalCluster, broker: int = 0) -> None:
    """Start a broker that was killed, at the addresses it had.

    A killed process is a zombie while its last threads still hold its ports for some hundred milliseconds.
    """
    addresses = cluster.bootstrap
    port = int(addresses.split(",")[broker].rpartition(":")[2])
    assert poll(lambda: is_free(port), timeout_s=LIMIT_S), f"port {port} is still taken"
    cluster.start_broker(broker)
    assert cluster.bootstrap == addresses


def leader_of(eyes: Eyes, part: TopicPartition) -> int:
    """Number of the broker that leads a partition."""
    topic = eyes.admin.list_topics(part.topic, timeout=LIMIT_S).topics[part.topic]
    return int(topic.partitions[part.partition].leader)


def transaction_coordinator(eyes: Eyes, transactional_id: str) -> int:
    """Number of the broker that coordinates a transactional id."""
    return leader_of(eyes, TopicPartition("__transaction_state", _java_hash(transactional_id) % PARTITIONS))


def group_coordinator(eyes: Eyes, group: str) -> int:
    """Number of the broker that coordinates a group."""
    return leader_of(eyes, offsets_partition(group))


def offsets_partition(group: str) -> TopicPartition:
    """Where a group's offsets are kept."""
    return TopicPartition("__consumer_offsets", _java_hash(group) % PARTITIONS)


def _java_hash(text: str) -> int:
    """``Utils.abs(text.hashCode())`` of Kafka."""
    value = 0
    for letter in text:
        value = (31 * value + ord(letter)) & 0xFFFFFFFF
    return value & 0x7FFFFFFF


def hanging(eyes: Eyes, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    """Partitions whose last stable offset stays behind, with the offset at which a transaction holds it."""
    stable, ends = eyes.offsets(partitions), eyes.offsets(partitions, stable=False)
    return {part: stable[part] for part in partitions if stable[part] < ends[part]}


def abort_hanging(cluster: LocalCluster, folder: Path, part: TopicPartition, start: int) -> None:
    """End a hanging transaction as an administrator does, with Kafka's own tool."""
    log = folder / f"transactions-{part}-{start}.log"
    login = folder / "transactions.properties"
    login.write_text(
        "".join(f"{key}={value}\n" for key, value in cluster.java_client_settings.items()), encoding="utf-8"
    )
    arguments = ["--bootstrap-server", cluster.bootstrap, "--command-config", str(login), "abort"]
    arguments += ["--topic", part.topic]
    arguments += ["--partition", str(part.partition), "--start-offset", str(start)]
    tool = run_java(
        "org.apache.kafka.tools.TransactionsCommand",
        arguments,
        folder=folder,
        log_file=log,
        classpath=kafka_classpath(),
        jvm_options=("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    )
    assert tool.wait(LIMIT_S) == 0, log.read_text(encoding="utf-8")
