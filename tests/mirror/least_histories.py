"""Random histories with ``at_least_once``: what is judged where records may come twice."""

from __future__ import annotations

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.errors import TargetTransactionOpen
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.offsets.translate import Policy, Translated, translate
from airflow_provider_mm2.mirror.state.ledger import decode_ledger
from airflow_provider_mm2.mirror.state_model import Delivery
from tests.mirror.histories import REMOTE, STEPS, TOPIC, History

LEAST_STEPS = (*STEPS, "ledger", "progress")
CHUNK_RECORDS = 3
"""Records of 408 bytes in a chunk of 1,024."""


class LeastHistory(History):
    """A flow without transactions, or one that changes; ``ended`` counts attempts that did not end well."""

    def __init__(self, shards: int, delivery: Delivery = Delivery.AT_LEAST_ONCE) -> None:
        super().__init__(shards, delivery)
        self.ended = 0

    def run(self, second: int | None = None) -> None:
        """A whole run."""
        try:
            super().run(second)
        except BaseException:
            self.ended += 1
            raise

    def run_to_the_end(self) -> None:
        """A run; the transaction of an attempt that died before the flow changed ends by its time-out."""
        try:
            self.run()
        except TargetTransactionOpen:
            self.pair.clock.advance(self.flow.transaction_timeout_s + 1)
            self.run()

    def switch(self) -> None:
        """Deliver in the other way from the next run on."""
        (other,) = set(Delivery) - {self.flow.delivery}
        self.flow = self.flow.model_copy(update={"delivery": other})

    def first_seen(self, partition: int) -> list[bytes]:
        """What is on the target, each value where it came first."""
        return list(dict.fromkeys(self.mirrored(partition)))

    @property
    def repeats(self) -> int:
        """Records on the target that had been there before."""
        found = [self.mirrored(partition) for partition in range(self.partitions)]
        return sum(len(values) - len(set(values)) for values in found)

    def assert_map(self) -> None:
        """Check that every place of the map holds what stands there on the source, and that no position skips."""
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
                self._assert_nothing_skipped(source, OffsetMap.of(found))

    def _assert_nothing_skipped(self, source: TopicPartition, offset_map: OffsetMap) -> None:
        """Check that whoever goes on at a translated position is given all that was unread on the source."""
        here = {offset: message.value for offset, message in self.pair.us.visible(TOPIC, source.partition)}
        there = {offset: message.value for offset, message in self.pair.eu.visible(REMOTE, source.partition)}
        before = 0
        for position in range(offset_map.source_start, offset_map.source_end + 1):
            found = translate(offset_map, position, target_log_start=0, policy=Policy())
            assert isinstance(found, Translated)
            unread = {value for offset, value in here.items() if position <= offset < offset_map.source_end}
            assert unread <= {value for offset, value in there.items() if offset >= found.offset}
            assert found.offset >= before
            before = found.offset
