"""The stage of each case: a topic and a flow of its own on the session's pair, or on clusters of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from airflow_provider_mm2.local.cluster import LocalCluster
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.interval import admission
from airflow_provider_mm2.mirror.state import lease
from tests.cases.scenario import Scenario
from tests.contract.real_lab import RealLab, Settings

MakeScenario = Callable[..., Scenario]
MakeCluster = Callable[..., LocalCluster]


@pytest.fixture
def make_scenario(pair: LocalPair) -> Iterator[MakeScenario]:
    """Make scenarios: ``make_scenario(partitions=3)``, ``make_scenario(strict=True)`` (keys of the flow).

    ``addresses`` puts one on other clusters than the session's pair, ``partitions=0`` creates no topic yet.
    """
    labs: list[RealLab] = []

    def make(
        *,
        addresses: Mapping[str, Settings] | None = None,
        partitions: int = 1,
        settings: Settings | None = None,
        **options: Any,
    ) -> Scenario:
        addresses = addresses or pair.addresses
        lab = RealLab(addresses)
        labs.append(lab)
        topic = f"orders-{lab.new_name()}"
        flow = f"flow-{lab.new_name()}"
        scenario = Scenario(lab, addresses, flow, topic, options.pop("topics", (topic,)), options)
        if partitions:
            scenario.create(partitions=partitions, settings=settings)
        return scenario

    yield make
    for lab in labs:
        lab.close()


@pytest.fixture
def scenario(make_scenario: MakeScenario) -> Scenario:
    """Give a topic of one partition and a flow that mirrors it."""
    return make_scenario()


@pytest.fixture(autouse=True)
def _short_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a verdict be confirmed in half a second instead of five: nobody overtakes the runs of these tests."""
    monkeypatch.setattr(admission, "SECOND_LOOK_S", 0.1)
    monkeypatch.setattr(lease, "WAKE_POLL_S", 0.1)
