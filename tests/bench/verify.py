"""``python -m tests.bench.verify``: how fast a comparison is beside a plain consumer that reads both sides.

A topic is filled and mirrored; then, in turn, both sides are read plainly, compared along the map, and compared by
order. Each is a process of its own on the same two clusters, and reads what the page cache has.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from airflow_provider_mm2.local.pair import LocalPair
from tests.bench.children import run_child
from tests.bench.clusters import running
from tests.bench.loads import LOADS, PARTITIONS, Filler, Load, delete_topic
from tests.bench.ours import target_topic

RECORDS = {"100 B": 8_000_000, "1 kB": 3_000_000, "10 kB": 300_000, "1 kB lz4": 3_000_000}
WAYS = ("plain", "map", "order")


def main(arguments: Sequence[str] | None = None, *, pair: LocalPair | None = None) -> int:
    """Measure and print a table.

    :param pair: runs already; one is started, and ended, without.
    """
    options = _options(arguments)
    rows: list[dict[str, Any]] = []
    with running(pair, options.dir) as (clusters, folder):
        for load in (load for load in LOADS if load.name in options.load):
            sized = replace(load, records=max(2_000, int(RECORDS[load.name] * options.share)))
            rows.append(_measure(clusters, folder, sized, options.rounds))
            _print(rows[-1])
    if options.json_out:
        options.json_out.write_text(json.dumps({"loads": rows, "load_average": os.getloadavg()[0]}, indent=2) + "\n")
    return 0


def _measure(pair: LocalPair, folder: Path, load: Load, rounds: int) -> dict[str, Any]:
    source, target = pair.source.client_settings, pair.target.client_settings
    name = topic = f"verify-{load.slug}-{uuid.uuid4().hex[:6]}"
    Filler(folder, source).fill(topic, load)
    job: dict[str, Any] = {
        "source": source,
        "target": target,
        "topic": topic,
        "target_topic": target_topic(name, topic),
        "partitions": PARTITIONS,
        "value_bytes": load.value_bytes,
        "folder": str(folder),
        "name": name,
    }
    run_child("tests.bench.command", job)
    rates: dict[str, list[float]] = {way: [] for way in WAYS}
    peaks = dict.fromkeys(WAYS, 0)
    for _ in range(rounds):
        for way in WAYS:
            module = "tests.bench.reading" if way == "plain" else "tests.bench.verifying"
            done = run_child(module, {**job, "by_order": way == "order"})
            if done.answer["records"] != load.records:
                raise RuntimeError(f"{way} saw {done.answer['records']} of {load.records} records")
            rates[way].append(done.answer["records"] / done.answer["seconds"])
            peaks[way] = max(peaks[way], done.peak_bytes)
    delete_topic(source, topic)
    delete_topic(target, job["target_topic"])
    medians = {way: statistics.median(each) for way, each in rates.items()}
    return {"load": load.name, "records": load.records, "rates": rates, "medians": medians, "peak_bytes": peaks}


def _print(row: dict[str, Any]) -> None:
    plain = row["medians"]["plain"]
    told = [
        f"{way} {row['medians'][way] / 1000:,.0f} krec/s ({row['medians'][way] / plain:.0%}), "
        f"{row['peak_bytes'][way] / 1e6:,.0f} MB"
        for way in WAYS
    ]
    sys.stdout.write(f"{row['load']}, {row['records']:,} records: {'; '.join(told)}\n")
    sys.stdout.flush()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.verify", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="each measures every way once")
    parser.add_argument("--share", type=float, default=1.0, help="of the records of each load")
    parser.add_argument("--load", nargs="+", choices=list(RECORDS), default=list(RECORDS), help="only these loads")
    parser.add_argument("--dir", type=Path, help="where the clusters keep their data")
    parser.add_argument("--json-out", type=Path, help="write all figures to this file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
