"""A fake pair whose records tell their offsets, for what becomes of progress that is set or does not fit."""

from __future__ import annotations

from airflow_provider_mm2.mirror.incident_model import IncidentKind
from airflow_provider_mm2.mirror.interval.seeding import SeedReport
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.seed import Seed
from airflow_provider_mm2.mirror.run import seed_progress
from airflow_provider_mm2.mirror.state.incidents import read_incidents
from tests.fakes.log import Message
from tests.mirror.offsets.group_world import BASE_MS, GroupWorld

GROUP = "mm2.f.progress"
KEPT = {"retention.ms": "-1"}


class SeedWorld(GroupWorld):
    """Topic ``orders`` on ``us``; records with values that tell their offset."""

    def __init__(self, *, partitions: int = 1) -> None:
        super().__init__(partitions=partitions)
        self.make_anew(partitions)

    def make_anew(self, partitions: int = 1) -> None:
        """Delete the source topic and create it again; its records are old, so it keeps them for ever."""
        self.pair.us.delete_topic("orders")
        self.pair.us.create_topic("orders", partitions, KEPT)

    def write(self, count: int, *, partition: int = 0, first: int = 0) -> None:
        """Write records to the source, one a second."""
        self.pair.us.produce("orders", partition, *self.numbered(count, first))

    @staticmethod
    def numbered(count: int, first: int = 0) -> list[Message]:
        """Records that differ from one another."""
        numbers = range(first, first + count)
        return [Message(key=b"k", value=b"%d" % number, timestamp_ms=BASE_MS + number * 1000) for number in numbers]

    def seed(self, text: str, *, topics: tuple[str, ...] = (), force: bool = False, apply: bool = True) -> SeedReport:
        """Do what ``mm2 seed`` does."""
        return seed_progress(
            self.flow, self.pair, Seed.parse(text), topics=topics, force=force, apply=apply, owner="me"
        )

    def values(self, partition: int = 0) -> list[int]:
        """What a reader of the target is given."""
        return [int(message.value or b"") for _, message in self.pair.eu.visible("us.orders", partition)]

    def values_from(self, offset: int) -> list[int]:
        """What a reader is given from an offset on."""
        return [int(message.value or b"") for at, message in self.pair.eu.visible("us.orders", 0) if at >= offset]

    def progress(self, partition: int = 0) -> int | None:
        """What the progress group has."""
        return self.pair.eu.groups.get(GROUP, {}).get(TopicPartition("us.orders", partition))

    def copy_by_hand(self, *messages: Message, partition: int = 0) -> None:
        """Let another tool write to the target."""
        if "us.orders" not in self.pair.eu.topics:
            self.pair.eu.create_topic("us.orders", len(self.pair.us.topics["orders"].logs), KEPT)
        self.pair.eu.produce("us.orders", partition, *messages)

    def incidents(self) -> list[tuple[IncidentKind, int, int, int | None]]:
        """What is on record."""
        found = read_incidents(self.pair.target, "f", lambda: None)
        return [(each.kind, each.start, each.end, each.records) for each in found]
