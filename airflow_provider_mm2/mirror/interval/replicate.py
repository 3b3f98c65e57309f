"""The copy of one shard, exactly once. The steps are numbered here and cited elsewhere.

0. Prepare (once a run, ``topics.py``): internal topics, flow record, target topics with partitions and settings.
1. Lease: one live holder a shard, kept in every wait below.
2. Fence: ends any earlier attempt and its open transaction.
3. Read gate, ledger and progress group, and compare (``admission.py``).
4. Bound: the source's last stable offsets; identities, gaps, strangers checked (``admission.py``).
5. Begin, and copy until a limit is met or every partition is done.
6. Flush: the deliveries tell the target offsets.
7. Add ledger records and progress offsets to the same transaction.
8. Commit, again and again on a time-out, and then see it.
9. Not done: back to 5. Done: summary. Any abort or fence ends the attempt; nothing goes on from memory.

With ``delivery: at_least_once`` there is no transaction, so the order of the writes stands in for it:

2. There is nothing to fence with: the ends of ledger and gate are noted before they are read.
5. Before the first chunk the attempt claims the shard: it writes each partition's ledger entry anew.
6. Every record's delivery is checked.
7. The ledger records and the progress are handed over, nothing is written.
8. Lease kept, ledger and gate as this attempt left them: then the ledger, after it the progress group.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Event

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import Copier, Tick
from airflow_provider_mm2.mirror.errors import (
    Fenced,
    ForeignWrites,
    LeaseLost,
    MirrorError,
    Overtaken,
    Stopped,
    TransactionFailed,
    TransactionHangs,
)
from airflow_provider_mm2.mirror.interval.admission import Admission, Shard, admit
from airflow_provider_mm2.mirror.interval.book import LedgerBook, target_span
from airflow_provider_mm2.mirror.interval.bounds import show
from airflow_provider_mm2.mirror.interval.repeats import among_warnings, found_warnings, holes_of
from airflow_provider_mm2.mirror.model import (
    ChunkLimits,
    CopiedRange,
    CopierSettings,
    Delivery,
    PartitionResult,
    Progress,
    RangeEnd,
    ShardResult,
    TopicPartition,
)
from airflow_provider_mm2.mirror.state.lease import Lease
from airflow_provider_mm2.mirror.state.ledger import to_record
from airflow_provider_mm2.mirror.state.pruning import to_removal
from airflow_provider_mm2.mirror.state.unfenced import turns_of

log = logging.getLogger(__name__)

Report = Callable[[Progress], None]


@dataclass(slots=True)
class _Tally:
    """What a run has done with one partition so far."""

    records: int = 0
    bytes: int = 0
    target_start: int | None = None
    target_end: int | None = None
    ended: RangeEnd | None = None
    future: tuple[int, int] | None = None
    future_records: int = 0

    def add(self, copied: CopiedRange) -> None:
        """Take in one chunk."""
        self.records += copied.records
        self.bytes += copied.bytes
        self.ended = copied.ended
        self.future = self.future or copied.future
        self.future_records += copied.future_records
        span = target_span(copied.segments)
        if span is not None:
            self.target_start = span[0] if self.target_start is None else self.target_start
            self.target_end = span[1]


@dataclass(slots=True)
class _Run:
    """One attempt at a shard, past step 4."""

    shard: Shard
    admission: Admission
    copier: Copier
    book: LedgerBook
    lease: Lease
    tick: Tick
    report: Report
    began: float
    tallies: dict[TopicPartition, _Tally] = field(default_factory=dict)
    among: Counter[TopicPartition] = field(default_factory=Counter)
    transactions: int = 0
    copy_seconds: float = 0.0


def replicate_shard(shard: Shard, *, owner: str, stop: Event, report: Report) -> ShardResult:
    """Mirror one shard up to its bounds, exactly once.

    :param owner: who this is, as a waiting run is told.
    :param stop: set by whoever wants the run to abort and leave.
    :raises MirrorError: nothing of the last transaction is visible then, or all of it is.
    """
    began = time.monotonic()
    flow, target = shard.flow, shard.pair.target
    transactional_id = naming.transactional_id(flow.name, shard.number)
    group = naming.lease_group(transactional_id)
    membership = target.membership(group, naming.gate_topic(flow.name), owner, flow.lease_session_s)

    def stopped() -> None:
        if stop.is_set():
            raise Stopped

    with Lease(membership, group=group, session_s=flow.lease_session_s) as lease:
        lease.acquire(flow.lease_wait_s, stopped)  # step 1

        def tick() -> None:
            stopped()
            lease.keep()

        copier = shard.pair.copier(_copier_settings(shard, transactional_id))
        try:
            tick()
            copier.fence(tick)  # step 2
            admission = admit(shard, lease, tick)  # steps 3 and 4
            book = LedgerBook(admission.record, admission.facts, flow.delivery)
            run = _Run(shard, admission, copier, book, lease, tick, report, began)
            return _copy_all(run)
        except Fenced as fenced:
            raise _explained(fenced, lease, flow.delivery) from fenced
        finally:
            copier.close()


def _copier_settings(shard: Shard, transactional_id: str) -> CopierSettings:
    return CopierSettings(
        flow=shard.flow.name,
        transactional_id=transactional_id,
        progress_group=naming.progress_group(shard.flow.name),
        transaction_timeout_s=shard.flow.transaction_timeout_s,
        max_record_bytes=shard.prepared.max_record_bytes,
        batch_bytes=shard.prepared.batch_bytes,
        silence_limit_s=shard.flow.silence_limit_s,
        watched=(
            TopicPartition(naming.ledger_topic(shard.flow.name), shard.number),
            TopicPartition(naming.gate_topic(shard.flow.name), 0),
        ),
    )


def _explained(fenced: Fenced, lease: Lease, delivery: Delivery) -> MirrorError:
    """Say whether a successor came or the transaction timed out: the lease knows."""
    if delivery is Delivery.AT_LEAST_ONCE:
        return Overtaken(writer=fenced.transactional_id, what=fenced.why)
    try:
        lease.confirm()
    except LeaseLost:
        why = f"another attempt has taken over ({fenced.why})"
    else:
        why = f"the lease is still ours, so the transaction timed out or a control write fenced it ({fenced.why})"
    return Fenced(transactional_id=fenced.transactional_id, why=why)


def _copy_all(run: _Run) -> ShardResult:
    """Steps 5 to 9."""
    to_read = [item for item in run.admission.ranges if item.start < item.end]
    run.tallies = {item.source: _Tally() for item in run.admission.ranges}
    for item in run.admission.ranges:
        if item.start >= item.end:
            run.tallies[item.source].ended = RangeEnd.BOUND
    run.copier.assign(to_read, run.admission.stable_taken_ms)
    try:
        if run.shard.flow.delivery is Delivery.AT_LEAST_ONCE:
            run.copier.begin()
            _write_state(run)
        while True:
            _copy_chunk(run)
            if all(tally.ended is not None for tally in run.tallies.values()):
                break
    except MirrorError:
        run.copier.abort()
        raise
    result = _result(run)
    _raise_hanging(run)
    return result


def _copy_chunk(run: _Run) -> None:
    flow = run.shard.flow
    run.copier.begin()  # step 5
    began = time.monotonic()
    limits = ChunkLimits(seconds=flow.chunk_seconds, bytes=flow.chunk.bytes)
    run.copier.copy(limits, _reporting(run))
    for copied in run.copier.flush(run.tick):  # step 6
        _check_strangers(run, copied)
        run.book.add(copied)
        run.tallies[copied.source].add(copied)
    if all(tally.ended is not None for tally in run.tallies.values()):
        _finish_book(run)
    _write_state(run)
    run.transactions += 1
    run.copy_seconds += time.monotonic() - began
    run.report(_progress(run))


def _write_state(run: _Run) -> None:
    """What the book has to write, in turns of which each leaves a ledger that is true; the newest entries come last."""
    flow, shard, entries = run.shard.flow.name, run.shard.number, run.book.take_unwritten()
    turns = turns_of(entries)
    records = [to_record(flow, shard, entry, turn) for entry, turn in zip(entries, turns, strict=True)]
    last = max(turns, default=0) + 1
    records += [to_removal(flow, shard, entry, last) for entry in run.book.take_removed()]
    progress = run.book.progress()
    run.copier.add(records, progress, run.tick)  # step 7
    run.copier.commit(run.tick)  # step 8
    run.copier.see(progress, _mapped_ends(run), run.tick)


def _mapped_ends(run: _Run) -> dict[TopicPartition, int]:
    """Target end of each partition that the run wrote to, without the marker: the LSO must reach it."""
    ends = {part: tally.target_end for part, tally in run.tallies.items()}
    return {run.book.entry(part).target: end for part, end in ends.items() if end is not None}


def _check_strangers(run: _Run, copied: CopiedRange) -> None:
    """Refuse a chunk among whose records, or before them, somebody else's lie. It is not committed then.

    A hole inside the chunk is behind our own open transaction, where no reader sees: it is aborted first. Without
    transactions it may be what an attempt sent late: that is counted and told.
    """
    if run.shard.flow.delivery is Delivery.AT_LEAST_ONCE:
        for found in holes_of(run.book, copied):
            seen = run.shard.pair.target.count_visible(found.target, found.start, found.end, run.tick)
            run.among[found.target] += seen
        return
    inside = run.book.hole_inside(copied)
    if inside is not None:
        run.copier.abort()
    hole = inside or run.book.hole_before(copied)
    if hole is None:
        return
    seen = run.shard.pair.target.count_visible(hole.target, hole.start, hole.end, run.tick)
    if seen:
        raise ForeignWrites(
            target_topic=hole.target.topic,
            partition=hole.target.partition,
            records=seen,
            start=hole.start,
            end=hole.end,
        )
    if inside is not None:
        problem = f"somebody wrote to {hole.target} in [{hole.start}, {hole.end}) meanwhile; nothing of it can be seen"
        transactional_id = naming.transactional_id(run.shard.flow.name, run.shard.number)
        raise TransactionFailed(transactional_id=transactional_id, problem=problem)


def _finish_book(run: _Run) -> None:
    """The run's last transaction says for every partition through which time it is mirrored."""
    for part, tally in run.tallies.items():
        log_ = run.admission.facts[part].source_log
        before = run.book.entry(part)
        through = run.shard.bounds.through(
            ended_by_cut=tally.ended is RangeEnd.CUT,
            stable_taken_ms=run.admission.stable_taken_ms,
            before=before.through_ms,
        )
        pending: tuple[int, int] | None = None
        if log_.stable < log_.end:
            still = before.pending is not None and before.pending[0] == log_.stable
            seen_ms = before.pending[1] if still and before.pending else run.admission.stable_taken_ms
            pending = (log_.stable, seen_ms)
        run.book.finish(part, through_ms=through, pending=pending)


def _reporting(run: _Run) -> Tick:
    """The tick of the copy loop: also a progress report every two seconds."""
    last = time.monotonic()

    def tick() -> None:
        nonlocal last
        run.tick()
        if time.monotonic() - last >= 2:
            last = time.monotonic()
            run.report(_progress(run))

    return tick


def _progress(run: _Run) -> Progress:
    left = sum(item.end - run.book.entry(item.source).next_offset for item in run.admission.ranges)
    return Progress(
        shard=run.shard.number,
        records=sum(tally.records for tally in run.tallies.values()),
        bytes=sum(tally.bytes for tally in run.tallies.values()),
        remaining=max(0, left),
        seconds=time.monotonic() - run.began,
    )


def _result(run: _Run) -> ShardResult:
    results = tuple(
        PartitionResult(
            source=item.source,
            target_topic=item.target.topic,
            start=item.start,
            end=run.book.entry(item.source).next_offset,
            bound=item.end,
            records=run.tallies[item.source].records,
            bytes=run.tallies[item.source].bytes,
            ended=run.tallies[item.source].ended or RangeEnd.BOUND,
            target_start=run.tallies[item.source].target_start,
            target_end=run.tallies[item.source].target_end,
            through_ms=run.book.entry(item.source).through_ms,
        )
        for item in run.admission.ranges
    )
    return ShardResult(
        shard=run.shard.number,
        partitions=results,
        transactions=run.transactions,
        seconds=time.monotonic() - run.began,
        copy_seconds=run.copy_seconds,
        warnings=tuple(_warnings(run, results)),
    )


def _warnings(run: _Run, results: Iterable[PartitionResult]) -> Iterable[str]:
    for part in run.admission.restored:
        yield f"{part}: the progress group had no offset (expired or deleted); restored from the ledger"
    yield from found_warnings(run.admission.facts.values())
    yield from among_warnings(sorted(run.among.items()))
    for late in run.admission.late:
        yield f"{late} came up after the plan and waits for the next run"
    for part, tally in run.tallies.items():
        if tally.future is not None:
            offset, stamp = tally.future
            yield (
                f"{part}: {tally.future_records} record(s) stamped in the future were copied and did not end the "
                f"interval, the first at offset {offset} stamped {show(stamp)}"
            )
    looked_at = [result for result in results if result.bound > result.start]
    if looked_at and not any(result.records for result in results):
        offsets = sum(result.bound - result.start for result in looked_at)
        yield (
            f"shard {run.shard.number}: {offsets:,} offset(s) to look at and no record to copy, on "
            f"{len(looked_at)} partition(s), the first {looked_at[0].source} (ended by {looked_at[0].ended.value} at "
            f"{looked_at[0].end}): all is stamped at the run's end or later, or was aborted"
        )


def _raise_hanging(run: _Run) -> None:
    """After all that can be read is mirrored: an open transaction that holds the source back for too long.

    :raises TransactionHangs: names the first one.
    """
    now_ms = run.admission.stable_taken_ms
    for part, fact in run.admission.facts.items():
        pending = run.book.entry(part).pending
        if pending is not None and now_ms - pending[1] > run.shard.flow.lso_stuck_s * 1000:
            raise TransactionHangs(
                topic=part.topic,
                partition=part.partition,
                stable=pending[0],
                end=fact.source_log.end,
                seconds=(now_ms - pending[1]) // 1000,
            )
