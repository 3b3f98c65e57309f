"""A fake pair whose flow fails over and comes home, every record told from the others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.recovery.failback import Failback
from airflow_provider_mm2.mirror.recovery.failback_report import FailbackReport
from airflow_provider_mm2.mirror.recovery.failover import Failover
from airflow_provider_mm2.mirror.recovery.journal import read_recorded
from airflow_provider_mm2.mirror.recovery.steps import Mode, Stage
from airflow_provider_mm2.mirror.reverse_flow import reverse_of
from airflow_provider_mm2.mirror.run import RunSummary, run_mirror
from airflow_provider_mm2.mirror.state.stranded_notes import Stranded
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import Message
from tests.mirror.offsets.group_world import BASE_MS
from tests.mirror.recovery.failover_world import FailoverWorld, no_tick, order


class HomeWorld(FailoverWorld):
    """Records are told apart by their values; each cluster's topic is ``orders``, on ``eu`` by the flow's policy."""

    count = 0

    def produce(self, count: int, *, topic: str = "orders", partition: int = 0) -> None:
        """Write numbered records to the source."""
        self.write(self.pair.us, topic, count, partition)

    def write(self, cluster: FakeCluster, topic: str, count: int, partition: int = 0) -> None:
        """Write numbered records."""
        numbers = range(self.count, self.count + count)
        self.count += count
        messages = [Message(key=b"k", value=b"%d" % each, timestamp_ms=BASE_MS + each) for each in numbers]
        cluster.produce(topic, partition, *messages)

    @property
    def away(self) -> str:
        """The topic's name on ``eu``."""
        return "orders" if self.flow.replication_policy == "identity" else "us.orders"

    def fail_over(self, mode: Mode = Mode.UNPLANNED) -> None:
        """Move to ``eu``."""
        self.failover().start(order(mode), approve=True)

    def failback(self, report: Callable[[str], None] = lambda line: None) -> Failback:
        """Somebody who comes home."""
        return Failback(self.flow, self.pair.turned(), owner="ops", tick=no_tick, report=report)

    def prepare(self, choice: Stranded | None = None) -> FailbackReport:
        """Open the way home."""
        return self.failback().prepare(choice)

    def homeward(self, pair: Any = None) -> Failover:
        """Somebody who fails over on the way home."""
        return Failover(flow=reverse_of(self.flow), pair=pair or self.pair.turned(), owner="ops", tick=no_tick)

    def come_home(self, choice: Stranded | None = None) -> None:
        """All of it."""
        self.prepare(choice)
        self.homeward().start(order(), approve=True)

    def run_home(self) -> RunSummary:
        """One run of the way home."""
        bounds = RunBounds(until=None, since=None, started=datetime.now(timezone.utc))
        return run_mirror(reverse_of(self.flow), self.pair.turned(), bounds=bounds)

    def values(self, cluster: FakeCluster, topic: str) -> list[int]:
        """The numbers that a reader sees."""
        return [int(message.value or b"-1") for _, message in cluster.visible(topic, 0)]

    def home(self) -> list[int]:
        """The numbers on ``us``."""
        return self.values(self.pair.us, "orders")

    def stage_of_the_way(self) -> Stage | None:
        """How far the newest failover of the way home is; None: there was none."""
        home = self.pair.turned().target
        if not home.describe_topics(["mm2-flow.f.reverse.internal"]):
            return None
        failover = read_recorded(home, "f.reverse", no_tick).failover
        return None if failover is None else failover.stage
