"""The demo itself: load the source, let Airflow run the flow once for each month, read both clusters back."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_mm2.local.demo.errors import AirflowNotReady, RunsFailed
from airflow_provider_mm2.local.demo.flights import Flight
from airflow_provider_mm2.local.demo.log import TopicContent, create_topic, load, read
from airflow_provider_mm2.local.demo.report import all_same, records
from airflow_provider_mm2.local.demo.standalone import AirflowApi, Run, StandaloneAirflow
from airflow_provider_mm2.local.jars import Report
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.local.wait import poll

TOPIC = "flights"
PARTITIONS = 4
DAG_ID = "mm2_mirror__flights"
TARGET_TOPIC = "us.flights"
"""What the shipped flow makes of it: records of the cluster "us", on its stand-by."""

FIRST_MONTH_END = "2013-02-01"
LAST_MONTH_END = "2014-02-01"
"""88 flights left in the first hours of 2014, by universal time."""

LIMIT_OF_A_RUN_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What is on both clusters, what each run said it had mirrored, and how long the runs took."""

    source: TopicContent
    target: TopicContent
    mirrored: list[int]
    seconds: float

    @property
    def exact(self) -> bool:
        """Whether both sides are the same, and the runs say so too."""
        return all_same(self.source, self.target) and sum(self.mirrored) == records(self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Year:
    """A mirrored year, with everything still up."""

    outcome: Outcome
    airflow: StandaloneAirflow
    pair: LocalPair


@contextmanager
def mirrored_year(folder: Path, flights: Sequence[Flight], *, first: str, last: str, report: Report) -> Iterator[Year]:
    """Start two clusters and an Airflow, mirror month by month, compare; stop everything at the end.

    :param folder: everything is kept in it.
    :param first: day of the first run, a first of a month.
    :param last: day of the last run.
    :raises MirrorError: a step failed.
    """
    report("starting two Kafka clusters")
    with LocalPair(folder / "pair") as pair:
        source, target = pair.addresses["source"], pair.addresses["target"]
        with demo_airflow(folder, source, target) as airflow:
            report(f"starting Airflow, and loading {len(flights):,} flights into the source meanwhile")
            load_source(source, flights)
            with closing(airflow.wait_ready()) as api:
                report("Airflow is up: asking it for one run for each month")
                began = time.monotonic()
                mirrored = run_months(airflow, api, first=first, last=last, report=report)
                seconds = time.monotonic() - began
            report("reading both clusters back")
            content = {"source": read(source, TOPIC), "target": read(target, TARGET_TOPIC)}
            yield Year(outcome=Outcome(**content, mirrored=mirrored, seconds=seconds), airflow=airflow, pair=pair)


def demo_airflow(folder: Path, source: Mapping[str, str], target: Mapping[str, str]) -> StandaloneAirflow:
    """Give an Airflow, not started, whose folder of DAGs is what ``mm2 init`` writes, and that knows both clusters."""
    settings = {
        "MM2_SOURCE": source["bootstrap.servers"],
        "MM2_TARGET": target["bootstrap.servers"],
        # The DAG has a schedule: only the runs of the past year are wanted here, none for today.
        "AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False",
    }
    airflow = StandaloneAirflow(folder, settings=settings)
    init = [sys.executable, "-m", "airflow_provider_mm2.cli.main", "init", str(airflow.dags_folder)]
    subprocess.run(init, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - a command of our own, no shell
    return airflow


def load_source(source: Mapping[str, str], flights: Sequence[Flight]) -> None:
    """Create the topic and write every flight to it."""
    # The flights are of 2013: with a retention of seven days the broker would delete them within minutes.
    create_topic(source, TOPIC, partitions=PARTITIONS, config={"retention.ms": "-1"})
    load(source, TOPIC, flights)


def run_months(airflow: StandaloneAirflow, api: AirflowApi, *, first: str, last: str, report: Report) -> list[int]:
    """Run the flow's DAG once for each month end between two dates, one after the other.

    :returns: how many records each run mirrored, by its own account.
    :raises AirflowNotReady: a run took too long.
    :raises RunsFailed: a run did not succeed.
    """
    api.wait_for_dag(DAG_ID)
    api.backfill(DAG_ID, first=f"{first}T00:00:00Z", last=f"{last}T00:00:00Z")
    mirrored: list[int] = []
    while True:
        began = time.monotonic()
        runs = _when_ended(airflow, api, len(mirrored) + 1)
        failed = tuple(f"{run.date}: {run.state}" for run in runs if run.state == "failed")
        if failed:
            raise RunsFailed(dag_id=DAG_ID, states=failed, log_folder=airflow.home / "logs")
        ended = [run for run in runs if run.ended]
        for run in ended[len(mirrored) :]:
            mirrored.append(api.result(DAG_ID, run, "finish")["records"])
            seconds = time.monotonic() - began
            report(
                f"run {len(mirrored):2} of {len(runs)}: {mirrored[-1]:6,} records before {run.date}, {seconds:.1f} s"
            )
        if ended[-1].date == last:
            return mirrored


def _when_ended(airflow: StandaloneAirflow, api: AirflowApi, count: int) -> list[Run]:
    """Wait until so many runs have ended; give all."""
    runs: list[Run] = []

    def another() -> bool:
        runs[:] = api.runs(DAG_ID)
        return sum(run.ended for run in runs) >= count

    if not poll(another, timeout_s=LIMIT_OF_A_RUN_S, interval_s=0.3):
        reason = ", ".join(f"{run.date}: {run.state}" for run in runs)
        what = f"the end of run {count} of {DAG_ID}"
        raise AirflowNotReady(what=what, timeout_s=LIMIT_OF_A_RUN_S, reason=reason, log_file=airflow.log_file)
    return runs
