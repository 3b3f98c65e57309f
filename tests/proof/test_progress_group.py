"""The progress group is lost: expired by the broker or deleted; the ledger decides, and nothing is copied again."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.local.wait import poll
from tests.conftest import MakeCluster
from tests.proof.attempt import Outcome, Start
from tests.proof.campaign import Scenario, retry_until_done, run_all
from tests.proof.conftest import SOAK, MakeTruth
from tests.proof.truth import Truth, make_truth

pytestmark = pytest.mark.broker

EXPIRY_LIMIT_S = 240.0


def restored(outcome: Outcome) -> list[str]:
    """Warnings of a run that name a partition whose progress came from the ledger."""
    assert outcome.summary is not None
    return [warning for warning in outcome.summary["warnings"] if "restored from the ledger" in warning]


def mirrored(truth: Truth, start: Start) -> None:
    """Mirror the first hundred records of both partitions."""
    truth.write(100)
    retry_until_done(start, truth.flow)
    truth.assert_exact()


def test_deleted_group(new_truth: MakeTruth, start: Start) -> None:
    """A progress group that an administrator deleted is restored from the ledger, and the run says so (K97)."""
    truth = new_truth()
    mirrored(truth, start)
    truth.target.delete_group(truth.progress_group)
    assert truth.progress() == {}
    truth.write_to(1, 1)
    outcome = retry_until_done(start, truth.flow)[-1]
    assert outcome.records == 1
    assert len(restored(outcome)) == 2
    truth.assert_exact()
    assert restored(retry_until_done(start, truth.flow)[-1]) == []


def one_partition_expired(truth: Truth, start: Start) -> Scenario:
    """Runs go on for another partition until the quiet one's offset has expired; then it gets one record."""

    def scenario() -> str:
        mirrored(truth, start)
        quiet, busy = (truth.target_of(part) for part in truth.source_partitions)
        # As if runs committed only what they copied: the busy partition's offset alone is written again and again.
        progress = truth.progress()[busy]

        def expired() -> bool:
            truth.target.commit(truth.progress_group, {busy: progress})
            return quiet not in truth.progress()

        assert poll(expired, timeout_s=EXPIRY_LIMIT_S, interval_s=5), "the broker kept the offset"
        truth.write_to(0, 1)
        outcome = retry_until_done(start, truth.flow)[-1]
        assert outcome.records == 1
        assert len(restored(outcome)) == 1
        truth.assert_exact()
        return "1 copied"

    return scenario


def whole_group_expired(truth: Truth, start: Start) -> Scenario:
    """No run at all until the whole group has expired."""

    def scenario() -> str:
        mirrored(truth, start)

        def expired() -> bool:
            return truth.progress_group not in truth.target.groups()

        assert poll(expired, timeout_s=EXPIRY_LIMIT_S, interval_s=5), "the broker kept the group"
        truth.write_to(1, 1)
        outcome = retry_until_done(start, truth.flow)[-1]
        assert outcome.records == 1
        assert len(restored(outcome)) == 2
        truth.assert_exact()
        return "1 copied"

    return scenario


def runs_keep_all_alive(truth: Truth, start: Start) -> Scenario:
    """Runs that have nothing to copy of a partition commit its offset anew, so that it does not expire."""

    def scenario() -> str:
        mirrored(truth, start)
        other = make_truth(truth.source.settings, truth.target.settings)
        mirrored(other, start)
        runs = 0

        def other_expired() -> bool:
            nonlocal runs
            runs += 1
            truth.write_to(0, 1)
            assert restored(retry_until_done(start, truth.flow)[-1]) == []
            return other.progress_group not in truth.target.groups()

        assert poll(other_expired, timeout_s=EXPIRY_LIMIT_S, interval_s=10), "the broker expires nothing"
        truth.assert_exact()
        return f"alive after {runs} runs"

    return scenario


if SOAK:  # two minutes of waiting for the broker; the short form above deletes the group

    def test_expired_group(pair: LocalPair, make_cluster: MakeCluster, start: Start) -> None:
        """Offsets that expired are restored from the ledger; runs keep theirs alive (K97, both variants)."""
        target = make_cluster(
            properties={"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "5000"}
        )
        kinds = (one_partition_expired, whole_group_expired, runs_keep_all_alive)
        run_all(
            {
                f"{kind.__doc__}": kind(make_truth(pair.addresses["source"], target.client_settings), start)
                for kind in kinds
            }
        )
