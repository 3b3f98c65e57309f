"""Retrying as Airflow does, and doing in between what an error tells an administrator to do."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_mm2.local.cluster import LocalCluster
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.proof import rig
from tests.proof.attempt import Outcome, Start
from tests.proof.truth import Truth

HANGING = ("CommitNotVisible", "OffsetsHeld", "TargetTransactionOpen")
"""Errors that tell to look for a hanging transaction and to end it."""


def repaired_until_done(start: Start, truth: Truth, target: LocalCluster, folder: Path, outcome: Outcome) -> str:
    """Retry until done; a commit that cannot be seen is ended with Kafka's tool first, as the error says.

    :returns: what the attempts ended with.
    """
    story: list[str] = []
    for _ in range(5):
        story.append("done" if outcome.done else str(outcome.error))
        if outcome.done:
            return ", ".join(story)
        if outcome.error in HANGING:
            hanging = rig.hanging(truth.target, written_by(truth))
            story.append(f"hanging: {hanging}")
            for part, offset in hanging.items():
                rig.abort_hanging(target, folder, part, offset)
            if not hanging and outcome.error == "OffsetsHeld":  # the coordinator alone holds them: it reads anew
                rig.process_of(target).kill()
                rig.restart(target)
        else:
            assert outcome.retriable or outcome.killed, str(outcome)
        outcome = start(truth.flow, owner="again").outcome(240)
    raise AssertionError(f"not done: {story}, the last {outcome}")


def written_by(truth: Truth) -> list[TopicPartition]:
    """Every partition that a transaction of the flow writes to: data, ledger and the progress group's offsets."""
    ledger = TopicPartition(f"mm2-offset-map.{truth.flow.name}.internal", 0)
    return [*map(truth.target_of, truth.source_partitions), ledger, rig.offsets_partition(truth.progress_group)]
