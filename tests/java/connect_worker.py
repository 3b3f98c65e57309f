"""Real Kafka Connect workers: children of a test, or one for a whole session."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.cluster import LocalCluster
from airflow_provider_mm2.local.jars import KAFKA_VERSION, kafka_classpath, resolve_jars
from airflow_provider_mm2.local.java import run_java
from airflow_provider_mm2.local.lock import locked
from airflow_provider_mm2.local.pair import LocalPair

START_LIMIT_S = 120.0
JVM_OPTIONS = ("-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
STRINGS = "org.apache.kafka.connect.storage.StringConverter"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
SHARED = {
    "exactly.once.source.support": "enabled",
    "config.providers": "env",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
}
SOURCE_VARIABLE = "MM2_TESTS_CONNECT_SOURCE"
"""What the session's worker has the source's address in."""


@contextmanager
def connect_worker(folder: Path, pair: LocalPair) -> Iterator[str]:
    """Start a worker whose own cluster is the source, with the file sink, and end it; the address of its REST."""
    folder.mkdir(exist_ok=True)
    try:
        url = start_worker(folder, pair.source, converter=STRINGS, jars=("connect-file",))
        await_answer(f"{url}/connectors", folder)
        yield url
    finally:
        processes.end(folder, grace_s=0)


def shared_worker(folder: Path, pair: LocalPair) -> str:
    """The session's worker at the target, exactly once on, with a config provider for its environment.

    Started by the first who asks, ended with the session.
    """
    address = folder / "address"
    with locked(folder / "lock"):
        if not address.exists():
            source = str(pair.addresses["source"]["bootstrap.servers"])
            url = start_worker(folder, pair.target, settings=SHARED, env={SOURCE_VARIABLE: source})
            await_answer(f"{url}/connectors", folder)
            address.write_text(url, encoding="utf-8")
    return address.read_text(encoding="utf-8")


def start_worker(
    folder: Path,
    cluster: LocalCluster,
    *,
    converter: str = BYTES,
    settings: Mapping[str, str] | None = None,
    scheme: str = "http",
    jars: tuple[str, ...] = (),
    jvm_options: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
) -> str:
    """Start a worker of a cluster, under a group of its own; the address of its REST interface."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    internal = ("config", "offset", "status")
    group = f"connect-{port}"
    config = {
        **cluster.java_client_settings,
        "group.id": group,
        "listeners": f"{scheme}://localhost:{port}",
        "key.converter": converter,
        "value.converter": converter,
        "offset.flush.interval.ms": "1000",
        "scheduled.rebalance.max.delay.ms": "0",
        **{f"{name}.storage.topic": f"{group}-{name}s" for name in internal},
        **{f"{name}.storage.replication.factor": "1" for name in internal},
        **{f"{name}.storage.partitions": "1" for name in internal[1:]},
        **(settings or {}),
    }
    file = folder / "connect.properties"
    file.write_text("".join(f"{key} = {value}\n" for key, value in config.items()), encoding="utf-8")
    more = [str(next(resolve_jars((f"org.apache.kafka:{jar}:{KAFKA_VERSION}",)).glob(f"{jar}-*.jar"))) for jar in jars]
    run_java(
        "org.apache.kafka.connect.cli.ConnectDistributed",
        [file],
        folder=folder,
        log_file=folder / "connect.log",
        classpath=os.pathsep.join([kafka_classpath(), *more]),
        jvm_options=(*JVM_OPTIONS, *jvm_options),
        env=env,
    )
    return f"{scheme}://localhost:{port}"


def await_answer(url: str, folder: Path, **options: Any) -> None:
    """Wait until it answers, while it lives."""
    deadline = time.monotonic() + START_LIMIT_S
    while not _answers(url, options):
        if not processes.find(folder) or time.monotonic() > deadline:
            raise RuntimeError((folder / "connect.log").read_text(encoding="utf-8")[-2000:])
        time.sleep(0.2)


def _answers(url: str, options: Mapping[str, Any]) -> bool:
    try:
        return httpx.get(url, timeout=5, trust_env=False, **options).is_success
    except httpx.HTTPError:
        return False
