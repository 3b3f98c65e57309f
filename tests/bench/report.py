"""What was measured, as a table for people and as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import confluent_kafka

from airflow_provider_mm2.local.jars import KAFKA_VERSION
from tests.bench.compare import Compared, Copy
from tests.bench.memory import Footprint
from tests.bench.peer import Steady, Tuning


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A whole benchmark; ``load_average`` tells how busy the machine was before, by others."""

    loads: tuple[Compared, ...]
    footprints: tuple[Footprint, ...]
    seconds: float
    load_average: float

    def to_json(self) -> dict[str, Any]:
        """All figures as plain values, with where they come from."""
        return {
            "machine": machine_json(self.load_average),
            "loads": [_load_json(load) for load in self.loads],
            "footprints": [asdict(footprint) for footprint in self.footprints],
            "seconds": round(self.seconds, 1),
        }

    def lines(self) -> Iterator[str]:
        """The table."""
        yield _HEAD
        for load in self.loads:
            yield from _load_lines(load)
        for footprint in self.footprints:
            yield (
                f"mm2 run, {footprint.records:,} records of 100 B: peak {footprint.peak_bytes / 1e6:.0f} MB; again, "
                f"with nothing to copy: {footprint.empty_s:.2f} s, its process {footprint.empty_total_s:.2f} s"
            )
        yield f"all of it in {self.seconds / 60:.1f} minutes; load average before it {self.load_average:.1f}"


def machine_json(load_average: float) -> dict[str, Any]:
    """Where figures come from."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load_average_before": load_average,
        "system": platform.platform(),
        "python": platform.python_version(),
        "confluent_kafka": confluent_kafka.version(),
        "librdkafka": confluent_kafka.libversion()[0],
        "kafka": KAFKA_VERSION,
    }


_HEAD = f"{'load':<10}{'who':<14}{'records/s':>12}{'MB/s':>8}{'copy s':>8}{'CPU s':>8}{'us/record':>11}{'peak MB':>9}"


def _load_json(compared: Compared) -> dict[str, Any]:
    return {
        "load": compared.load.name,
        "value_bytes": compared.load.value_bytes,
        "codec": compared.load.codec,
        "records": compared.load.records,
        "ours": [asdict(copy) for copy in compared.ours],
        "plain": [asdict(copy) for copy in compared.plain],
        **{f"mm2_{tuning.value}": asdict(steady) for tuning, steady in compared.peers.items()},
        "ratios": {
            "ours/plain": round(compared.to_plain, 3),
            **{f"ours/mm2_{tuning.value}": _rounded(compared.to_peer(tuning)) for tuning in Tuning},
        },
    }


def _rounded(ratio: float | None) -> float | None:
    return None if ratio is None else round(ratio, 2)


def _load_lines(compared: Compared) -> Iterator[str]:
    size = compared.load.value_bytes
    yield f"{compared.load.name:<10}{_line('ours', size, compared.ours)}"
    yield f"{'':<10}{_line('plain loop', size, compared.plain)}"
    for tuning, steady in compared.peers.items():
        yield f"{'':<10}{_line(f'MM2 {tuning.value}', size, [steady])}"
    ratios = {f"ours / MM2 {tuning.value}": compared.to_peer(tuning) for tuning in Tuning}
    shown = [f"{name} {ratio:.1f}" for name, ratio in ratios.items() if ratio is not None]
    yield f"{'':<10}{', '.join([f'ours / plain {compared.to_plain:.2f}', *shown])}"


def _line(who: str, value_bytes: int, runs: Sequence[Copy | Steady]) -> str:
    """Medians; MirrorMaker 2's seconds and CPU are those of the time it was looked at."""
    rate = median(run.records / run.seconds for run in runs)
    seconds, cpu = median(run.seconds for run in runs), median(run.cpu_s for run in runs)
    each = median(run.cpu_s / max(1, run.records) for run in runs)
    peak = max(run.peak_bytes for run in runs)
    return (
        f"{who:<14}{rate:>12,.0f}{rate * value_bytes / 1e6:>8.1f}{seconds:>8.1f}{cpu:>8.1f}{each * 1e6:>11.2f}"
        f"{peak / 1e6:>9.0f}"
    )
