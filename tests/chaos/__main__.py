"""``python -m tests.chaos``: mirror runs under faults that a seed chooses, for as many rounds as asked for."""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from pathlib import Path

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.guard import guard_folder
from tests.chaos.blows import BLOWS
from tests.chaos.campaign import Campaign, Report, Result
from tests.chaos.troubles import TROUBLES
from tests.chaos.world import World
from tests.proof.attempt import Start, attempts
from tests.proof.nursery import Nursery


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the rounds; 1 when a reader would have seen anything wrong."""
    options = _options(arguments)
    seed = random.SystemRandom().randrange(1_000_000) if options.seed is None else options.seed
    began = time.monotonic()

    def report(line: str) -> None:
        sys.stdout.write(f"[{time.monotonic() - began:6.0f} s] {line}\n")
        sys.stdout.flush()

    report(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="mm2-chaos-", dir=options.dir) as made:
        guard_folder(Path(made))
        rounds = range(options.first, options.first + options.rounds)
        result = play(Path(made), seed, rounds, report, only=options.only)
        if result.failures and options.keep:
            Path(made).rename(options.keep)
            Path(made).mkdir()
    report(f"seed {seed}: {result.rounds} rounds of a flow, {len(result.failures)} failed; {result.tally}")
    if options.json_out:
        options.json_out.write_text(json.dumps(asdict(result), indent=2) + "\n", encoding="utf-8")
    return 1 if result.failures else 0


def play(folder: Path, seed: int, rounds: Sequence[int], report: Report, *, only: str | None = None) -> Result:
    """Play rounds on a new world in a folder, and leave no process behind."""
    with ExitStack() as stack:
        stack.callback(processes.end, folder, grace_s=0)
        world = World(folder)
        stack.callback(world.stop)
        world.start()
        with attempts_in(folder) as start:
            return Campaign(world, start, seed, report, only=only).run(rounds)


@contextmanager
def attempts_in(folder: Path) -> Iterator[Start]:
    """Give a function that starts attempts in a folder; all are gone at the end."""
    with closing(Nursery(folder)) as nursery, attempts(nursery, folder) as start:
        yield start


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=70, help="each strikes three flows (70)")
    parser.add_argument("--seed", type=int, help="of everything that is chosen; a new one without")
    parser.add_argument("--from", dest="first", type=int, default=0, help="number of the first round (0)")
    parser.add_argument("--only", choices=[*BLOWS, *TROUBLES], help="have this one in every round")
    parser.add_argument("--json-out", type=Path, help="write the numbers to a file")
    parser.add_argument("--dir", help="where the clusters are made; the system's temporary folder without")
    parser.add_argument("--keep", type=Path, help="leave the clusters' folder here after a failure")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
