"""The demo from end to end on a cut sample: two real clusters, a real Airflow with its scheduler and REST API."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.demo.flights import flights_of
from airflow_provider_mm2.local.demo.report import records
from airflow_provider_mm2.local.demo.year import mirrored_year
from tests.data import FLIGHTS_SAMPLE

pytestmark = [pytest.mark.broker, pytest.mark.airflow]


def members(session: int) -> list[str]:
    """Give the command lines of a session's processes: all that Airflow started, whatever they call themselves."""
    found = []
    for process in psutil.process_iter():
        with suppress(OSError, psutil.Error):  # it ended meanwhile
            if os.getsid(process.pid) == session and processes.alive(process):
                found.append(" ".join(process.cmdline()))
    return found


@pytest.mark.slow
def test_a_backfill_mirrors_each_month_once(kafka_folder: Path) -> None:
    """The shipped DAG, run for four month ends, mirrors every record once; no process stays behind."""
    flights = flights_of(FLIGHTS_SAMPLE)
    with mirrored_year(kafka_folder, flights, first="2013-11-01", last="2014-02-01", report=print) as year:
        assert year.outcome.exact
        assert records(year.outcome.target) == len(flights)
        assert year.outcome.mirrored == [1675, 163, 166, 6]
        session = os.getsid(year.airflow.pid)
        assert len(members(session)) > 5
    assert members(session) == []
    assert processes.find(kafka_folder) == []
