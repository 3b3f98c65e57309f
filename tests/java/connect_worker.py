"""A real Kafka Connect worker, as a child of a test."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.jars import KAFKA_VERSION, kafka_classpath, resolve_jars
from airflow_provider_mm2.local.java import run_java
from airflow_provider_mm2.local.pair import LocalPair

START_LIMIT_S = 120.0
JVM_OPTIONS = ("-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
CONVERTER = "org.apache.kafka.connect.storage.StringConverter"


@contextmanager
def connect_worker(folder: Path, pair: LocalPair) -> Iterator[str]:
    """Start a worker whose own cluster is the source, with the file sink, and end it; the address of its REST."""
    folder.mkdir(exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    internal = ("config", "offset", "status")
    settings = {
        **pair.source.java_client_settings,
        "group.id": "connect-cluster",
        "listeners": f"http://127.0.0.1:{port}",
        "key.converter": CONVERTER,
        "value.converter": CONVERTER,
        "offset.flush.interval.ms": "1000",
        "scheduled.rebalance.max.delay.ms": "0",
        **{f"{name}.storage.topic": f"connect-{name}s" for name in internal},
        **{f"{name}.storage.replication.factor": "1" for name in internal},
        **{f"{name}.storage.partitions": "1" for name in internal[1:]},
    }
    file = folder / "connect.properties"
    file.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()), encoding="utf-8")
    sink = resolve_jars((f"org.apache.kafka:connect-file:{KAFKA_VERSION}",))
    run_java(
        "org.apache.kafka.connect.cli.ConnectDistributed",
        [file],
        folder=folder,
        log_file=folder / "connect.log",
        classpath=f"{kafka_classpath()}{os.pathsep}{next(sink.glob('connect-file-*.jar'))}",
        jvm_options=JVM_OPTIONS,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        await_answer(f"{url}/connectors", folder)
        yield url
    finally:
        processes.end(folder, grace_s=0)


def await_answer(url: str, folder: Path) -> None:
    """Wait until it answers, while it lives."""
    deadline = time.monotonic() + START_LIMIT_S
    while not _answers(url):
        if not processes.find(folder) or time.monotonic() > deadline:
            raise RuntimeError((folder / "connect.log").read_text(encoding="utf-8")[-2000:])
        time.sleep(0.2)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5, trust_env=False).is_success
    except httpx.HTTPError:
        return False
