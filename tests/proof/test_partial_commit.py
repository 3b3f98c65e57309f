"""A commit of which a broker wrote some markers only, after somebody aborted the rest: the loss is told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as KafkaPartition

from airflow_provider_mm2.mirror.model import Segment, TopicPartition
from airflow_provider_mm2.mirror.state.ledger import to_record
from tests.proof.attempt import Start
from tests.proof.campaign import retry_until_done
from tests.proof.conftest import MakeTruth
from tests.proof.eyes import LIMIT_S, Record
from tests.proof.truth import Truth

pytestmark = pytest.mark.broker


def aborted(truth: Truth, target: TopicPartition, records: list[Record]) -> int:
    """Write records to the target in a transaction that is aborted; the offset of the first."""
    start = truth.target.offsets([target], stable=False)[target]
    producer = Producer({**truth.target.settings, "transactional.id": f"{truth.flow.name}-data"})
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    for record in records:
        producer.produce(target.topic, record.value, record.key, target.partition)
    assert producer.flush(LIMIT_S) == 0
    producer.abort_transaction(LIMIT_S)
    return start


def counted(truth: Truth, part: TopicPartition, offsets: list[int], start: int) -> None:
    """Write the ledger and the progress as if the records of these source offsets had been committed."""
    latest = truth.ledger()[part].latest
    segments = tuple(Segment(source_start=at, target_start=start + i, count=1) for i, at in enumerate(offsets))
    entry = replace(
        latest,
        segments=latest.segments + segments,
        next_offset=truth.source.offsets([part])[part],
        target_end=start + len(offsets) + 1,
        records=latest.records + len(offsets),
        sequence=latest.sequence + 1,
    )
    record = to_record(truth.flow.name, 0, entry)
    producer = Producer({**truth.target.settings, "transactional.id": f"{truth.flow.name}-ledger"})
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    producer.produce(record.topic, record.value, record.key, record.partition)
    group = Consumer({**truth.target.settings, "group.id": truth.progress_group})
    progress = KafkaPartition(*truth.target_of(part), entry.next_offset)
    producer.send_offsets_to_transaction([progress], group.consumer_group_metadata(), LIMIT_S)
    producer.commit_transaction(LIMIT_S)
    group.close()


def test_aborted_behind_a_committed_ledger(new_truth: MakeTruth, start: Start) -> None:
    """Records that the ledger counts and that nobody can see stop the run: without that they were lost unnoticed."""
    truth = new_truth(partitions=1)
    truth.write(40)
    retry_until_done(start, truth.flow)
    (part,) = truth.source_partitions
    progress = truth.ledger()[part].latest.next_offset
    truth.write(40)
    new = {at: record for at, record in truth.source.read([part])[part].items() if at >= progress}
    counted(truth, part, list(new), aborted(truth, truth.target_of(part), list(new.values())))
    outcome = start(truth.flow).outcome()
    assert outcome.error == "MirroredRecordsHidden", str(outcome)
    assert "were aborted" in outcome.text
