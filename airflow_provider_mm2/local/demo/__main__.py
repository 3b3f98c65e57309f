"""``python -m airflow_provider_mm2.local.demo``: show on this machine, in about a minute, that the mirror is exact."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

from airflow_provider_mm2.local.demo.flights import installed_flights
from airflow_provider_mm2.local.demo.report import comparison_table, months_table, records
from airflow_provider_mm2.local.demo.standalone import USER
from airflow_provider_mm2.local.demo.year import (
    FIRST_MONTH_END,
    LAST_MONTH_END,
    TARGET_TOPIC,
    Outcome,
    Year,
    mirrored_year,
)
from airflow_provider_mm2.local.guard import guard_folder
from airflow_provider_mm2.mirror.errors import MirrorError


class Say:
    """Write lines to standard output, each with the seconds since the start."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self, line: str) -> None:
        """Write one line of progress."""
        self.plain(f"{time.monotonic() - self._began:5.1f} s  {line}")

    def plain(self, text: str) -> None:
        """Write text as it is."""
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


def main() -> int:
    """Run the demo in a temporary folder; the folder stays when something went wrong.

    :returns: 0 when both clusters hold the same, 1 when not, the error's own code when a step failed.
    """
    parser = argparse.ArgumentParser(prog="python -m airflow_provider_mm2.local.demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave Airflow's page and the clusters up until Ctrl-C")
    keep: bool = parser.parse_args().keep
    signal.signal(signal.SIGTERM, _leave)
    say = Say()
    folder = Path(tempfile.mkdtemp(prefix="mm2-demo-"))
    guard_folder(folder)
    try:
        code = run(folder, say, keep=keep)
    except MirrorError as error:
        say.plain(f"\n{error}\n  Logs: {folder}")
        return error.exit_code
    except KeyboardInterrupt:
        say.plain("\nstopped")
        code = 130
    if code:
        say.plain(f"the logs are in {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return code


def run(folder: Path, say: Say, *, keep: bool) -> int:
    """Mirror the year, print what is on both clusters, stop everything."""
    flights = installed_flights()
    with mirrored_year(folder, flights, first=FIRST_MONTH_END, last=LAST_MONTH_END, report=say) as year:
        code = tell(year.outcome, say)
        if keep:
            stay(year, say)
    say("everything stopped" + ("" if keep else "; `make demo KEEP=1` leaves Airflow's page open"))
    return code


def tell(outcome: Outcome, say: Say) -> int:
    """Print the tables and the verdict; give the exit code."""
    say.plain(f"\n{months_table(TARGET_TOPIC, outcome.target)}\n")
    say.plain(comparison_table(outcome.source, outcome.target))
    if not outcome.exact:
        say.plain(f"\nMISMATCH: the runs mirrored {outcome.mirrored} records, and the two clusters hold the above\n")
        return 1
    say.plain(
        f"\n{records(outcome.target):,} records in {len(outcome.mirrored)} runs and {outcome.seconds:.0f} s: each is on"
        " the target once, in order,\nwith its key, value, headers and timestamp.\n"
    )
    return 0


def stay(year: Year, say: Say) -> None:
    """Leave everything up until Ctrl-C."""
    say.plain(f"Airflow: {year.airflow.url}  (user {USER}, password {year.airflow.password})")
    for name, settings in year.pair.addresses.items():
        say.plain(f"{name}: {settings['bootstrap.servers']}")
    say.plain("Ctrl-C stops everything.")
    try:
        signal.pause()
    except KeyboardInterrupt:
        say.plain("")


def _leave(_number: int, _frame: object) -> NoReturn:
    """End as Ctrl-C does, so that everything is stopped."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
