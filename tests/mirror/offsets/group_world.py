"""A fake pair with one flow between, for what a run does with groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any

from airflow_provider_mm2.mirror.flow import ClusterSettings, MirrorFlow
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import Checkpoint, OffsetSync
from airflow_provider_mm2.mirror.offsets.group_report import GroupsReport
from airflow_provider_mm2.mirror.run import RunSummary, locate_groups, mirror_groups, run_mirror
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.fakes.groups import FakeGroup
from tests.fakes.log import Message
from tests.fakes.pair import FakePair

BASE_MS = 1_700_000_000_000
CHECKPOINTS, SYNCS = "us.checkpoints.internal", "mm2-offset-syncs.us.internal"


class Killed(BaseException):
    """The process is gone: nothing catches this."""


class GroupWorld:
    """Topic ``orders`` on ``us``, mirrored to ``us.orders`` on ``eu``."""

    def __init__(self, *, partitions: int = 1, **options: Any) -> None:
        self.pair = FakePair(delivery=options.get("delivery", Delivery.EXACTLY_ONCE))
        self.pair.us.create_topic("orders", partitions)
        settings = {"bootstrap.servers": "nowhere:1"}
        clusters: dict[str, Any] = {
            alias: ClusterSettings(alias=name, settings={**settings})
            for alias, name in (("source", "us"), ("target", "eu"))
        }
        self.flow = MirrorFlow(**{"name": "f", "topics": ("orders.*",), **clusters, **options})

    def produce(self, count: int, *, topic: str = "orders", partition: int = 0) -> None:
        """Write records to the source."""
        messages = [Message(key=b"k", value=b"v", timestamp_ms=BASE_MS + number) for number in range(count)]
        self.pair.us.produce(topic, partition, *messages)

    def commit(self, group: str, offset: int, *, topic: str = "orders", partition: int = 0) -> None:
        """Let a group of the source commit."""
        self.pair.us.commit_offsets(group, {TopicPartition(topic, partition): offset})

    def run(self, **options: Any) -> RunSummary:
        """Run the whole mirror."""
        bounds = RunBounds(until=None, since=None, started=datetime.now(timezone.utc))
        return run_mirror(self.flow.model_copy(update=options), self.pair, bounds=bounds)

    def groups(self, **options: Any) -> GroupsReport:
        """Do only what a run does with groups."""
        return mirror_groups(self.flow.model_copy(update=options), self.pair)

    def locate(self, *only: str, apply: bool = False, **options: Any) -> GroupsReport:
        """Do what ``mm2 groups`` does."""
        return locate_groups(self.flow.model_copy(update=options), self.pair, only=only, apply=apply)

    def checkpoints(self) -> list[tuple[str, int, int, int]]:
        """Every published checkpoint: group, partition, source offset, target offset."""
        found = (Checkpoint.decode(key, value) for key, value in self._records(CHECKPOINTS))
        return [(each.group, each.partition, each.source_offset, each.target_offset) for each in found]

    def syncs(self) -> list[tuple[int, int, int]]:
        """Every published offset sync: partition, source offset, target offset."""
        found = (OffsetSync.decode(key, value) for key, value in self._records(SYNCS))
        return [(each.partition, each.source_offset, each.target_offset) for each in found]

    def _records(self, topic: str) -> list[tuple[bytes | None, bytes | None]]:
        return [(message.key, message.value) for _, message in self.pair.eu.visible(topic, 0)]

    def publish(self, group: str, source_offset: int, target_offset: int) -> None:
        """Write a checkpoint as another writer did."""
        found = Checkpoint(
            group=group, topic="us.orders", partition=0, source_offset=source_offset, target_offset=target_offset
        )
        if CHECKPOINTS not in self.pair.eu.topics:
            self.pair.eu.create_topic(CHECKPOINTS)
        self.pair.eu.produce(CHECKPOINTS, 0, Message(key=found.encode_key(), value=found.encode_value()))

    def target_offsets(self, group: str) -> Mapping[int, int]:
        """What a group has on the mirrored topic, by partition."""
        found = self.pair.eu.groups.get(group, {})
        return {part.partition: offset for part, offset in found.items() if part.topic == "us.orders"}

    def set_target(self, group: str, offset: int, **said: Any) -> None:
        """Let a group on the target have an offset, members, a past."""
        self.pair.eu.commit_offsets(group, {TopicPartition("us.orders", 0): offset})
        self.pair.eu.said[group] = FakeGroup(**said)


class Trapped:
    """A port behind which the process is killed before or after its ``number``-th call that changes something."""

    CHANGES = ("create_topics", "write", "fence", "commit_groups", "delete_group", "commit")

    def __init__(self, inner: Any, count: Callable[[], bool], *, after: bool) -> None:
        self._inner = inner
        self._count = count
        self._after = after

    def __getattr__(self, name: str) -> Any:
        """The port's own attribute; calls that change something are trapped."""
        found = getattr(self._inner, name)
        if name == "state_writer":
            return lambda *args: Trapped(found(*args), self._count, after=self._after)
        return self._trapped(found) if name in self.CHANGES else found

    def _trapped(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def trapped(*args: Any, **kwargs: Any) -> Any:
            hit = self._count()
            if hit and not self._after:
                raise Killed
            answer = call(*args, **kwargs)
            if hit:
                raise Killed
            return answer

        return trapped
