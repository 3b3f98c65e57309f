"""Fixtures of the proof: topics known record by record, and attempts that are gone when the test is over."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from tests.proof.attempt import Start, attempts
from tests.proof.nursery import Nursery
from tests.proof.truth import Truth, make_truth

MakeTruth = Callable[..., Truth]

SOAK = os.environ.get("MM2_SOAK") == "1"


@pytest.fixture
def new_truth(pair: LocalPair) -> MakeTruth:
    """Make a topic and a flow on the session's pair: ``new_truth(partitions=2, lease_wait_s=1)``."""
    addresses = pair.addresses

    def make(**settings: Any) -> Truth:
        return make_truth(addresses["source"], addresses["target"], **settings)

    return make


@pytest.fixture(scope="session")
def nursery(_guarded: Path) -> Iterator[Nursery]:
    """Give the process that forks the attempts."""
    made = Nursery(_guarded)
    yield made
    made.close()


@pytest.fixture
def start(nursery: Nursery, kafka_folder: Path) -> Iterator[Start]:
    """Start attempts: ``start(flow, fault=..., owner="second")``; all are gone after the test."""
    with attempts(nursery, kafka_folder) as begin:
        yield begin
