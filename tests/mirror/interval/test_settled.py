"""What is still open on the target after the fence is told before anything else is judged."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.errors import CommitNotVisible, TargetTransactionOpen
from airflow_provider_mm2.mirror.interval.settled import check_settled
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.contract.fake_lab import FakeLab
from tests.contract.lab import Side, messages
from tests.fakes.log import Outcome

LEDGER = TopicPartition("mm2-offset-map.f.internal", 0)
DATA = TopicPartition("us.orders", 0)


def lab_with_topics() -> FakeLab:
    """A lab whose target has the ledger and one data topic."""
    lab = FakeLab()
    for part in (LEDGER, DATA):
        lab.create_topic(Side.TARGET, part.topic)
    return lab


def check(lab: FakeLab) -> None:
    """Look at the target."""
    check_settled(lab.pair.target, transactional_id="mm2.f.0", ledger=LEDGER, partitions=[DATA], seconds=2)


@pytest.mark.parametrize("outcome", [Outcome.COMMITTED, Outcome.ABORTED])
def test_ended_transactions_are_settled(outcome: Outcome) -> None:
    """Where every transaction has its marker, committed or aborted, there is nothing to say."""
    lab = lab_with_topics()
    for part in (LEDGER, DATA):
        lab.transaction(Side.TARGET, part, *messages(2), outcome=outcome)
    check(lab)


def test_open_on_the_ledger_was_ours() -> None:
    """Nobody else writes to the ledger: what is open there is a commit of ours that lost its markers, told with all."""
    lab = lab_with_topics()
    lab.open_transaction(Side.TARGET, LEDGER, *messages(1))
    lab.open_transaction(Side.TARGET, DATA, *messages(1))
    with pytest.raises(CommitNotVisible) as caught:
        check(lab)
    assert (caught.value.transactional_id, caught.value.partitions) == ("mm2.f.0", (str(LEDGER), str(DATA)))


def test_open_on_data_alone_may_be_a_strangers() -> None:
    """What is open on a data topic alone is told with its place; it may end by itself."""
    lab = lab_with_topics()
    lab.produce(Side.TARGET, DATA, *messages(3))
    lab.open_transaction(Side.TARGET, DATA, *messages(1))
    with pytest.raises(TargetTransactionOpen) as caught:
        check(lab)
    assert (caught.value.stable, caught.value.end, caught.value.retriable) == (3, 4, True)
