"""MirrorMaker 2 in dedicated mode with exactly once, as it comes and tuned; its steady rate on the target."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

import psutil
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.jars import kafka_classpath
from airflow_provider_mm2.local.java import run_java
from airflow_provider_mm2.local.pair import LocalPair
from tests.bench.loads import PARTITIONS, QUIET, Load, Settings

JVM_OPTIONS = ("-Xms256m", "-Xmx2g", "-XX:+UseG1GC", "-Djava.awt.headless=true")
"""Heap and collector of the script ``connect-mirror-maker.sh``."""

START_LIMIT_S = 300.0
WARM_UP_S = 5.0

_NOT_YET = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._UNKNOWN_TOPIC,
)
"""What a topic says that is being made."""

_LOG4J = """\
appender.file.type=Console
appender.file.name=OUT
appender.file.layout.type=PatternLayout
appender.file.layout.pattern=%d{ISO8601} %p %m (%c)%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=OUT
"""


class Tuning(Enum):
    """How MirrorMaker 2 is set up."""

    DEFAULT = "default"
    TUNED = "tuned"


_TUNED = {
    "target.producer.batch.size": "524288",
    "target.producer.linger.ms": "20",
    "{alias}.consumer.max.poll.records": "5000",
    "{alias}.consumer.max.partition.fetch.bytes": "10485760",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """What MirrorMaker 2 did in ``seconds`` once it was warm; ``records`` has its commit markers, under 1%, in it."""

    records: int
    seconds: float
    cpu_s: float
    peak_bytes: int


def measure_peer(pair: LocalPair, topic: str, load: Load, tuning: Tuning, seconds: float) -> Steady:
    """Start MirrorMaker 2 on one topic and measure its rate over ``seconds``, or to the end of a small topic.

    :raises RuntimeError: it ended by itself, or copied nothing within five minutes; its log is in the pair's folder.
    """
    alias = f"mm2-{tuning.value}-{load.slug}"
    ends = _end_reader(pair.target.client_settings, f"{alias}.{topic}")
    with _running(pair, alias, topic, tuning) as peer:
        _await(peer, lambda: ends() > 0)
        warm_until = time.monotonic() + min(WARM_UP_S, seconds / 4)
        _await(peer, lambda: time.monotonic() > warm_until or ends() >= load.records)
        began, first, cpu = time.monotonic(), ends(), _cpu_s(peer)
        while time.monotonic() - began < seconds and ends() < load.records:
            time.sleep(0.1)
        return Steady(
            records=ends() - first,
            seconds=time.monotonic() - began,
            cpu_s=_cpu_s(peer) - cpu,
            peak_bytes=peer.memory_info().rss,
        )


@contextmanager
def _running(pair: LocalPair, alias: str, topic: str, tuning: Tuning) -> Iterator[psutil.Process]:
    folder = pair.folder / alias
    folder.mkdir(exist_ok=True)
    settings = _settings(pair, alias, topic, tuning)
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


def _settings(pair: LocalPair, alias: str, topic: str, tuning: Tuning) -> Mapping[str, str]:
    """Dedicated mode, one topic, exactly once (which needs a ``read_committed`` consumer), small internal topics."""
    internal = ("config", "offset", "status")
    tuned = _TUNED if tuning is Tuning.TUNED else {}
    return {
        "clusters": f"{alias}, target",
        **{f"{alias}.{key}": value for key, value in pair.source.java_client_settings.items()},
        **{f"target.{key}": value for key, value in pair.target.java_client_settings.items()},
        f"{alias}->target.enabled": "true",
        f"{alias}->target.topics": topic,
        f"{alias}.consumer.isolation.level": "read_committed",
        "target.exactly.once.source.support": "enabled",
        "dedicated.mode.enable.internal.rest": "true",
        "listeners": "http://127.0.0.1:0",
        "replication.factor": "1",
        "sync.topic.acls.enabled": "false",
        **{f"{name}.topic.replication.factor": "1" for name in ("checkpoints", "heartbeats", "offset-syncs")},
        **{f"{name}.storage.replication.factor": "1" for name in internal},
        **{f"{name}.storage.partitions": "1" for name in internal[1:]},
        **{key.format(alias=alias): value for key, value in tuned.items()},
    }


def _end_reader(cluster: Settings, topic: str) -> Callable[[], int]:
    """A function that adds up a topic's last stable offsets; 0 while the topic is not there."""
    reader = Consumer({**cluster, "group.id": "ends", "isolation.level": "read_committed", **QUIET})

    def ends() -> int:
        try:
            marks = [reader.get_watermark_offsets(TopicPartition(topic, at), timeout=10) for at in range(PARTITIONS)]
        except KafkaException as error:
            if error.args[0].code() not in _NOT_YET:
                raise
            return 0
        return sum(mark[1] for mark in marks if mark is not None)

    return ends


def _await(peer: psutil.Process, done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while not done():
        if not processes.alive(peer) or time.monotonic() > deadline:
            raise RuntimeError(f"MirrorMaker 2 (pid {peer.pid}) ended or copied nothing in {START_LIMIT_S:.0f} s")
        time.sleep(0.1)


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system
