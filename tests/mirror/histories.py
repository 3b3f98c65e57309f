"""A pair with a flow between, and a record of all that was ever written: what random histories are judged by."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from datetime import datetime, timezone

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.errors import RetriableError
from airflow_provider_mm2.mirror.flow import Chunk, ClusterSettings, MirrorFlow
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.offsets.translate import Policy, Translated, translate
from airflow_provider_mm2.mirror.run import run_mirror
from airflow_provider_mm2.mirror.state.ledger import decode_ledger
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.fakes.log import Message, Outcome, Transaction
from tests.fakes.pair import FakePair

BASE_MS = 1_700_000_000_000
STEPS = ("fence", "assign", "begin", "produce", "copy", "flush", "add", "commit", "see")
TOPIC, REMOTE = "orders", "us.orders"


class Killed(BaseException):
    """The process is gone: nothing catches this, nothing is aborted."""


class History:
    """One flow over one topic; ``written`` holds every value that ever came to the source, by partition and offset."""

    def __init__(self, shards: int, delivery: Delivery = Delivery.EXACTLY_ONCE) -> None:
        self.pair = FakePair()
        self.pair.us.create_topic(TOPIC)
        settings = {"bootstrap.servers": "nowhere:1"}
        self.flow = MirrorFlow(
            name="f",
            source=ClusterSettings(alias="us", settings={**settings}),
            target=ClusterSettings(alias="eu", settings={**settings}),
            topics=(TOPIC,),
            shards=shards,
            delivery=delivery,
            chunk=Chunk(bytes=1024),
        )
        self.written: dict[tuple[int, int], bytes] = {}
        self.never: set[bytes] = set()
        """Values that need not come: aborted, or gone from the source before they were mirrored."""
        self.open: list[tuple[list[bytes], Transaction]] = []
        self._count = 0

    @property
    def partitions(self) -> int:
        """Partitions of the source topic."""
        return len(self.pair.us.topics[TOPIC].logs)

    def messages(self, count: int, key: bytes, second: int) -> list[Message]:
        """New records; no two have one value."""
        self._count += count
        values = [b"%08d" % number + bytes(400) for number in range(self._count - count, self._count)]
        return [Message(key=key, value=value, timestamp_ms=BASE_MS + second * 1000) for value in values]

    def write(self, partition: int, messages: list[Message], outcome: Outcome | None) -> None:
        """Write records: outside a transaction (None), or in one that ends so or stays open."""
        log = self.pair.us.log(TopicPartition(TOPIC, partition))
        values = [message.value or b"" for message in messages]
        for offset, value in enumerate(values, log.end):
            self.written[partition, offset] = value
        if outcome is None:
            self.pair.us.produce(TOPIC, partition, *messages)
        else:
            self.open.append((values, self.pair.us.transaction(TOPIC, partition, *messages, outcome=Outcome.OPEN)))
            if outcome is not Outcome.OPEN:
                self.end_open(len(self.open) - 1, outcome)

    def end_open(self, index: int, outcome: Outcome) -> None:
        """End one of the open transactions."""
        values, transaction = self.open.pop(index % len(self.open))
        self.pair.us.end(transaction, outcome)
        if outcome is Outcome.ABORTED:
            self.never.update(values)

    def compact(self, partition: int) -> None:
        """Let the source's cleaner pass; what it takes before it was mirrored need not come."""
        before = set(self.visible(partition))
        self.pair.us.compact(TOPIC, partition)
        self.never |= before - set(self.visible(partition)) - set(self.mirrored(partition))

    def visible(self, partition: int) -> list[bytes]:
        """Values that a reader of the source is given."""
        return [message.value or b"" for _, message in self.pair.us.visible(TOPIC, partition)]

    def mirrored(self, partition: int) -> list[bytes]:
        """Values that a reader of the target is given."""
        topic = self.pair.eu.topics.get(REMOTE)
        if topic is None or partition >= len(topic.logs):
            return []
        return [message.value or b"" for _, message in self.pair.eu.visible(REMOTE, partition)]

    def run(self, second: int | None = None) -> None:
        """A whole run up to this second, or to the end."""
        self.pair.deliver(self.flow.delivery)
        until = None if second is None else datetime.fromtimestamp(BASE_MS / 1000 + second, timezone.utc)
        run_mirror(self.flow, self.pair, bounds=RunBounds(until=until, since=None, started=datetime.now(timezone.utc)))

    def run_disturbed(self, second: int | None, step: str, after: bool, number: int, act: Callable[[], None]) -> None:
        """A run in which ``act`` happens when a step comes for the ``number``-th time; a retriable end is fine."""
        come = 0

        def disturb(name: str) -> None:
            nonlocal come
            come += name == step
            if name == step and come == number:
                act()

        setattr(self.pair.hooks, "after" if after else "before", disturb)
        try:
            self.run(second)
        except (Killed, RetriableError):
            pass
        finally:
            self.calm()

    def calm(self) -> None:
        """Take the hooks away."""
        self.pair.hooks.before = self.pair.hooks.after = lambda step: None

    def take_over(self, second: int | None) -> Callable[[], None]:
        """Another run that takes over in the midst of this one, as after a freeze longer than the session."""

        def run() -> None:
            self.calm()
            for group in list(self.pair.eu.locks):
                self.pair.eu.expire_member(group)
            self.run(second)

        return run

    def expected(self, partition: int) -> list[bytes]:
        """What the target must hold once everything is mirrored."""
        values = (value for (part, _), value in sorted(self.written.items()) if part == partition)
        return [value for value in values if value not in self.never]

    def progress(self, partition: int) -> int:
        """Next source offset by the progress group."""
        group = self.pair.eu.groups.get(naming.progress_group("f"), {})
        return group.get(TopicPartition(REMOTE, partition), 0)

    def assert_map(self) -> None:
        """Check that every place of the ledger's map holds what stands there on the source, and progress agrees."""
        for shard in range(self.flow.shards):
            partition = TopicPartition(naming.ledger_topic("f"), shard)
            if partition.topic not in self.pair.eu.topics:
                return
            ledger = decode_ledger(partition.topic, shard, self.pair.target.read_state(partition, lambda: None))
            for source, found in ledger.items():
                there = dict(self.pair.eu.visible(REMOTE, source.partition))
                for segment in (segment for entry in found.entries for segment in entry.segments):
                    for index in range(segment.count):
                        value = there[segment.target_start + index].value
                        assert value == self.written[source.partition, segment.source_start + index]
                assert found.records == len(there)
                self._assert_translation(source, OffsetMap.of(found))

    def _assert_translation(self, source: TopicPartition, offset_map: OffsetMap) -> None:
        """Check that whoever goes on at a translated position reads first what was next to read on the source.

        What lies where is told by the records' values, which are all different, and not by the map.
        """
        places = {value: offset for (part, offset), value in self.written.items() if part == source.partition}
        visible = self.pair.eu.visible(REMOTE, source.partition)
        sources, targets = [places[message.value or b""] for _, message in visible], [offset for offset, _ in visible]
        before = 0
        for position in range(offset_map.source_start, offset_map.source_end + 1):
            found = translate(offset_map, position, target_log_start=0, policy=Policy())
            assert isinstance(found, Translated)
            assert found.exact
            assert bisect_left(targets, found.offset) == bisect_left(sources, position)
            assert found.offset >= before
            before = found.offset
