"""The pair: ``ClusterPair`` for the code under test, two ``FakeCluster`` and a clock for the test itself."""

from __future__ import annotations

from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Copier, TargetCluster
from airflow_provider_mm2.mirror.model import CopierSettings
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.fakes.clock import FakeClock
from tests.fakes.cluster import FakeCluster
from tests.fakes.copier import FakeCopier
from tests.fakes.hooks import Hooks
from tests.fakes.reader import FakeReader, FakeTarget


class FakePair:
    """``source`` and ``target`` are the Protocols, ``us`` and ``eu`` the clusters behind them."""

    def __init__(
        self, source_alias: str = "us", target_alias: str = "eu", delivery: Delivery = Delivery.EXACTLY_ONCE
    ) -> None:
        self.clock = FakeClock()
        self.hooks = Hooks()
        self.us = FakeCluster(source_alias, self.clock)
        self.eu = FakeCluster(target_alias, self.clock)
        self.source: ClusterReader = FakeReader(self.us)
        self.deliver(delivery)

    def deliver(self, delivery: Delivery) -> None:
        """Make target and copiers of this kind from now on, as the pair of a flow that was changed has them."""
        self.delivery = delivery
        self.target: TargetCluster = FakeTarget(self.eu, delivery)

    def copier(self, settings: CopierSettings) -> Copier:
        """A copy engine for one shard."""
        return FakeCopier(settings, self.us, self.eu, self.hooks, self.delivery)

    def turned(self) -> FakePair:
        """The same clusters, the other way round."""
        other = FakePair.__new__(FakePair)
        other.clock, other.hooks = self.clock, self.hooks
        other.us, other.eu = self.eu, self.us
        other.source = FakeReader(other.us)
        other.deliver(self.delivery)
        return other

    def close(self) -> None:
        """Nothing to let go."""
