"""Real MirrorMaker 2 in dedicated mode, as a child of a test or a benchmark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.jars import kafka_classpath
from airflow_provider_mm2.local.java import run_java
from airflow_provider_mm2.local.pair import LocalPair

JVM_OPTIONS = ("-Xms256m", "-Xmx2g", "-XX:+UseG1GC", "-Djava.awt.headless=true")
"""Heap and collector of the script ``connect-mirror-maker.sh``."""

START_LIMIT_S = 300.0

_LOG4J = """\
appender.file.type=Console
appender.file.name=OUT
appender.file.layout.type=PatternLayout
appender.file.layout.pattern=%d{ISO8601} %p %m (%c)%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=OUT
"""


def dedicated_settings(pair: LocalPair, alias: str, topics: str) -> dict[str, str]:
    """Settings from ``alias`` to ``target``: exactly once (for which it must read ``read_committed``), small topics.

    :param topics: comma-separated regular expressions.
    """
    internal = ("config", "offset", "status")
    return {
        "clusters": f"{alias}, target",
        **{f"{alias}.{key}": value for key, value in pair.source.java_client_settings.items()},
        **{f"target.{key}": value for key, value in pair.target.java_client_settings.items()},
        f"{alias}->target.enabled": "true",
        f"{alias}->target.topics": topics,
        f"{alias}.consumer.isolation.level": "read_committed",
        "target.exactly.once.source.support": "enabled",
        "dedicated.mode.enable.internal.rest": "true",
        "listeners": "http://127.0.0.1:0",
        "replication.factor": "1",
        "sync.topic.acls.enabled": "false",
        **{f"{name}.topic.replication.factor": "1" for name in ("checkpoints", "heartbeats", "offset-syncs")},
        **{f"{name}.storage.replication.factor": "1" for name in internal},
        **{f"{name}.storage.partitions": "1" for name in internal[1:]},
    }


@contextmanager
def mirror_maker(folder: Path, settings: Mapping[str, str]) -> Iterator[psutil.Process]:
    """Start MirrorMaker 2 with these settings, and end it; its log is ``mm2.log`` in the folder."""
    folder.mkdir(exist_ok=True)
    file = folder / "mm2.properties"
    file.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()), encoding="utf-8")
    (folder / "log4j2.properties").write_text(_LOG4J, encoding="utf-8")
    child = run_java(
        "org.apache.kafka.connect.mirror.MirrorMaker",
        [file],
        folder=folder,
        log_file=folder / "mm2.log",
        classpath=kafka_classpath(),
        jvm_options=(*JVM_OPTIONS, f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}"),
    )
    try:
        yield psutil.Process(child.pid)
    finally:
        processes.end(folder, grace_s=0)


def await_peer(peer: psutil.Process, done: Callable[[], bool], *, limit_s: float = START_LIMIT_S) -> None:
    """Wait until it is so, while MirrorMaker 2 runs.

    :raises RuntimeError: it ended by itself, or it was not so within the limit.
    """
    deadline = time.monotonic() + limit_s
    while not done():
        if not processes.alive(peer) or time.monotonic() > deadline:
            raise RuntimeError(f"MirrorMaker 2 (pid {peer.pid}) ended, or did not do it in {limit_s:.0f} s")
        time.sleep(0.1)
