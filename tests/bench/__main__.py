"""``python -m tests.bench``: start a local pair, measure, print a table, write JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from airflow_provider_mm2.local.guard import guard_folder
from airflow_provider_mm2.local.pair import LocalPair
from tests.bench.compare import Compared, Comparison, Plan
from tests.bench.loads import LOADS
from tests.bench.memory import measure_footprint
from tests.bench.peer import Tuning
from tests.bench.report import Measured

SOURCE = {"log.segment.delete.delay.ms": "1000"}
TARGET = {
    **SOURCE,
    "log.segment.bytes": "67108864",
    "log.retention.bytes": "268435456",
    "log.retention.check.interval.ms": "1000",
}
"""The target forgets what is older than 256 MB a partition: else a disk that is slower than the copy is measured."""

FULL: dict[str, object] = {"share": 1.0, "rounds": 3, "footprint": [300_000, 3_000_000]}
QUICK: dict[str, object] = {"share": 0.02, "rounds": 1, "footprint": [30_000]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the options say."""
    options = _options(arguments)
    began, load_average = time.monotonic(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="mm2-bench-", dir=options.dir) as folder:
        guard_folder(Path(folder))
        with LocalPair(Path(folder) / "pair", source_properties=SOURCE, target_properties=TARGET) as pair:
            loads = _measure_loads(pair, options, began + options.minutes * 60)
            footprints = tuple(
                measure_footprint(pair, replace(LOADS[0], records=records)) for records in options.footprint
            )
    seconds = time.monotonic() - began
    measured = Measured(loads=loads, footprints=footprints, seconds=seconds, load_average=load_average)
    sys.stdout.write("\n".join(measured.lines()) + "\n")
    if options.json_out:
        options.json_out.write_text(json.dumps(measured.to_json(), indent=2) + "\n", encoding="utf-8")
    return 0


def _measure_loads(pair: LocalPair, options: argparse.Namespace, end_at: float) -> tuple[Compared, ...]:
    loads = [load.sized(options.share) for load in LOADS if load.name in options.load]
    comparison = Comparison(pair, _plan(options), _report)
    done: list[Compared] = []
    for number, load in enumerate(loads):
        now = time.monotonic()
        done.append(comparison.compare(load, end_at=now + (end_at - now - 60) / (len(loads) - number)))
    return tuple(done)


def _plan(options: argparse.Namespace) -> Plan:
    if options.quick:
        return Plan(rounds=options.rounds, peers={"1 kB": [Tuning.TUNED]}, peer_s=5, count=True)
    peers = {load.name: list(Tuning) for load in LOADS}
    return Plan(rounds=options.rounds, peers=peers, peer_s=20, count=False)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    names = [load.name for load in LOADS]
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small topics, one round, every copy counted")
    parser.add_argument("--share", type=float, help="share of each load's records that is used")
    parser.add_argument("--load", nargs="+", choices=names, help="only these loads")
    parser.add_argument("--rounds", type=int, help="of this mirror and the plain loop, where time allows")
    parser.add_argument("--footprint", type=int, nargs="*", help="sizes of the topics peak memory is measured with")
    parser.add_argument("--minutes", type=float, default=19, help="when to leave out further rounds")
    parser.add_argument("--dir", type=Path, help="where the clusters keep their data, about 10 GB")
    parser.add_argument("--json-out", type=Path, help="write all figures to this file")
    parser.set_defaults(load=names, **FULL)
    if parser.parse_args(arguments).quick:
        parser.set_defaults(**QUICK)
    return parser.parse_args(arguments)


def _report(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
