"""Reading the clusters for what a seed takes progress from."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, ClusterReader, Tick
from airflow_provider_mm2.mirror.errors import MirrorError, SeedUnreadable
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import LogOffsets, LogRecord, Record, TopicPartition
from airflow_provider_mm2.mirror.moments import show
from airflow_provider_mm2.mirror.offsets.connect_offsets import ConnectOffset, UnreadOffset, read_offsets
from airflow_provider_mm2.mirror.offsets.failover_point import read_failover_points
from airflow_provider_mm2.mirror.offsets.refine import Seen, fingerprint
from airflow_provider_mm2.mirror.offsets.seed import NoPoint, Point, Points, Seed, SeedKind, read_file
from airflow_provider_mm2.mirror.offsets.seed_check import moment_of
from airflow_provider_mm2.mirror.offsets.tail_match import NoCopyEnd, find_copy_end

log = logging.getLogger(__name__)

SHOWN = 10
"""Most of several things that are named in one message."""

TAIL = 200
"""Records at the target's end that are looked for on the source."""

WIDENINGS = (1, 8, 64)
"""How far back they are looked for where the target has holes, in tails; after that from the log's start."""


class PointFinder:
    """Finds the points of one seed.

    :param pairs: source partition to target partition, for all that is to be seeded.
    :param on_target: those of the target partitions that exist.

    ``passed_over`` says what could not be read where it was looked, and was not asked for.
    """

    def __init__(
        self,
        flow: MirrorFlow,
        pair: ClusterPair,
        pairs: Mapping[TopicPartition, TopicPartition],
        on_target: Collection[TopicPartition],
        tick: Tick,
    ) -> None:
        self._flow = flow
        self._pair = pair
        self._pairs = pairs
        self._on_target = on_target
        self._tick = tick
        self.passed_over: list[str] = []

    def find(self, seed: Seed) -> Points:
        """A point, or why there is none, for every partition.

        :raises SeedUnreadable: what the seed names is not there or cannot be read.
        :raises MirrorError: a cluster cannot be read.
        """
        kinds = {
            SeedKind.EARLIEST: self._earliest,
            SeedKind.LATEST: self._latest,
            SeedKind.TIMESTAMP: self._timestamp,
            SeedKind.OFFSETS: self._offsets,
            SeedKind.SOURCE_GROUP: self._source_group,
            SeedKind.PROGRESS_GROUP: self._progress_group,
            SeedKind.CONNECT: self._connect,
            SeedKind.MATCH: self._match,
            SeedKind.FAILOVER: self._failover,
        }
        return kinds[seed.kind](seed)

    def _logs(self) -> Mapping[TopicPartition, LogOffsets]:
        return self._pair.source.log_offsets(list(self._pairs))

    def _earliest(self, seed: Seed) -> Points:
        return {part: Point(offset=log_.start, why="the source's log start") for part, log_ in self._logs().items()}

    def _latest(self, seed: Seed) -> Points:
        return {part: Point(offset=log_.stable, why="the source's end") for part, log_ in self._logs().items()}

    def _timestamp(self, seed: Seed) -> Points:
        moment_ms = moment_of(seed)
        logs = self._logs()
        found = self._pair.source.offsets_at(dict.fromkeys(self._pairs, moment_ms))
        shown = show(moment_ms)
        return {
            part: Point(offset=log_.stable, why=f"nothing is stamped at {shown} or later")
            if (offset := found[part]) is None
            else Point(offset=offset, why=f"the first record stamped at {shown} or later")
            for part, log_ in logs.items()
        }

    def _offsets(self, seed: Seed) -> Points:
        offsets = read_file(Path(seed.argument))
        return self._given(seed, offsets, "as the file says", "the file does not name it")

    def _given(self, seed: Seed, offsets: Mapping[TopicPartition, int], why: str, why_not: str) -> Points:
        strangers = sorted(offsets.keys() - self._pairs.keys())
        if strangers:
            names = ", ".join(map(str, strangers[:SHOWN])) + (", ..." if len(strangers) > SHOWN else "")
            raise SeedUnreadable(
                seed=str(seed),
                problem=f"it names what is not to be seeded here: {names}",
                cause="it is of another flow, has the target's names, or names more than --topic chooses",
            )
        return _by_partition(self._pairs, offsets, why, why_not)

    def _source_group(self, seed: Seed) -> Points:
        answer = self._pair.source.group_offsets([seed.argument], self._tick)[seed.argument]
        if isinstance(answer, MirrorError):
            raise answer
        if not answer.offsets and not answer.pending:
            raise SeedUnreadable(
                seed=str(seed),
                problem="the source has no such group, it has committed nothing, or it may not be described",
                cause="a misspelt group, or one that is on the target",
            )
        pending = NoPoint(why="an open transaction holds the group's offset here", refused=True)
        points = _by_partition(
            self._pairs, answer.offsets, f"committed by {seed.argument!r} on the source", "the group committed nothing"
        )
        return {**points, **{part: pending for part in answer.pending if part in self._pairs}}

    def _progress_group(self, seed: Seed) -> Points:
        group = naming.progress_group(self._flow.name)
        asked = {part: target for part, target in self._pairs.items() if target in self._on_target}
        found = self._pair.target.committed(group, list(asked.values()), self._tick)
        offsets = {part: found[target] for part, target in asked.items() if target in found}
        return _by_partition(self._pairs, offsets, f"committed by {group!r} on the target", f"{group!r} has none")

    def _connect(self, seed: Seed) -> Points:
        topic, _, connector = seed.argument.partition(":")
        cluster = next(
            (found for found in (self._pair.target, self._pair.source) if topic in found.describe_topics([topic])), None
        )
        if cluster is None:
            cause = "a misspelt name, or Kafka Connect keeps its offsets on a third cluster"
            raise SeedUnreadable(seed=str(seed), problem=f"neither cluster has a topic {topic!r}", cause=cause)
        found, unread = read_offsets(self._records(cluster, topic), self._flow.source.alias)
        self._pass_over(seed, connector, unread)
        chosen = [offset for offset in found if connector in ("", offset.connector)]
        if not chosen:
            problem = f"{topic!r} on {cluster.alias!r} has no offset of the source {self._flow.source.alias!r}"
            raise SeedUnreadable(
                seed=str(seed),
                problem=problem + (f" by {connector!r}" if connector else ""),
                cause="MirrorMaker 2 knew the source by another alias than the flow does, or a misspelt connector",
            )
        return _of_connectors(self._pairs, chosen, f"{topic!r} on {cluster.alias!r}")

    def _pass_over(self, seed: Seed, connector: str, unread: Collection[UnreadOffset]) -> None:
        """Note what cannot be read.

        :raises SeedUnreadable: it is what was asked for.
        """
        asked = [each for each in unread if connector in ("", each.connector) and each.source in self._pairs]
        if asked:
            problem = "; ".join(each.problem for each in asked[:SHOWN])
            cause = "somebody wrote to that topic by hand, or Kafka Connect has other converters there than JSON's"
            raise SeedUnreadable(seed=str(seed), problem=problem, cause=cause)
        self.passed_over += [each.problem for each in unread]

    def _records(self, cluster: ClusterReader, topic: str) -> Iterator[Sequence[LogRecord]]:
        """All partitions of a topic, each to its end: keys are spread over them."""
        for number in range(cluster.describe_topics([topic])[topic].partitions):
            yield cluster.read_state(TopicPartition(topic, number), self._tick)

    def _failover(self, seed: Seed) -> Points:
        try:
            known = read_failover_points(self._pair, self._tick)
        except ValueError as error:
            cause = "a record of the opposite flow's state that was written by another version, or by somebody else"
            raise SeedUnreadable(seed=str(seed), problem=str(error), cause=cause) from error
        return {
            part: Point(offset=known[part][1], why=f"behind what flow {known[part][0]!r} brought before the failover")
            if part in known
            else NoPoint(why="no flow in the opposite direction brought any of it")
            for part in self._pairs
        }

    def copy_ends(self, parts: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Where the copy of each partition ends by its own last records, as far as they are not alike."""
        found = {part: self._matched(part, self._pairs[part]) for part in parts if self._pairs[part] in self._on_target}
        return {part: point.offset for part, point in found.items() if isinstance(point, Point)}

    def _match(self, seed: Seed) -> Points:
        return {part: self._matched(part, target) for part, target in self._pairs.items()}

    def _matched(self, source: TopicPartition, target: TopicPartition) -> Point | NoPoint:
        start = self._pair.source.log_offsets([source])[source]
        if target not in self._on_target:
            return Point(offset=start.start, why="the target has no such partition yet")
        tail = self._tail(target)
        if not tail:
            return Point(offset=start.start, why="the target holds no record")
        stamps = [record.timestamp_ms for record in tail]
        first = self._pair.source.offsets_at({source: min(stamps)})[source] if min(stamps) >= 0 else start.start
        if first is None:
            return NoPoint(why=NoCopyEnd.NOT_FOUND.value, refused=True)
        log.info("%s: looking for the last %d records of the target from offset %d on", source, len(tail), first)
        with closing(self._pair.source.read_records(source, first, start.stable, self._tick)) as records:
            found = find_copy_end([_seen(record) for record in tail], map(_seen, records))
        if isinstance(found, NoCopyEnd):
            return NoPoint(why=found.value, refused=True)
        why = f"behind the last record that is on the target, too (by {found.found} of its last {len(tail)})"
        return Point(offset=found.next_offset, why=why)

    def _tail(self, target: TopicPartition) -> list[Record]:
        """The last records that a reader sees."""
        ends = self._pair.target.log_offsets([target])[target]
        for begin in (*(ends.stable - TAIL * widening for widening in WIDENINGS), ends.start):
            start = max(begin, ends.start)
            with closing(self._pair.target.read_records(target, start, ends.stable, self._tick)) as records:
                tail = deque(records, TAIL)
            if len(tail) == TAIL or start == ends.start:
                break
        return list(tail)


def _seen(record: Record) -> Seen:
    return Seen(record.offset, fingerprint(record))


def _by_partition(
    pairs: Collection[TopicPartition], offsets: Mapping[TopicPartition, int], why: str, why_not: str
) -> dict[TopicPartition, Point | NoPoint]:
    return {part: Point(offset=offsets[part], why=why) if part in offsets else NoPoint(why=why_not) for part in pairs}


def _of_connectors(
    pairs: Collection[TopicPartition], found: Collection[ConnectOffset], place: str
) -> dict[TopicPartition, Point | NoPoint]:
    """A point for each partition that one connector tells of, or several tell the same of."""
    told: dict[TopicPartition, dict[str, int]] = {}
    for offset in found:
        told.setdefault(offset.source, {})[offset.connector] = offset.next_offset
    points: dict[TopicPartition, Point | NoPoint] = {}
    for part in pairs:
        offsets = told.get(part, {})
        if len(set(offsets.values())) > 1:
            several = ", ".join(f"{name!r} {place}" for name, place in sorted(offsets.items()))
            why = f"{place} has several connectors that differ: {several}; name one behind a second ':'"
            points[part] = NoPoint(why=why, refused=True)
        elif offsets:
            name, next_offset = next(iter(offsets.items()))
            points[part] = Point(offset=next_offset, why=f"behind the last record of {name!r} in {place}")
        else:
            points[part] = NoPoint(why=f"{place} says nothing of it")
    return points
