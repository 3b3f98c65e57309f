"""A fake pair with a flow that has mirrored, and what a failover of it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.recovery.failover import Failover
from airflow_provider_mm2.mirror.recovery.record import Order
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.mirror.state.gate import read_gate
from airflow_provider_mm2.mirror.state_model import ActiveSide, FlowRecord
from tests.mirror.offsets.group_world import GroupWorld


def no_tick() -> None:
    """Let it wait."""


class NoSource:
    """A source that must not be spoken to."""

    def __getattr__(self, name: str) -> Any:
        """Fail whatever is asked."""
        raise AssertionError(f"the source was asked for {name}")


class PairWithout:
    """A pair whose source nobody may ask for."""

    def __init__(self, world: GroupWorld) -> None:
        self.target = world.pair.target
        self.source: Any = NoSource()

    def copier(self, settings: Any) -> Any:
        """Nothing is copied."""
        raise AssertionError("nothing is copied")

    def close(self) -> None:
        """Nothing to let go."""


def order(mode: Mode = Mode.PLANNED, **options: Any) -> Order:
    """An order that waits for nothing."""
    return Order(mode=mode, **{"quiet_s": 0, "stop_wait_s": 0, **options})


class FailoverWorld(GroupWorld):
    """100 records in two runs, group ``app`` at 60 and ``idle`` at 100; ``app`` once read 10 on the target."""

    def __init__(self, *, first_kept: int = 0, **options: Any) -> None:
        super().__init__(**options)
        self.produce(50)
        self.pair.us.advance_log_start("orders", 0, first_kept)
        self.run()
        self.produce(50)
        self.commit("app", 60)
        self.commit("idle", 100)
        self.run()

    def failover(self, pair: Any = None, owner: str = "ops") -> Failover:
        """Somebody who fails over."""
        return Failover(flow=self.flow, pair=pair or self.pair, owner=owner, tick=no_tick)

    def unplanned(self, owner: str = "ops") -> Failover:
        """Somebody who fails over without a source."""
        return self.failover(PairWithout(self), owner)

    @staticmethod
    def die(line: str, where: str) -> None:
        """End the process when it says that it begins a step."""
        if line.startswith(where):
            raise RuntimeError(line)

    def gate(self) -> FlowRecord:
        """The flow record."""
        found = read_gate(self.pair.target, "f", no_tick)
        assert found is not None
        return found

    def is_runnable(self) -> bool:
        """Whether a mirror run may start."""
        gate = self.gate()
        return not gate.frozen and gate.active_side is ActiveSide.SOURCE

    def offsets(self) -> dict[str, Mapping[TopicPartition, int]]:
        """All that applications have committed on the target."""
        return {
            name: dict(found) for name, found in self.pair.eu.groups.items() if not name.startswith("mm2.") and found
        }
