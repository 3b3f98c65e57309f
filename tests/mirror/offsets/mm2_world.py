"""A fake pair that MirrorMaker 2 filled: copies made in order, again after a restart, and the syncs it writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import OffsetSync
from airflow_provider_mm2.mirror.offsets.group_report import GroupsReport
from airflow_provider_mm2.mirror.run import locate_groups
from airflow_provider_mm2.mirror.state.gate import KEY, encode, find_gate
from airflow_provider_mm2.mirror.state_model import Engine
from tests.fakes.log import Message, Outcome
from tests.mirror.offsets.group_world import BASE_MS, GroupWorld

ON_TARGET, ON_SOURCE = "mm2-offset-syncs.us.internal", "mm2-offset-syncs.eu.internal"
SOURCE, TARGET = TopicPartition("orders", 0), TopicPartition("us.orders", 0)


class Mm2World(GroupWorld):
    """Topic ``orders`` on ``us``, copied to ``us.orders`` on ``eu`` by another mirror; our flow never ran.

    :param syncs_on: the alias of the cluster that the offset syncs lie on.
    :param committed: whether the mirror reads committed records only; it does not by default.
    """

    def __init__(self, *, syncs_on: str = "us", committed: bool = False, partitions: int = 1, **options: Any) -> None:
        super().__init__(partitions=partitions, **options)
        self.pair.eu.create_topic("us.orders", partitions, {"cleanup.policy": "compact"})
        self._cluster, self._topic = (self.pair.us, ON_SOURCE) if syncs_on == "us" else (self.pair.eu, ON_TARGET)
        self._committed = committed
        self.copies: list[tuple[int, int]] = []
        """Target offset and source offset of every copy ever made of partition 0, in order."""
        self.aborted: set[int] = set()
        """Source offsets of records that no reader of the source was ever given."""

    def write(self, *values: bytes, keys: Iterable[bytes] = (), aborted: bool | None = None) -> None:
        """Write records of one timestamp: outside a transaction (None), or in one that is aborted or committed."""
        names = [*keys] or [b"k"] * len(values)
        messages = [
            Message(key=key, value=value, timestamp_ms=BASE_MS) for key, value in zip(names, values, strict=True)
        ]
        first = self.pair.us.log(SOURCE).end
        if aborted is None:
            self.pair.us.produce("orders", 0, *messages)
            return
        self.pair.us.transaction("orders", 0, *messages, outcome=Outcome.ABORTED if aborted else Outcome.COMMITTED)
        self.aborted |= set(range(first, first + len(messages))) if aborted else set()

    def numbers(self, count: int) -> None:
        """Write records that all differ."""
        first = self.pair.us.log(SOURCE).end
        self.write(*(b"%d" % number for number in range(first, first + count)))

    def copy(self, start: int, end: int, *, synced: Iterable[int] | None = None, transaction: bool = False) -> None:
        """Copy a range as one life of the mirror's task does, in a transaction or not.

        :param synced: source offsets to write a sync of; the first copied one always has one. None: no others.
        """
        log = self.pair.us.log(SOURCE)
        given = log.visible(start, end) if self._committed else (each for each in log.entries if each.message)
        records = [(each.offset, each.message) for each in given if start <= each.offset < end and each.message]
        first = self.pair.eu.log(TARGET).end
        messages = [message for _, message in records]
        if transaction:
            self.pair.eu.transaction("us.orders", 0, *messages)
        else:
            self.pair.eu.produce("us.orders", 0, *messages)
        made = [(target, source) for target, (source, _) in enumerate(records, first)]
        self.copies += made
        wanted = set(synced or ()) | {source for _, source in made[:1]}
        for target, source in made:
            if source in wanted:
                self.sync(source, target)

    def mirrored_by(self, engine: Engine) -> None:
        """Let an engine mirror the flow, in its file and, where it is on record, there."""
        self.flow = self.flow.model_copy(update={"engine": engine.value})
        record = find_gate(self.pair.target, "f", no_tick)
        if record is not None:
            written = Message(key=KEY, value=encode(replace(record, engine=engine)))
            self.pair.eu.produce(naming.gate_topic("f"), 0, written)

    def sync(self, source_offset: int, target_offset: int, *, topic: str = "orders", partition: int = 0) -> None:
        """Write an offset sync."""
        if self._topic not in self._cluster.topics:
            self._cluster.create_topic(self._topic)
        found = OffsetSync(topic=topic, partition=partition, source_offset=source_offset, target_offset=target_offset)
        self._cluster.produce(self._topic, 0, Message(key=found.encode_key(), value=found.encode_value()))

    def look(self, *, refine: bool = False, **options: Any) -> GroupsReport:
        """Do what ``mm2 groups`` does, ``--refine`` or not."""
        return locate_groups(self.flow.model_copy(update=options), self.pair, refine=refine)

    def at(self, offset: int, *, refine: bool = False, **options: Any) -> dict[str, Any]:
        """The row of a group that stands at an offset of partition 0."""
        self.commit("app", offset)
        rows: list[dict[str, Any]] = self.look(refine=refine, **options).to_json()["groups"]
        (found,) = (row for row in rows if (row["group"], row["partition"]) == ("app", 0))
        return found

    def place(self, offset: int, **options: Any) -> tuple[int | None, bool, str | None]:
        """Where such a group stands after ``--refine``: target offset, whether it is exact, and the reason."""
        row = self.at(offset, refine=True, **options)
        return row["target_offset"], row["exact"], row["reason"]
