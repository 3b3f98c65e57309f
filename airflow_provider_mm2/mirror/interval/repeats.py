"""What ``delivery: at_least_once`` leaves on the target, and how it is told. Pure.

A chunk's records arrive before the ledger counts them. An attempt that dies in between leaves records beyond the
recorded end, which the next one copies again. Beside them may lie what a stranger wrote: records do not say who wrote
them. So both are counted and told together, and the run goes on behind them. The map has only what was counted: a
position is translated to the copy that was delivered as a whole, behind which nothing is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_provider_mm2.mirror.errors import COUNT_LIMIT
from airflow_provider_mm2.mirror.interval.book import Foreign, LedgerBook
from airflow_provider_mm2.mirror.interval.plan import PartitionFacts
from airflow_provider_mm2.mirror.model import CopiedRange, TopicPartition
from airflow_provider_mm2.mirror.state_model import Delivery, FlowRecord

_EITHER = "repeats of an attempt that died, or foreign; with delivery at_least_once they cannot be told apart"


def found_warnings(facts: Iterable[PartitionFacts]) -> Iterator[str]:
    """What an attempt with ``at_least_once`` left on the partitions of a run."""
    for fact in facts:
        if fact.may_repeat and fact.visible:
            counted = f"more than {COUNT_LIMIT - 1:,}" if fact.visible >= COUNT_LIMIT else f"{fact.visible:,}"
            many = f"{counted} record(s) beyond the recorded end {fact.recorded_end}"
            yield f"{fact.target}: {many}: {_EITHER}"
        if fact.lags:
            yield (
                f"{fact.target}: the progress group stood at {fact.group_offset}, behind the ledger's {fact.progress}: "
                "an attempt died between the two writes; the ledger decides"
            )


def holes_of(book: LedgerBook, copied: CopiedRange) -> Iterator[Foreign]:
    """Offsets before and among a chunk's records that the chunk did not write."""
    before = book.hole_before(copied)
    if before is not None:
        yield before
    yield from book.holes_inside(copied)


def among_warnings(found: Iterable[tuple[TopicPartition, int]]) -> Iterator[str]:
    """What lay among the records of a run, by target partition."""
    for target, records in found:
        yield f"{target}: {records:,} record(s) came among those of this run: {_EITHER}"


def change_warning(record: FlowRecord, delivery: Delivery) -> tuple[str, ...]:
    """That a run delivers in another way than the flow was recorded with; nothing when it does not."""
    if record.delivery is delivery:
        return ()
    return (f"delivery changes from {record.delivery.value} to {delivery.value}: {delivery.cost}",)
