"""Data files of the tests; ``README.md`` says where they come from and under which licence."""

from __future__ import annotations

from pathlib import Path

FLIGHTS_SAMPLE = Path(__file__).parent / "flights_sample.csv"
