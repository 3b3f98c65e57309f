"""One load: this mirror and the plain loop in turns, then MirrorMaker 2 twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from airflow_provider_mm2.local.jars import Report
from airflow_provider_mm2.local.pair import LocalPair
from tests.bench.children import Finished, Job, run_child
from tests.bench.loads import PARTITIONS, Filler, Load, create_topic, delete_topic, visible_records
from tests.bench.ours import target_topic
from tests.bench.peer import Steady, Tuning, measure_peer

PEER_START_S = 25.0
"""What MirrorMaker 2 takes until it copies at its full speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One copy of a whole topic. ``seconds`` is the copy alone, first transaction to last commit; ``total_s`` the
    process from start to exit; ``counted`` what a reader sees on the target, None where it was not counted."""

    records: int
    seconds: float
    total_s: float
    cpu_s: float
    peak_bytes: int
    counted: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured.

    :param rounds: of ours and plain, as many as fit before the load's end; at least one is made.
    :param peers: by load, the set-ups of MirrorMaker 2 that are measured, each over ``peer_s`` seconds.
    :param count: read every copy back and count it.
    """

    rounds: int
    peers: Mapping[str, Sequence[Tuning]]
    peer_s: float
    count: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """All that was measured on one load; ours and plain have one element a round, made next to each other."""

    load: Load
    ours: tuple[Copy, ...]
    plain: tuple[Copy, ...]
    peers: Mapping[Tuning, Steady]

    @property
    def ours_rate(self) -> float:
        """Records a second, median of the rounds."""
        return median(copy.records / copy.seconds for copy in self.ours)

    @property
    def to_plain(self) -> float:
        """Ours over plain, median of the rounds' own ratios: both saw the same noise."""
        return median(theirs.seconds / ours.seconds for ours, theirs in zip(self.ours, self.plain, strict=True))

    def to_peer(self, tuning: Tuning) -> float | None:
        """Ours over MirrorMaker 2, None where that was not measured."""
        peer = self.peers.get(tuning)
        return None if peer is None or not peer.records else self.ours_rate / (peer.records / peer.seconds)


class Comparison:
    """Measures one load after the other on a pair that runs."""

    def __init__(self, pair: LocalPair, plan: Plan, report: Report) -> None:
        self._pair = pair
        self._plan = plan
        self._report = report
        self._source, self._target = pair.source.client_settings, pair.target.client_settings
        self._filler = Filler(pair.folder, self._source)

    def compare(self, load: Load, *, end_at: float) -> Compared:
        """Fill a topic, measure, delete it.

        :param end_at: time of the monotonic clock at which to be done, if one round and the peers fit.
        """
        topic = f"bench-{load.slug}"
        self._report(f"{load.name}: writing {load.records:,} records")
        self._filler.fill(topic, load)
        peers_s = len(self._plan.peers.get(load.name, ())) * (PEER_START_S + self._plan.peer_s)
        rounds = self._rounds(topic, load, end_at - peers_s)
        peers: dict[Tuning, Steady] = {}
        for tuning in self._plan.peers.get(load.name, ()):
            self._report(f"{load.name}: MirrorMaker 2, {tuning.value}")
            peers[tuning] = measure_peer(self._pair, topic, load, tuning, self._plan.peer_s)
        delete_topic(self._source, topic)
        return Compared(
            load=load,
            ours=tuple(ours for ours, _ in rounds),
            plain=tuple(plain for _, plain in rounds),
            peers=peers,
        )

    def _rounds(self, topic: str, load: Load, end_at: float) -> list[tuple[Copy, Copy]]:
        """Ours and plain next to each other, in turns who comes first."""
        rounds: list[tuple[Copy, Copy]] = []
        took = 0.0
        while len(rounds) < self._plan.rounds:
            began = time.monotonic()
            if rounds and began + took > end_at:
                break
            self._report(f"{load.name}: round {len(rounds) + 1}, this mirror and the plain loop")
            number = len(rounds)
            if number % 2 == 0:
                ours = self._ours(topic, load, number)
                plain = self._plain(topic, load, number)
            else:
                plain = self._plain(topic, load, number)
                ours = self._ours(topic, load, number)
            rounds.append((ours, plain))
            took = time.monotonic() - began
        return rounds

    def _ours(self, topic: str, load: Load, number: int) -> Copy:
        name = f"ours{number}-{load.slug}"
        job = {"source": self._source, "target": self._target, "topic": topic, "name": name}
        return self._copy(load, target_topic(name, topic), lambda: run_child("tests.bench.ours", job))

    def _plain(self, topic: str, load: Load, number: int) -> Copy:
        copied = f"plain{number}-{topic}"
        create_topic(self._target, copied)
        job: Job = {
            "source": self._source,
            "target": self._target,
            "topic": topic,
            "target_topic": copied,
            "partitions": PARTITIONS,
            "value_bytes": load.value_bytes,
        }
        return self._copy(load, copied, lambda: run_child("tests.bench.plain", job))

    def _copy(self, load: Load, copied: str, run: Callable[[], Finished]) -> Copy:
        """Run a copy, see that it is whole, and delete it.

        :raises RuntimeError: it is not: how fast it was means nothing then.
        """
        finished = run()
        records = finished.answer["records"]
        counted = visible_records(self._target, copied) if self._plan.count else None
        if records != load.records or counted not in (None, records):
            raise RuntimeError(f"{copied}: {load.records} records to copy, {records} copied, {counted} to be seen")
        delete_topic(self._target, copied)
        return Copy(
            records=records,
            seconds=finished.answer["copy_seconds"],
            total_s=finished.wall_s,
            cpu_s=finished.cpu_s,
            peak_bytes=finished.peak_bytes,
            counted=counted,
        )
