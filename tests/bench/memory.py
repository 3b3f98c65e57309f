"""What does not grow with the topic: peak memory of ``mm2 run``, and the seconds of one with nothing to copy."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_mm2.local.pair import LocalPair
from tests.bench.children import run_child
from tests.bench.loads import Filler, Load, delete_topic
from tests.bench.ours import target_topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """One topic: its records, the peak memory of the ``mm2 run`` that copied it, and what a second one took.

    ``empty_s`` is the second run itself, ``empty_total_s`` its process from start to exit.
    """

    records: int
    peak_bytes: int
    empty_s: float
    empty_total_s: float


def measure_footprint(pair: LocalPair, load: Load) -> Footprint:
    """Copy a topic, run again, delete both.

    :raises RuntimeError: the copy is not whole, or the second run found something to copy.
    """
    topic, name = f"footprint-{load.records}", f"footprint{load.records}"
    source, target = pair.source.client_settings, pair.target.client_settings
    Filler(pair.folder, source).fill(topic, load)
    job = {"source": source, "target": target, "topic": topic, "name": name, "folder": str(pair.folder)}
    first, second = (run_child("tests.bench.command", job) for _ in range(2))
    copied = [first.answer["records"], second.answer["records"]]
    if copied != [load.records, 0]:
        raise RuntimeError(f"{topic}: {load.records} records to copy, {copied} copied by two runs")
    delete_topic(source, topic)
    delete_topic(target, target_topic(name, topic))
    return Footprint(
        records=load.records,
        peak_bytes=first.peak_bytes,
        empty_s=second.answer["seconds"],
        empty_total_s=second.wall_s,
    )
