"""The applications of a drill on either side, and what is measured while they work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from airflow_provider_mm2.mirror.clusters.applications import Applications, Reader, Writer, Written
from airflow_provider_mm2.mirror.clusters.naming import DRILL_PREFIX
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.drill.flow import CLASSIC, CONSUMER, TRANSACTIONS, DrillFlow
from airflow_provider_mm2.mirror.drill.report import DrillPhase, Sample
from airflow_provider_mm2.mirror.errors import DrillFailed
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.recovery.work import now_ms

PARTITIONS = 3
SAMPLE_S = 0.25
SETTLE_S = 30.0
"""How long applications may take until they are at work."""


@dataclass(slots=True, kw_only=True)
class Clock:
    """The phases of a drill, one after the other."""

    report: Callable[[str], None]
    phases: list[DrillPhase] = field(default_factory=list)
    now: str = "begin"

    @contextmanager
    def phase(self, name: str, *, counts_for_rto: bool = False) -> Iterator[None]:
        """Measure one."""
        self.now, began = name, now_ms()
        self.report(f"drill: {name}")
        try:
            yield
        finally:
            self.phases.append(
                DrillPhase(name=name, started_ms=began, ended_ms=now_ms(), counts_for_rto=counts_for_rto)
            )


def groups_of(flow: DrillFlow) -> dict[str, str]:
    """The drill's groups, and the group protocol of each."""
    return {f"{DRILL_PREFIX}.{flow.real}.{protocol}": protocol for protocol in (CLASSIC, CONSUMER)}


@dataclass(slots=True, kw_only=True)
class Crew:
    """Producers and consumers on one side.

    :param topics: what applications call the topics here, by their names on the source.
    """

    flow: DrillFlow
    applications: Applications
    topics: Mapping[str, str]
    clock: Clock
    writers: list[Writer] = field(default_factory=list)
    readers: dict[str, Reader] = field(default_factory=dict)
    _written: int = 0
    _read: dict[str, int] = field(default_factory=dict)

    @property
    def written(self) -> int:
        """How many records are acknowledged, those of producers that have stopped among them."""
        return self._written + sum(writer.count for writer in list(self.writers))

    @property
    def read(self) -> dict[str, int]:
        """How many records each group has read."""
        at_work = {group: reader.count for group, reader in list(self.readers.items())}
        return {group: self._read.get(group, 0) + at_work.get(group, 0) for group in {**self._read, **at_work}}

    def start_writers(self, *, pause_s: float, first: int = 0) -> None:
        """Let one producer write to each topic, numbered from ``first``."""
        for name, here in self.topics.items():
            is_transactional = name.endswith(TRANSACTIONS)
            transactional_id = f"mm2.{self.flow.name}.load" if is_transactional else None
            writer = self.applications.writer(
                here, PARTITIONS, transactional_id=transactional_id, pause_s=pause_s, first=first
            )
            writer.start()
            self.writers.append(writer)

    def start_readers(self) -> None:
        """Let a member of each group read both topics."""
        for group, protocol in groups_of(self.flow).items():
            reader = self.applications.reader(group, list(self.topics.values()), protocol=protocol)
            reader.start()
            self.readers[group] = reader

    def stop_writers(self) -> Written:
        """Stop the producers; gives what was acknowledged, by partition of the source.

        :raises DrillFailed: one had ended by itself.
        """
        self.see_well()
        merged = Written()
        names = {here: name for name, here in self.topics.items()}
        for writer in self.writers:
            written = writer.stop()
            for part, numbers in written.numbers.items():
                at_source = TopicPartition(names[part.topic], part.partition)
                merged.numbers[at_source] = numbers
                merged.stamps[at_source] = written.stamps[part]
        self.see_well()
        self._written += sum(writer.count for writer in self.writers)
        self.writers.clear()
        return merged

    def stop_readers(self) -> dict[str, dict[TopicPartition, Sequence[int]]]:
        """Stop the consumers; gives what each group read, by partition of the source.

        :raises DrillFailed: one had ended by itself.
        """
        names = {here: name for name, here in self.topics.items()}
        found = {
            group: {TopicPartition(names[part.topic], part.partition): some for part, some in reader.stop().items()}
            for group, reader in self.readers.items()
        }
        self.see_well()
        self._read = self.read
        self.readers.clear()
        return found

    def see_well(self) -> None:
        """See that nobody has ended by himself.

        :raises DrillFailed: somebody has; says why.
        """
        for who, each in [("a producer", writer) for writer in self.writers] + [
            (f"group {group}", reader) for group, reader in self.readers.items()
        ]:
            if each.problem is not None:
                raise DrillFailed(flow=self.flow.real, phase=self.clock.now, problem=f"{who}: {each.problem}")

    def wait_for(self, done: Callable[[], bool], what: str, tick: Tick) -> None:
        """Wait until something has come about.

        :raises DrillFailed: it has not, or somebody has ended by himself.
        """
        deadline = time.monotonic() + SETTLE_S
        while not done():
            tick()
            self.see_well()
            if time.monotonic() > deadline:
                problem = f"{what} has not come about within {SETTLE_S:.0f} s"
                raise DrillFailed(flow=self.flow.real, phase=self.clock.now, problem=problem)
            time.sleep(0.05)

    def abandon(self) -> None:
        """Stop whoever is still at work, whatever becomes of it."""
        for writer in self.writers:
            writer.stop()
        for reader in self.readers.values():
            reader.stop()


class Sampler:
    """Takes samples of what applications do in a thread, until it is stopped."""

    def __init__(self, crews: Sequence[Crew]) -> None:
        self.samples: list[Sample] = []
        self.mirrored = 0
        self._crews = crews
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Sampler:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take no more."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(SAMPLE_S):
            self.samples.append(self._sample())

    def _sample(self) -> Sample:
        read: dict[str, int] = {}
        for crew in self._crews:
            for group, count in crew.read.items():
                read[group] = read.get(group, 0) + count
        written = sum(crew.written for crew in self._crews)
        return Sample(at_ms=now_ms(), written=written, mirrored=self.mirrored, read=read)


def numbers_on(cluster: ClusterReader, topics: Mapping[str, str], tick: Tick) -> dict[TopicPartition, list[int]]:
    """The numbers that a reader of committed records finds, by partition of the source."""
    found = numbered_on(cluster, topics, tick)
    return {part: [number for _, number in numbers] for part, numbers in found.items()}


def numbered_on(
    cluster: ClusterReader, topics: Mapping[str, str], tick: Tick
) -> dict[TopicPartition, list[tuple[int, int]]]:
    """The same, each behind its offset."""
    found: dict[TopicPartition, list[tuple[int, int]]] = {}
    for name, here in topics.items():
        parts = [TopicPartition(here, number) for number in range(PARTITIONS)]
        for part, log in cluster.log_offsets(parts).items():
            with closing(cluster.read_records(part, log.start, log.stable, tick)) as records:
                numbers = [(record.offset, int(record.value or b"-1")) for record in records]
            found[TopicPartition(name, part.partition)] = numbers
    return found
