"""A fake pair with a mirrored topic, in which a test plants what a comparison has to find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import Tick, no_tick
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.verify.compare import verify_flow
from airflow_provider_mm2.mirror.verify.findings import Mismatch
from airflow_provider_mm2.mirror.verify.report import VerifyReport
from airflow_provider_mm2.mirror.verify.scope import VerifyOrder
from tests.fakes.log import Message, PartitionLog
from tests.mirror.offsets.group_world import BASE_MS, GroupWorld

ORDERS, COPY = TopicPartition("orders", 0), TopicPartition("us.orders", 0)

Edit = Callable[[list[Message]], list[Message]]


def message(number: int, **fields: Any) -> Message:
    """A record like no other."""
    given: dict[str, Any] = {
        "key": b"k%d" % number,
        "value": b"v%d" % number,
        "headers": (("a", b"1"), ("b", b"%d" % number)),
        "timestamp_ms": BASE_MS + number,
    }
    return Message(**{**given, **fields})


class VerifyWorld(GroupWorld):
    """Topic ``orders``; what is written is told by numbers."""

    def write(self, start: int, end: int) -> None:
        """Write records ``start`` to ``end`` (not included) to the source."""
        self.pair.us.produce("orders", 0, *(message(number) for number in range(start, end)))

    def mirrored(self, *counts: int) -> VerifyWorld:
        """So many records in runs of so many each."""
        written = 0
        for count in counts:
            self.write(written, written + count)
            written += count
            self.run()
        return self

    def plant(self, edit: Edit) -> None:
        """Let the target hold other records than were mirrored, at the offsets that follow; markers stay behind."""
        log = self.target_log
        records = [entry.message for entry in log.entries if entry.message is not None]
        made = PartitionLog()
        for each in edit(list(records)):
            made.append(each)
        made.end = max(log.end, made.end)
        self.pair.eu.topics[COPY.topic].logs[0] = made

    def plant_runs(self, edit: Callable[[list[list[Message]]], list[list[Message]]]) -> None:
        """Let the target hold other records than were mirrored, each run's with its marker behind them.

        What records are moved by, markers are moved by too: so it is where somebody else has written them anew.
        """
        log = self.target_log
        runs: list[list[Message]] = [[]]
        for before, entry in zip([None, *log.entries], log.entries, strict=False):
            if entry.message is None:
                continue
            if before is not None and (before.message is None or entry.offset > before.offset + 1):
                runs.append([])
            runs[-1].append(entry.message)
        made = PartitionLog()
        for run in edit([each for each in runs if each]):
            for each in run:
                made.append(each)
            made.end += 1
        self.pair.eu.topics[COPY.topic].logs[0] = made

    def edit_at(self, offset: int, **fields: Any) -> None:
        """Change one record of the target where it lies."""
        entries = self.target_log.entries
        place = next(place for place, entry in enumerate(entries) if entry.offset == offset)
        entry = entries[place]
        assert entry.message is not None
        entries[place] = replace(entry, message=replace(entry.message, **fields))

    @property
    def target_log(self) -> PartitionLog:
        """The mirrored partition's log."""
        return self.pair.eu.log(COPY)

    @property
    def source_log(self) -> PartitionLog:
        """The source's."""
        return self.pair.us.log(ORDERS)

    def compact(self, *, source: bool = False, target: bool = False) -> None:
        """Make topics compacted and let the cleaner pass."""
        for wanted, cluster, part in ((source, self.pair.us, ORDERS), (target, self.pair.eu, COPY)):
            if wanted:
                cluster.topics[part.topic].settings["cleanup.policy"] = "compact"
                cluster.compact(*part)

    def verify(self, *, tick: Tick = no_tick, **order: Any) -> VerifyReport:
        """Compare."""
        file = {name: order.pop(name) for name in ("resume", "every_s") if name in order}
        return verify_flow(self.flow, self.pair, VerifyOrder(**order), tick=tick, **file)

    def found(self, **order: Any) -> list[tuple[str, int | None, int | None, int]]:
        """What is found: kind, offset on the source, on the target, and how many records."""
        return told(self.verify(**order).mismatches)

    def drop_ledger(self) -> None:
        """Let nothing be recorded of the flow, as if another tool had mirrored."""
        for topic in (naming.ledger_topic("f"), naming.gate_topic("f"), naming.groups_topic("f")):
            if topic in self.pair.eu.topics:
                self.pair.eu.delete_topic(topic)


def told(mismatches: Sequence[Mismatch]) -> list[tuple[str, int | None, int | None, int]]:
    """Mismatches in short."""
    return [
        (each.kind.value, each.source and each.source[0], each.target and each.target[0], each.records)
        for each in mismatches
    ]
