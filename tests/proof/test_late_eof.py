"""A partition that was cut stands still, whatever still comes of it: a late end of partition moves nothing."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from confluent_kafka import KafkaError, Message

from airflow_provider_mm2.mirror.clusters.confluent.batch import PartitionCopy
from airflow_provider_mm2.mirror.model import CopyRange, RangeEnd, TopicPartition
from tests.proof.attempt import Start
from tests.proof.campaign import retry_until_done
from tests.proof.conftest import MakeTruth
from tests.proof.truth import BASE_MS

CUT_MS = BASE_MS + 3_600_000


def record(offset: int, stamp_ms: int) -> Message:
    """A record of the partition under test."""
    return Message(topic="orders", partition=0, offset=offset, key=b"k", value=b"v", timestamp=(1, stamp_ms))


def end_of_partition(offset: int) -> Message:
    """What the client says when it has read everything below ``offset``."""
    return Message(topic="orders", partition=0, offset=offset, error=KafkaError(KafkaError._PARTITION_EOF))


def cut_copy() -> PartitionCopy:
    """A partition of 100 offsets with a cut."""
    range_ = CopyRange(
        source=TopicPartition("orders", 0),
        target=TopicPartition("us.orders", 0),
        start=0,
        end=100,
        cut_ms=CUT_MS,
        leader_epoch=None,
    )
    return PartitionCopy(range_, CUT_MS + 86_400_000)


def accept(copy: PartitionCopy, *messages: Message) -> list[int | None]:
    """Hand over messages; the offsets that are to be sent on."""
    taken, _, error = copy.accept(list(messages), [message.timestamp()[1] for message in messages])
    assert error is None
    return [message.offset() for message in taken]


@pytest.mark.parametrize("apart", [False, True])
def test_late_end_of_partition_after_a_cut(apart: bool) -> None:
    """After the cut at 3 neither records nor the end at 100 move the position, in the same batch or a later one."""
    copy = cut_copy()
    early = [record(offset, BASE_MS + offset) for offset in range(3)]
    late = [record(3, CUT_MS), record(4, BASE_MS), end_of_partition(100)]
    batches = [early + late[:1], late[1:]] if apart else [early + late]
    sent = [offset for batch in batches for offset in accept(copy, *batch)]
    assert sent == [0, 1, 2]
    assert (copy.position, copy.ended) == (3, RangeEnd.CUT)


def test_end_of_partition_passes_what_is_not_seen() -> None:
    """Where nothing was cut, the end of partition passes markers and aborted records up to the bound."""
    copy = cut_copy()
    assert accept(copy, record(0, BASE_MS), end_of_partition(100)) == [0]
    assert (copy.position, copy.ended) == (100, RangeEnd.BOUND)


@pytest.mark.broker
def test_cut_in_slow_chunks(new_truth: MakeTruth, start: Start) -> None:
    """Cut partitions beside one that goes on over many chunks keep their place, and the next run takes the rest."""
    truth = new_truth(partitions=3, cut="interval")
    truth.write_to(2, 400)  # this one goes on while the others have been cut long ago
    truth.write(80)
    truth.write(200, hour=1)
    until = datetime.fromtimestamp(CUT_MS / 1000, timezone.utc)
    first = start(truth.flow, until=until).outcome()
    assert first.records == 3 * 80 + 400, "the cut fell elsewhere"
    assert first.summary is not None
    assert first.summary["transactions"] > 3, "the chunks were not small"
    progress = {part: ledger.latest.next_offset for part, ledger in truth.ledger().items()}
    assert {part: truth.progress()[truth.target_of(part)] for part in progress} == progress
    assert retry_until_done(start, truth.flow)[-1].records == 3 * 200
    truth.assert_exact()
