"""Copies of real groups on the target: where a failover would put each, and what a consumer in it reads."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_provider_mm2.mirror.clusters.applications import CopyLimit, CopyRead, CopyReader, CopyReaders
from airflow_provider_mm2.mirror.clusters.ports import TargetCluster, Tick
from airflow_provider_mm2.mirror.drill.flow import DrillFlow, copy_group
from airflow_provider_mm2.mirror.drill.game_plan import GamePlan
from airflow_provider_mm2.mirror.drill.stage import SETTLE_S, Clock
from airflow_provider_mm2.mirror.errors import DrillFailed, MirrorError
from airflow_provider_mm2.mirror.group_model import GroupOffsets
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.recovery.work import now_ms

AT_A_TIME = 8
"""Groups whose copies read at a time."""

BYTES = 256 * 1024 * 1024
"""What the copies that read at a time may hold together."""


@dataclass(slots=True, kw_only=True)
class Copies:
    """The copies of a game day's groups.

    :param readers: makes their members.
    :param read: what each copy read, by the real group's name.
    :param first_s: seconds from a member's start to its first record, or until it saw that there is none.
    """

    flow: DrillFlow
    target: TargetCluster
    readers: CopyReaders
    clock: Clock
    tick: Tick
    first_s: dict[str, float] = field(default_factory=dict)
    _at_work: dict[str, CopyReader] = field(default_factory=dict)
    _ends: dict[str, dict[TopicPartition, int]] = field(default_factory=dict)

    def commit(self, plan: GamePlan) -> None:
        """Put a copy of each group where a failover would put the group.

        Where it would have no position the copy stands at the log's end: nothing is to be read there.

        :raises MirrorError: one could not be committed.
        """
        wanted: dict[str, GroupOffsets] = {}
        for name, move in plan.moves.items():
            given, ends = move.wanted, {place.part.target: place.end for place in plan.places[name]}
            others = self._log_ends({part.topic for part in ends} | {part.topic for part in given.offsets}, ends)
            self._ends[name] = {**others, **ends}
            offsets = {**others, **{part: offset for part, offset in given.offsets.items() if part in ends}}
            metadata = {part: text for part, text in given.metadata.items() if part in ends}
            wanted[copy_group(self.flow, name)] = GroupOffsets(offsets=offsets, metadata=metadata)
        answers = self.target.commit_groups({name: each for name, each in wanted.items() if each.offsets}, self.tick)
        for answer in answers.values():
            failures = [answer] if isinstance(answer, MirrorError) else list(answer.values())
            if failures:
                raise failures[0]

    def _log_ends(self, topics: set[str], known: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        there = self.target.describe_topics(sorted(topics))
        parts = [TopicPartition(name, number) for name, info in there.items() for number in range(info.partitions)]
        logs = self.target.log_offsets([part for part in parts if part not in known])
        return {part: log.stable for part, log in logs.items()}

    def read(self, plan: GamePlan, limit_records: int) -> Iterator[Mapping[str, CopyRead]]:
        """Let the copies read, some at a time; gives what each has read once it has left.

        :raises DrillFailed: one ended by itself, or came to nothing.
        """
        names = [name for name in plan.moves if self._ends[name]]
        for first in range(0, len(names), AT_A_TIME):
            yield self._read(names[first : first + AT_A_TIME], plan, limit_records)

    def _read(self, names: Sequence[str], plan: GamePlan, limit_records: int) -> dict[str, CopyRead]:
        limit, began = CopyLimit(records=limit_records, bytes=BYTES // len(names)), now_ms()
        for name in names:
            copy, protocol = copy_group(self.flow, name), plan.protocols[name]
            reader = self.readers.copy_reader(copy, self._ends[name], protocol=protocol, limit=limit)
            self._at_work[name] = reader
            reader.start()
        self._wait_for_all(names)
        read = {name: self._at_work.pop(name) for name in names}
        for name, reader in read.items():
            self.first_s[name] = max(0, (reader.at_work_ms or now_ms()) - began) / 1000
        return {name: reader.stop() for name, reader in read.items()}

    def _wait_for_all(self, names: Sequence[str]) -> None:
        """Wait as long as something comes.

        :raises DrillFailed: nothing came for a while, or a member ended by itself.
        """
        heard, before = time.monotonic(), -1
        while not all(self._at_work[name].is_done for name in names):
            self.tick()
            self._see_well(names)
            count = sum(self._at_work[name].count for name in names)
            if count != before:
                heard, before = time.monotonic(), count
            elif time.monotonic() - heard > SETTLE_S:
                late = ", ".join(name for name in names if not self._at_work[name].is_done)
                raise self._failed(f"the copies of {late} have read nothing for {SETTLE_S:.0f} s")
            time.sleep(0.02)
        self._see_well(names)

    def _see_well(self, names: Sequence[str]) -> None:
        for name in names:
            problem = self._at_work[name].problem
            if problem is not None:
                raise self._failed(f"the copy of group {name}: {problem}")

    def _failed(self, problem: str) -> DrillFailed:
        return DrillFailed(flow=self.flow.real, phase=self.clock.now, problem=problem)

    def abandon(self) -> None:
        """Stop whoever is still at work, whatever becomes of it."""
        for reader in self._at_work.values():
            reader.stop()
