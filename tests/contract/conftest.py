"""The lab that each contract test runs in: the fake one, and the one on real brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from airflow_provider_mm2.mirror.state_model import Delivery
from tests.contract.fake_lab import FakeLab
from tests.contract.lab import Lab, Side
from tests.contract.route import MakeRoute, Route


@pytest.fixture
def delivery() -> Delivery:
    """Give the way of delivery; a module whose tests hold for both says so by a fixture of its own."""
    return Delivery.EXACTLY_ONCE


@pytest.fixture(params=[pytest.param("fake"), pytest.param("real", marks=pytest.mark.broker)])
def lab(request: pytest.FixtureRequest, delivery: Delivery) -> Iterator[Lab]:
    """Give the lab under test."""
    if request.param == "fake":
        yield FakeLab(delivery)
        return
    from tests.contract.real_lab import RealLab

    real = RealLab(request.getfixturevalue("pair").addresses, delivery)
    yield real
    real.close()


@pytest.fixture
def make_route(lab: Lab) -> Iterator[MakeRoute]:
    """Make a topic on both sides, with a flow of its own between."""
    made: list[Route] = []

    def make(
        *,
        partitions: int = 1,
        settings: Mapping[str, str] | None = None,
        target_settings: Mapping[str, str] | None = None,
    ) -> Route:
        topic = lab.new_name()
        route = Route(lab=lab, flow=lab.new_name(), topic=topic, target_topic=f"us.{topic}")
        lab.create_topic(Side.SOURCE, route.topic, partitions=partitions, settings=settings)
        lab.create_topic(Side.TARGET, route.target_topic, partitions=partitions, settings=target_settings)
        made.append(route)
        return route

    yield make
    for route in made:
        route.close()


@pytest.fixture
def route(make_route: MakeRoute) -> Route:
    """Give a topic of one partition on both sides."""
    return make_route()
