"""One flow under faults: what applications do beside it, and its attempts."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime, timezone

from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from airflow_provider_mm2.local.wait import poll
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.chaos.crossing import Crossing
from tests.chaos.world import LIMIT_S, World
from tests.proof import rig
from tests.proof.attempt import Attempt, Outcome, Start
from tests.proof.eyes import Eyes, Record
from tests.proof.points import Fault
from tests.proof.repair import HANGING
from tests.proof.truth import BASE_MS, Truth

HOUR_MS = 3_600_000
TRIES = 8
GROUPS = ("a", "b")


class Lane:
    """A flow with two topics: ``orders``, read by groups, and ``extra``, which may be deleted or made anew.

    :param number: names everything of it.
    :param chance: decides how the flow is set up, and everything that happens in it.
    """

    def __init__(self, world: World, start: Start, name: str, chance: random.Random) -> None:
        self.world, self.chance, self.name = world, chance, name
        self._start = start
        self.flow = self._make_flow()
        self.source, self.target = (Eyes(world.settings(side)) for side in ("source", "target"))
        self.orders, self.extra = (self._make_topic(name, parts) for name, parts in (("orders", 3), ("extra", 1)))
        self.replaced: list[Record] = []
        """What the target has of the topics that ``extra`` was before."""
        self.old: list[Record] | None = None
        """What was in it when it was deleted, until it is known how much of that was copied."""
        self.positions: dict[str, dict[TopicPartition, int]] = {group: {} for group in self.groups}
        self.curable: frozenset[str] = frozenset()
        """Verdicts that the trouble of this round explains."""
        self.hour = 0
        self.crossing: Crossing | None = None
        """The failover or failback of this round."""
        self.away = False
        """Whether the applications are on the target."""
        self.seen: dict[TopicPartition, dict[int, Record]] = {}
        """What was read on the target, which must stay so."""

    @property
    def groups(self) -> list[str]:
        """The consumer groups on ``orders``."""
        return [f"app-{each}-{self.name}" for each in GROUPS]

    @property
    def until(self) -> datetime | None:
        """Where the next interval ends; the records that applications stamp may lie before, in it, or behind it."""
        if self.flow.cut == "end":
            return None
        return datetime.fromtimestamp((BASE_MS + (self.hour + 1) * HOUR_MS) / 1000, tz=timezone.utc)

    def _make_flow(self) -> MirrorFlow:
        chance = self.chance
        queue = {"queue.buffering.max.messages": "50"} if chance.random() < 0.3 else {}
        return MirrorFlow.model_validate(
            {
                "name": self.name,
                "source": {"alias": "us", "settings": self.world.settings("source", "mirror")},
                "target": {"alias": "eu", "settings": {**self.world.settings("target", "mirror"), **queue}},
                "topics": [f"{self.name}-.*"],
                "groups": [f"app-.*-{self.name}"],
                "cut": chance.choice(["end", "end", "interval"]),
                "shards": chance.choice([1, 1, 2]),
                "chunk": {"seconds": 5, "bytes": chance.choice([4096, 65_536, 10_000_000])},
                "sync_group_offsets": True,
                "allow_rewind": True,
                "on_recreated": "restart",
                "lease_wait_s": 20,
                "silence_limit_s": 20,
                "transaction_timeout_s": 15,
            }
        )

    def _make_topic(self, topic: str, partitions: int) -> Truth:
        truth = Truth(self.source, self.target, f"{self.name}-{topic}", self.flow, partitions, _random=self.chance)
        self.create(truth)
        return truth

    def create(self, truth: Truth) -> None:
        """Create a source topic, and wait until it can be written to."""
        admin = self.source.admin
        admin.create_topics([NewTopic(truth.topic, truth.partitions)])[truth.topic].result(LIMIT_S)

        def is_led() -> bool:
            found = admin.list_topics(timeout=LIMIT_S).topics.get(truth.topic)
            return found is not None and all(part.leader >= 0 for part in found.partitions.values())

        assert poll(is_led, timeout_s=LIMIT_S)

    def delete_extra(self) -> None:
        """Delete ``extra`` on the source; whatever of it was copied stays on the target."""
        self.old = [*(self.old or ()), *self.extra.written.pop(0, [])]
        self.source.admin.delete_topics([self.extra.topic])[self.extra.topic].result(LIMIT_S)
        assert poll(lambda: not self._is_there(self.source, self.extra.topic), timeout_s=LIMIT_S)

    def delete_copy(self) -> None:
        """Delete what ``extra`` is on the target, as somebody does by mistake."""
        topic = self.extra.target_of(self.extra.source_partitions[0]).topic
        if self._is_there(self.target, topic):
            self.target.admin.delete_topics([topic])[topic].result(LIMIT_S)
        self.seen.pop(TopicPartition(topic, 0), None)
        self.replaced, self.old = [], None

    @staticmethod
    def _is_there(eyes: Eyes, topic: str) -> bool:
        return topic in eyes.admin.list_topics(timeout=LIMIT_S).topics

    def write(self) -> None:
        """Let applications write and commit, on the side that they are on; some of their clocks jump."""
        self.hour += 1
        for eyes in (self.source, self.target):
            eyes.renew()
        if self.away:
            self.visitors.write(self.chance.randint(8, 100), hour=self.hour)
            self._commit(self.visitors, self.target)
            return
        for _ in range(self.chance.choice([1, 1, 2])):
            jump = self.chance.choice([0, 0, 0, -1, -200, 2])
            self.orders.write(
                self.chance.randint(8, 200), size=self.chance.choice([10, 100, 2000]), hour=self.hour + jump
            )
        self.extra.write(self.chance.randint(8, 40), hour=self.hour)
        self._commit(self.orders, self.source)

    def _commit(self, truth: Truth, eyes: Eyes) -> None:
        """Move groups, mostly forward, now and then back; into gaps, too."""
        ends = eyes.offsets(truth.source_partitions)
        for group in self.groups:
            moved = {part: self.chance.randint(0, end) for part, end in ends.items() if self.chance.random() < 0.7}
            if moved:
                eyes.commit(group, moved)
                self.positions[group].update(moved)

    def set_out(self) -> bool:
        """Whether this round is a failover or a failback; begin it if so."""
        could = not self.away and self.flow.cut == "end" and self.hour > 1 and all(self.positions.values())
        if not self.away and not (could and self.chance.random() < 0.25):
            return False
        kind = "failback" if self.away else self.chance.choice(["planned", "unplanned"])
        if kind == "unplanned":  # else records are stranded, which somebody has to decide on
            self._retry(self.begin(owner="before").outcome(240))
        self.crossing = Crossing(self.world.folder, self.flow, kind)
        return True

    def begin(self, *faults: Fault, owner: str = "struck") -> Attempt:
        """Start an attempt at the round's run."""
        return self._start(self.flow, *faults, owner=owner, until=self.until)

    def settle(self, outcome: Outcome) -> str:
        """See this round to its end, whatever became of its first attempt."""
        if self.crossing is None:
            return self._retry(outcome)
        return self.crossing.settle()

    def _retry(self, outcome: Outcome) -> str:
        """Retry as Airflow does until it is done, and do what an error says an administrator should do.

        What was done before all was well again may lack what came in between; the last run began after it.

        :raises AssertionError: a verdict that nothing explains, or no end of it.
        """
        story: list[str] = []
        for number in range(TRIES):
            story.append("killed" if outcome.killed else outcome.error or "done")
            if outcome.done and number:
                return ", ".join(story)
            if outcome.error in HANGING:
                self._end_hanging()
            elif not outcome.done:
                assert outcome.killed or outcome.retriable or outcome.error in self.curable, f"{story}: {outcome}"
            outcome = self.begin(owner=f"again-{number}").outcome(240)
        raise AssertionError(f"not done: {story}, the last: {outcome}")

    def _end_hanging(self) -> None:
        """End what holds partitions of the flow on the target with Kafka's own tool."""
        for part, offset in rig.hanging(self.target, self._written()).items():
            rig.abort_hanging(self.world.target, self.world.folder, part, offset)

    def _written(self) -> list[TopicPartition]:
        shards = [TopicPartition(f"mm2-offset-map.{self.name}.internal", shard) for shard in range(self.flow.shards)]
        progress = rig.offsets_partition(f"mm2.{self.name}.progress")
        topics = self.target.admin.list_topics(timeout=LIMIT_S).topics
        data = [truth.target_of(part) for truth in (self.orders, self.extra) for part in truth.source_partitions]
        return [each for each in (*data, *shards, progress) if each.topic in topics]

    def go_away(self, there: Mapping[TopicPartition, Mapping[int, Record]]) -> None:
        """Let the applications be on the target from now on, where they find these records."""
        self.away = True
        here = self.orders
        topic = here.target_of(here.source_partitions[0]).topic
        self.visitors = Truth(self.target, self.source, topic, self.flow, here.partitions, _random=self.chance)
        self.visitors.written = {part.partition: list(records.values()) for part, records in there.items()}
        self.positions = {group: self.target.committed(group, self.visitors.source_partitions) for group in self.groups}

    def come_home(self, positions: Mapping[str, dict[TopicPartition, int]]) -> None:
        """Let the applications be on the source again, with all that they wrote meanwhile."""
        self.away = False
        self.orders.written = self.visitors.written
        self.positions = dict(positions)

    def plant_repeat(self) -> None:
        """Write the first record of the mirror once more, behind all others, as no mirror may."""
        part = self.orders.target_of(self.orders.source_partitions[0])
        record = self.orders.written[0][0]
        producer = Producer({**self.target.settings})
        producer.produce(
            *part[:1],
            record.value,
            record.key,
            part.partition,
            timestamp=record.timestamp_ms,
            headers=list(record.headers),
        )
        assert producer.flush(LIMIT_S) == 0
