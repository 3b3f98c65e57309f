"""The stage of each case: a topic and a flow of its own on the session's pair, or on clusters of its own."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_mm2.local.cluster import LocalCluster
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.interval import admission
from airflow_provider_mm2.mirror.state import lease
from tests.cases.group_stage import GroupStage
from tests.cases.scenario import Scenario
from tests.contract.real_lab import RealLab, Settings

MakeScenario = Callable[..., Scenario]
MakeStage = Callable[..., GroupStage]
MakeCluster = Callable[..., LocalCluster]


@pytest.fixture
def make_scenario(pair: LocalPair) -> Iterator[MakeScenario]:
    """Make scenarios: ``make_scenario(partitions=3)``, ``make_scenario(strict=True)`` (keys of the flow).

    ``addresses`` puts one on other clusters than the session's pair, ``partitions=0`` creates no topic yet, ``alias``
    is the source's and part of the names of MirrorMaker 2's topics, which all flows from one source share.
    """
    labs: list[RealLab] = []
    others: list[object] = []

    def make(
        *,
        addresses: Mapping[str, Settings] | None = None,
        partitions: int = 1,
        settings: Settings | None = None,
        alias: str = "us",
        **options: Any,
    ) -> Scenario:
        if addresses is not None:
            others.append(addresses)
        addresses = addresses or pair.addresses
        lab = RealLab(addresses)
        labs.append(lab)
        topic = f"orders-{lab.new_name()}"
        flow = f"flow-{lab.new_name()}"
        scenario = Scenario(lab, addresses, flow, topic, options.pop("topics", (topic,)), options, alias)
        if partitions:
            scenario.create(partitions=partitions, settings=settings)
        return scenario

    yield make
    for lab in labs:
        lab.close()
    if others:
        labs.clear()
        gc.collect()  # clients of a cluster that ends with the test: they would write of it for ever


ODD = {"auto.create.topics.enable": "true", "num.partitions": "4", "transaction.max.timeout.ms": "20000"}


@pytest.fixture(scope="session")
def odd_cluster(_guarded: Path) -> Iterator[LocalCluster]:
    """Give a third cluster: it creates a topic for whoever asks, with 4 partitions, and ends transactions after 20 s.

    One for all tests of a worker, since a broker takes long to start.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    cluster = LocalCluster(_guarded / f"odd-{worker}", properties=ODD).start()
    yield cluster
    cluster.stop()


@pytest.fixture
def scenario(make_scenario: MakeScenario) -> Scenario:
    """Give a topic of one partition and a flow that mirrors it."""
    return make_scenario()


@pytest.fixture
def make_stage(make_scenario: MakeScenario) -> Iterator[MakeStage]:
    """Make scenarios with consumer groups of their own: takes what ``make_scenario`` does."""
    stages: list[GroupStage] = []

    def make(**settings: Any) -> GroupStage:
        stages.append(GroupStage(make_scenario(**settings)))
        return stages[-1]

    yield make
    for stage in stages:
        stage.close()


@pytest.fixture(autouse=True)
def _short_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a verdict be confirmed in half a second instead of five: nobody overtakes the runs of these tests."""
    monkeypatch.setattr(admission, "SECOND_LOOK_S", 0.1)
    monkeypatch.setattr(lease, "WAKE_POLL_S", 0.1)
