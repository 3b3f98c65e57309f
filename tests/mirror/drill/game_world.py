"""A fake pair with a flow that has mirrored, and game days of it."""

from __future__ import annotations

from typing import Any

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.drill.game_day import GameDay
from airflow_provider_mm2.mirror.drill.game_plan import GameDayOrder
from airflow_provider_mm2.mirror.drill.report import DrillReport
from tests.fakes.applications import FakeCopyReaders
from tests.fakes.cluster import FakeCluster
from tests.mirror.recovery.failover_world import FailoverWorld, no_tick


def everything(cluster: FakeCluster) -> dict[str, Any]:
    """All that a cluster holds: topics with what is in them, groups with their offsets, access rules."""
    return {
        "topics": {
            name: (
                topic.topic_id,
                dict(topic.settings),
                [(log.start, log.end, list(log.entries)) for log in topic.logs],
            )
            for name, topic in cluster.topics.items()
        },
        "groups": {name: dict(offsets) for name, offsets in cluster.groups.items() if offsets},
        "acls": set(cluster.acls or ()),
    }


class GameWorld(FailoverWorld):
    """100 records in two runs, group ``app`` at 60 and ``idle`` at 100."""

    def game_day(self, pair: Any = None, readers: Any = None, *, tick: Tick = no_tick, **order: Any) -> DrillReport:
        """Hold one."""
        at_work = GameDay(
            self.flow,
            pair or self.pair,
            readers or FakeCopyReaders(self.pair.eu),
            owner="ops",
            tick=tick,
            report=lambda line: None,
        )
        return at_work.run(GameDayOrder(**order))

    def there(self) -> dict[str, Any]:
        """All that both clusters hold."""
        return {"us": everything(self.pair.us), "eu": everything(self.pair.eu)}
