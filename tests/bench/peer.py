"""MirrorMaker 2 in dedicated mode with exactly once, as it comes and tuned; its steady rate on the target."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

import psutil
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from airflow_provider_mm2.local.pair import LocalPair
from tests.bench.loads import PARTITIONS, QUIET, Load, Settings
from tests.java.mirror_maker import await_peer, dedicated_settings, mirror_maker

WARM_UP_S = 5.0

_NOT_YET = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._UNKNOWN_TOPIC,
)
"""What a topic says that is being made."""


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
    with mirror_maker(pair.folder / alias, _settings(pair, alias, topic, tuning)) as peer:
        await_peer(peer, lambda: ends() > 0)
        warm_until = time.monotonic() + min(WARM_UP_S, seconds / 4)
        await_peer(peer, lambda: time.monotonic() > warm_until or ends() >= load.records)
        began, first, cpu = time.monotonic(), ends(), _cpu_s(peer)
        while time.monotonic() - began < seconds and ends() < load.records:
            time.sleep(0.1)
        return Steady(
            records=ends() - first,
            seconds=time.monotonic() - began,
            cpu_s=_cpu_s(peer) - cpu,
            peak_bytes=peer.memory_info().rss,
        )


def _settings(pair: LocalPair, alias: str, topic: str, tuning: Tuning) -> Mapping[str, str]:
    """Dedicated mode, one topic."""
    tuned = _TUNED if tuning is Tuning.TUNED else {}
    return dedicated_settings(pair, alias, topic) | {key.format(alias=alias): value for key, value in tuned.items()}


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


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system
