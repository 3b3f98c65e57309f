"""The copy of one shard, exactly once. The steps are numbered here and cited elsewhere.

0. Prepare (once a run, ``topics.py``): internal topics, flow record, target topics with partitions and settings.
1. Lease: one live holder a shard, kept in every wait below.
2. Fence: ends any earlier attempt and its open transaction.
3. Read gate, ledger and progress group, and compare (``admission.py``).
4. Bound: the source's last stable offsets; identities, gaps, strangers checked (``admission.py``).
5. Begin, and copy until a limit is met or every partition is done.
6. Flush: the deliveries tell the target offsets. The topics must still be those of step 4.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import Copier, Tick
from airflow_provider_mm2.mirror.errors import (
    ChangedMeanwhile,
    CommitNotVisible,
    Fenced,
    ForeignWrites,
    LeaseLost,
    MirrorError,
    Overtaken,
    SourceGap,
    SourceTopicRecreated,
    TargetTopicGone,
    TargetTopicRecreated,
    TransactionFailed,
    TransactionHangs,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.incident_model import Incident, IncidentKind
from airflow_provider_mm2.mirror.interval.admission import Admission, Shard, admit
from airflow_provider_mm2.mirror.interval.book import LedgerBook
from airflow_provider_mm2.mirror.interval.identity import check_topics
from airflow_provider_mm2.mirror.interval.outcome import Tally, partition_results, run_warnings
from airflow_provider_mm2.mirror.interval.repeats import holes_of
from airflow_provider_mm2.mirror.model import (
    ChunkLimits,
    CopiedRange,
    CopierSettings,
    Progress,
    RangeEnd,
    ShardResult,
    TopicPartition,
)
from airflow_provider_mm2.mirror.state.incidents import counted_up, read_incidents
from airflow_provider_mm2.mirror.state.incidents import to_record as incident_record
from airflow_provider_mm2.mirror.state.lease import Lease, held_lease
from airflow_provider_mm2.mirror.state.turns import in_turns, watched_by
from airflow_provider_mm2.mirror.state_model import Delivery

log = logging.getLogger(__name__)

Report = Callable[[Progress], None]


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
    incidents: list[Incident]
    tallies: dict[TopicPartition, Tally] = field(default_factory=dict)
    among: Counter[TopicPartition] = field(default_factory=Counter)
    transactions: int = 0
    told: int = 0
    copy_seconds: float = 0.0


def replicate_shard(shard: Shard, *, owner: str, tick: Tick, report: Report) -> ShardResult:
    """Mirror one shard up to its bounds, exactly once.

    :param owner: who this is, as a waiting run is told.
    :param tick: called in every wait; raises when the run is to abort and leave.
    :raises MirrorError: nothing of the last transaction is visible then, or all of it is.
    """
    began = time.monotonic()
    flow, target = shard.flow, shard.pair.target
    transactional_id = naming.transactional_id(flow.name, shard.number)
    group, topic = naming.lease_group(transactional_id), naming.gate_topic(flow.name)

    with held_lease(flow, target, group=group, topic=topic, owner=owner, tick=tick) as lease:  # step 1
        tick = lease.keeping(tick)
        copier = shard.pair.copier(_copier_settings(shard, transactional_id))
        try:
            tick()
            copier.fence(tick)  # step 2
            admission = admit(shard, lease, tick)  # steps 3 and 4
            book = LedgerBook(admission.record, admission.facts, admission.rebased, delivery=flow.delivery)
            run = _Run(shard, admission, copier, book, lease, tick, report, began, list(admission.incidents))
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
        shared_target=shard.flow.on_foreign_writes != "stop",
        watched=watched_by(shard.flow.name, shard.number),
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
    run.tallies = {item.source: Tally() for item in run.admission.ranges}
    for item in run.admission.ranges:
        if item.start >= item.end:
            run.tallies[item.source].ended = RangeEnd.BOUND
    run.copier.assign(to_read, run.admission.stable_taken_ms)
    try:
        if run.shard.flow.delivery is Delivery.AT_LEAST_ONCE:
            run.copier.begin()
            _write_state(run)
        while True:
            with _told_as_policies_have_it(run.shard.flow):
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
    flushed = run.copier.flush(run.tick)  # step 6
    check_topics(run.shard.pair, run.admission.facts, _committed(run), run.tick)
    for copied in flushed:
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
    flow, shard = run.shard.flow.name, run.shard.number
    records = [incident_record(flow, incident) for incident in run.incidents[run.told :]]
    records += in_turns(flow, shard, run.book.take_unwritten(), run.book.take_removed())
    progress = run.book.progress()
    run.copier.add(records, progress, run.tick)  # step 7
    run.copier.commit(run.tick)  # step 8
    try:
        run.copier.see(progress, _mapped_ends(run), run.tick)
    except CommitNotVisible:
        check_topics(run.shard.pair, run.admission.facts, _committed(run), run.tick)  # a topic is another one by now?
        raise
    run.told = len(run.incidents)


def _committed(run: _Run) -> dict[TopicPartition, int]:
    """Next source offset of each partition, as the book has it."""
    return {part: run.book.entry(part).next_offset for part in run.admission.facts}


@contextmanager
def _told_as_policies_have_it(flow: MirrorFlow) -> Iterator[None]:
    """What a policy of the flow accepts at a run's start ends a run that copies only until it is run again.

    :raises ChangedMeanwhile: in place of such an error.
    """
    try:
        yield
    except (SourceTopicRecreated, TargetTopicRecreated, TargetTopicGone) as error:
        if flow.on_recreated != "restart":
            raise
        raise ChangedMeanwhile(change=error.first_line, policy="on_recreated: restart") from error
    except SourceGap as error:
        if flow.on_gap != "accept":
            raise
        raise ChangedMeanwhile(change=error.first_line, policy="on_gap: accept") from error


def _mapped_ends(run: _Run) -> dict[TopicPartition, int]:
    """Target end of each partition that the run wrote to, without the marker: the LSO must reach it."""
    ends = {part: tally.target_end for part, tally in run.tallies.items()}
    return {run.book.entry(part).target: end for part, end in ends.items() if end is not None}


def _check_strangers(run: _Run, copied: CopiedRange) -> None:
    """Refuse a chunk among whose records, or before them, somebody else's lie. It is not committed then.

    A hole inside the chunk is behind our own open transaction, where no reader sees: it is aborted first. A flow that
    shares its topics goes on, with what was found on record. Without transactions it may be what an attempt sent late:
    that is counted and told.
    """
    if run.shard.flow.delivery is Delivery.AT_LEAST_ONCE:
        for found in holes_of(run.book, copied):
            seen = run.shard.pair.target.count_visible(found.target, found.start, found.end, run.tick)
            run.among[found.target] += seen
        return
    if run.shard.flow.on_foreign_writes != "stop":
        run.incidents += _foreign_writes(run, copied)
        return
    inside = next(iter(run.book.holes_inside(copied)), None)
    if inside is not None:
        run.copier.abort()
    hole = inside or run.book.hole_before(copied)
    if hole is None:
        return
    seen = run.shard.pair.target.count_visible(hole.target, hole.start, hole.end, run.tick)
    if seen:
        raise ForeignWrites(
            topic=copied.source.topic,
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


def _foreign_writes(run: _Run, copied: CopiedRange) -> tuple[Incident, ...]:
    """What of others lies before a chunk's records, counted, and among them: at most so many, no reader sees it yet."""
    target, before = run.shard.pair.target, run.book.hole_before(copied)
    holes = list(run.book.holes_inside(copied))
    records = sum(hole.end - hole.start for hole in holes)
    if before is not None:
        records += target.count_visible(before.target, before.start, before.end, run.tick)
        holes.insert(0, before)
    if not records:
        return ()
    incident = Incident(
        kind=IncidentKind.FOREIGN_WRITES,
        topic=copied.source.topic,
        partition=copied.source.partition,
        at_ms=run.admission.stable_taken_ms,
        start=holes[0].start,
        end=holes[-1].end,
        records=records,
        decided_by=f"on_foreign_writes: {run.shard.flow.on_foreign_writes}",
    )
    known = read_incidents(target, run.shard.flow.name, run.tick)
    return counted_up([incident], (*known, *run.incidents))


def _finish_book(run: _Run) -> None:
    """The run's last transaction says for every partition through which time it is mirrored."""
    open_since = _open_since(run)
    for part, tally in run.tallies.items():
        log_ = run.admission.facts[part].source_log
        before = run.book.entry(part)
        through = run.shard.bounds.through(
            ended_by_cut=tally.ended is RangeEnd.CUT,
            stable_taken_ms=run.admission.stable_taken_ms,
            before=before.through_ms,
            open_since_ms=open_since.get(part),
        )
        pending: tuple[int, int] | None = None
        if log_.stable < log_.end:
            still = before.pending is not None and before.pending[0] == log_.stable
            seen_ms = before.pending[1] if still and before.pending else run.admission.stable_taken_ms
            pending = (log_.stable, seen_ms)
        run.book.finish(part, through_ms=through, pending=pending)


def _open_since(run: _Run) -> dict[TopicPartition, int]:
    """When the open transaction that ends a partition's stable part began, by the stamp of its first record.

    What lies behind it cannot be read yet, however old it is.
    """
    facts = run.admission.facts
    opened = {
        part: fact.source_log.stable for part, fact in facts.items() if fact.source_log.stable < fact.source_log.end
    }
    stamps = run.shard.pair.source.present(opened, aborted=True, tick=run.tick)
    return {part: stamps.get(part, -1) for part in opened}


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
    results = partition_results(run.admission, run.book, run.tallies)
    return ShardResult(
        shard=run.shard.number,
        partitions=results,
        transactions=run.transactions,
        seconds=time.monotonic() - run.began,
        copy_seconds=run.copy_seconds,
        warnings=tuple(run_warnings(run.shard, run.admission, run.tallies, run.incidents, results, run.among)),
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
