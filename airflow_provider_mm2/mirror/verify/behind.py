"""Records on the target behind the mirrored end: nobody knows them, unless a run has just written them.

A run commits its records and their ledger entry in one transaction. So what was visible on the target when its end was
read is in the ledger as it is read after that, once no transaction is open on the ledger's topic; what is not there was
written by somebody else. Where this cannot be told it is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import LogOffsets, TopicPartition
from airflow_provider_mm2.mirror.state_model import ActiveSide, Delivery, FlowRecord
from airflow_provider_mm2.mirror.status import read_recorded
from airflow_provider_mm2.mirror.verify.findings import Kind
from airflow_provider_mm2.mirror.verify.map_places import OnRecord, covered
from airflow_provider_mm2.mirror.verify.report import PartResult

BEHIND = "it lies behind the mirrored end: somebody else wrote it, and the next run refuses it"


def tell_behind(flow: MirrorFlow, pair: ClusterPair, results: Sequence[PartResult], tick: Tick) -> list[str]:
    """Add records behind the mirrored end to what was found; gives warnings of those that need not be wrong."""
    asked = [each for each in results if each.part.offset_map is not None and not each.part.is_cut]
    stable = {part: log.stable for part, log in pair.target.log_offsets([each.part.target for each in asked]).items()}
    is_at_work = _is_at_work(flow, pair) if asked else False
    record, ledgers = read_recorded(flow.name, pair.target, tick=tick)
    warnings: list[str] = []
    for result in asked:
        part = result.part
        ledger = ledgers.get(part.source)
        if ledger is None or ledger.latest.target_topic_id != part.topic_ids[1]:
            continue
        start = max(ledger.latest.target_end, result.target_seen)
        strange = list(_strange(result, pair, (start, stable[part.target]), tick))
        records = sum(count for _, count in strange)
        reason = _reason(flow, record, is_at_work=is_at_work)
        if records and reason is not None:
            warnings.append(f"{part.source}: {records:,} record(s) lie behind the mirrored end {start:,}: {reason}")
            continue
        for at, count in strange:
            result.findings.add(Kind.FOREIGN, target=at, records=count, detail=BEHIND)
    return warnings


def _is_at_work(flow: MirrorFlow, pair: ClusterPair) -> bool:
    """Whether a transaction is open on the flow's ledger."""
    topic = naming.ledger_topic(flow.name)
    shards = pair.target.describe_topics([topic])[topic].partitions
    logs: Mapping[TopicPartition, LogOffsets] = pair.target.log_offsets(
        [TopicPartition(topic, n) for n in range(shards)]
    )
    return any(log.stable < log.end for log in logs.values())


def _reason(flow: MirrorFlow, record: FlowRecord, *, is_at_work: bool) -> str | None:
    """Why records there need not be wrong; None: they are."""
    if record.frozen or record.active_side is not ActiveSide.SOURCE:
        return "the flow was failed over, and applications may write there"
    if record.delivery is Delivery.AT_LEAST_ONCE or flow.delivery is Delivery.AT_LEAST_ONCE:
        return "an attempt may have left them, or somebody else wrote them"
    if flow.on_foreign_writes != "stop":
        return "somebody else wrote them, which on_foreign_writes lets pass"
    return "a run may be at work" if is_at_work else None


def _strange(result: PartResult, pair: ClusterPair, span: tuple[int, int], tick: Tick) -> Iterator[tuple[int, int]]:
    """What is visible there and on no record, as (offset, count)."""
    if span[0] >= span[1]:
        return
    part = result.part
    ranges = OnRecord.of(part.incidents, part.turned).target
    with closing(pair.target.read_columns(part.target, *span, tick)) as read:
        for columns in read:
            at = columns.start
            while at < columns.end:
                kind, until = covered(ranges, at)
                end = columns.end if until is None else min(until, columns.end)
                if kind is None:
                    yield at, end - at
                at = end
