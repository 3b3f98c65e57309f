"""Reading the records around a group's position on the source, and looking for them on the target."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, ClusterReader, Tick
from airflow_provider_mm2.mirror.errors import HeaderUnfaithful, NotAuthorized, TopicDeleted
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.mm2_positions import Mm2State
from airflow_provider_mm2.mirror.offsets.positions import GroupPosition, Origin
from airflow_provider_mm2.mirror.offsets.refine import Ahead, Doubt, Found, PlaceSearch, Seen, Window, fingerprint
from airflow_provider_mm2.mirror.offsets.translate import Otherwise, Policy, Position, Reason, Translated, Untranslated

WIDTH = 200
"""Records that are looked at on either side of a position: more than MirrorMaker 2 leaves between two syncs."""

WIDENINGS = (1, 8, 64)
"""How far back records are looked for where the source has holes, in widths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """How much of both sides is read for one position: whichever is met first ends the search."""

    records: int = 1_000_000
    bytes: int = 1 << 29
    seconds: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """A position as it was found, or why it was not."""

    position: Position | None = None
    note: str = ""


class _GaveUp(Exception):
    """A limit was met."""


class _Records:
    """Records of both sides for one search, within its limits."""

    def __init__(self, limits: SearchLimits, tick: Tick) -> None:
        self._limits = limits
        self._wait = tick
        self._deadline = time.monotonic() + limits.seconds
        self._count = self._size = 0

    def of(
        self, cluster: ClusterReader, partition: TopicPartition, start: int, end: int
    ) -> Generator[Seen, None, None]:
        """What is visible in a range of one side."""
        with closing(cluster.read_records(partition, start, end, self._tick)) as records:
            for record in records:
                self._count, self._size = self._count + 1, self._size + record.size
                if self._count > self._limits.records or self._size > self._limits.bytes:
                    raise _GaveUp(self._spent)
                yield Seen(record.offset, fingerprint(record))

    def _tick(self) -> None:
        self._wait()
        if time.monotonic() > self._deadline:
            raise _GaveUp(self._spent)

    @property
    def _spent(self) -> str:
        return f"gave up after {self._count:,} records ({self._size:,} bytes)"


class Refiner:
    """Looks positions up by reading; two groups that stand at one place share a search."""

    def __init__(
        self, pair: ClusterPair, state: Mm2State, policy: Policy, tick: Tick, limits: SearchLimits | None = None
    ) -> None:
        self._pair = pair
        self._state = state
        self._policy = policy
        self._tick = tick
        self._limits = limits or SearchLimits()
        self._compacted: dict[str, bool] = {}
        self._done: dict[tuple[TopicPartition, int, int], Refined] = {}

    def refine(self, positions: Collection[GroupPosition]) -> list[GroupPosition]:
        """The positions, those that MirrorMaker 2's rule gave made exact where their record was found."""
        return [self._refined(found) if _is_estimate(found) else found for found in positions]

    def _refined(self, found: GroupPosition) -> GroupPosition:
        estimate = found.position
        if not isinstance(estimate, Translated) or found.source_offset is None or found.target is None:
            return found
        key = (found.source, found.source_offset, estimate.offset)
        if key not in self._done:
            self._done[key] = self._search(found, found.source_offset, found.target, estimate)
        done = self._done[key]
        return replace(found, position=done.position or found.position, note=done.note)

    def _search(self, found: GroupPosition, position: int, target: TopicPartition, estimate: Translated) -> Refined:
        if found.source in self._state.behind:
            return Refined(note="MirrorMaker 2 mirrors the partition again and has not come to where it was")
        try:
            # The target's end is taken first: of all that lies below it the source has had the original by then.
            target_log = self._pair.target.log_offsets([target])[target]
            anchor = None if found.origin is Origin.CHECKPOINTS else self._anchor(found.source, position)
            records = _Records(self._limits, self._tick)
            window = self._window(records, found.source, position, anchor)
            start = max(0, estimate.offset - WIDTH) if anchor is None else min(anchor[1], estimate.offset)
            search = PlaceSearch(window, start)
            result = self._look(records, search, target, start, target_log.stable)
            is_lossy = target_log.start > start or (search.has_holes and self._is_compacted(target.topic))
            if not isinstance(result, Doubt) and is_lossy and self._comes_again(records, window, found.source):
                result = Doubt.ALIKE
        except _GaveUp as limit:
            return Refined(note=str(limit))
        except (HeaderUnfaithful, TopicDeleted) as error:
            return Refined(note=error.first_line)
        return self._judged(result, estimate)

    def _anchor(self, source: TopicPartition, position: int) -> tuple[int, int] | None:
        known = self._state.anchor(source, position)
        return None if known is None else (known[1].source_offset, known[1].target_offset)

    def _window(
        self, records: _Records, source: TopicPartition, position: int, anchor: tuple[int, int] | None
    ) -> Window:
        """The records around a position; ``read`` reaches back to the anchor where that is not far."""
        log = self._pair.source.log_offsets([source])[source]
        floor = log.start if anchor is None else max(log.start, anchor[0])
        for widening in WIDENINGS:
            begin = max(floor, position - WIDTH * widening)
            read = tuple(deque(records.of(self._pair.source, source, begin, position), WIDTH))
            if len(read) == WIDTH or begin == floor:
                break
        with closing(records.of(self._pair.source, source, position, log.stable)) as following:
            unread = tuple(islice(following, WIDTH))
        is_all = len(read) + len(unread) == log.stable - begin
        window = Window(
            position=position,
            read=read,
            unread=unread,
            anchor=anchor,
            whole=anchor is not None and begin == anchor[0] and is_all,
        )
        if not read:
            return window
        furthest = floor if anchor is not None else max(floor, position - WIDTH * WIDENINGS[-1])
        return replace(window, elsewhere=self._alike(records, window, source, (furthest, read[0].offset)))

    def _alike(
        self, records: _Records, window: Window, source: TopicPartition, ends: tuple[int, int]
    ) -> frozenset[bytes]:
        """Fingerprints of the window that occur in another range of the source, too."""
        known = window.fingerprints
        others = records.of(self._pair.source, source, *ends)
        return frozenset(seen.fingerprint for seen in others if seen.fingerprint in known)

    def _is_compacted(self, topic: str) -> bool:
        """Whether holes on the target may be records that compaction took, or can only be markers."""
        if topic not in self._compacted:
            try:
                policy = self._pair.target.topic_settings([topic])[topic]["cleanup.policy"].value
            except NotAuthorized:
                policy = None
            self._compacted[topic] = policy is None or "compact" in policy
        return self._compacted[topic]

    def _comes_again(self, records: _Records, window: Window, source: TopicPartition) -> bool:
        """Whether a record that looks like one around the position comes later on the source."""
        if len(window.unread) < WIDTH:
            return False
        end = self._pair.source.log_offsets([source])[source].stable
        return bool(self._alike(records, window, source, (window.unread[-1].offset + 1, end)))

    def _look(
        self, records: _Records, search: PlaceSearch, target: TopicPartition, start: int, end: int
    ) -> Found | Ahead | Doubt:
        """Go through the target until the place is clear or its end comes."""
        with closing(records.of(self._pair.target, target, start, end)) as there:
            for seen in there:
                search.feed(seen.offset, seen.fingerprint)
                if search.is_over:
                    break
        return search.result(at_end=not search.is_over)

    def _judged(self, result: Found | Ahead | Doubt, estimate: Translated) -> Refined:
        if isinstance(result, Doubt):
            return Refined(note=result.value)
        if result.offset < estimate.offset:
            return Refined(note=f"the record was found at {result.offset}, before the place that MirrorMaker 2 gives")
        if isinstance(result, Found):
            return Refined(position=Translated(offset=result.offset))
        if self._policy.ahead is Otherwise.SKIP:
            return Refined(position=Untranslated(reason=Reason.AHEAD, distance=result.distance))
        ahead = Translated(offset=result.offset, exact=False, reason=Reason.AHEAD, distance=result.distance)
        return Refined(position=ahead)


def _is_estimate(found: GroupPosition) -> bool:
    is_of_mm2 = found.origin in (Origin.SYNCS_ON_TARGET, Origin.SYNCS_ON_SOURCE, Origin.CHECKPOINTS)
    return is_of_mm2 and found.position.reason in (Reason.FROM_SYNCS, Reason.FROM_CHECKPOINT)
