"""The demo from end to end on a cut sample: two real clusters, a real Airflow with its scheduler and REST API."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.demo.flights import flights_of
from airflow_provider_mm2.local.demo.report import records
from airflow_provider_mm2.local.demo.year import mirrored_year
from tests.data import FLIGHTS_SAMPLE

pytestmark = [pytest.mark.broker, pytest.mark.airflow]


def test_a_backfill_mirrors_each_month_once(kafka_folder: Path) -> None:
    """The shipped DAG, run for four month ends, mirrors every record once; no process stays behind."""
    flights = flights_of(FLIGHTS_SAMPLE)
    with mirrored_year(kafka_folder, flights, first="2013-11-01", last="2014-02-01", report=print) as year:
        assert year.outcome.exact
        assert records(year.outcome.target) == len(flights)
        assert year.outcome.mirrored == [1675, 163, 166, 6]
        assert processes.find(kafka_folder)
    assert processes.find(kafka_folder) == []
