"""Seeding progress: look, judge every partition, and write ledger, progress and what goes on record, shard by shard.

Like a mirror run a seed holds the shard's lease, fences, reads, and writes in one transaction, so that a run that is at
work ends, and the next one finds all of it or nothing. It is judged twice: all of it before anything is written, and
each shard again behind its fence.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.errors import SeedRefused, SeedUnreadable
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.plan import PartitionFacts
from airflow_provider_mm2.mirror.interval.seed_look import NO_LOG, SeedLook, retentions
from airflow_provider_mm2.mirror.interval.seed_rules import (
    SeedRow,
)
from airflow_provider_mm2.mirror.interval.seed_writing import SeedWriter
from airflow_provider_mm2.mirror.interval.survey import Survey, survey_flow
from airflow_provider_mm2.mirror.interval.topics import prepare_topics
from airflow_provider_mm2.mirror.model import (
    TopicPartition,
)
from airflow_provider_mm2.mirror.offsets.seed import NoPoint, Points, Seed
from airflow_provider_mm2.mirror.offsets.seed_points import PointFinder
from airflow_provider_mm2.mirror.state.lease import Lease

ANOTHER = "choose another --from or --topic"
ANOTHER_OR_FORCE = f"{ANOTHER}, or take what it says into account with --force"
IN_A_TASK = {
    ANOTHER: "give the task another seed_from= or topics=",
    ANOTHER_OR_FORCE: "give the task another seed_from= or topics=, or force=True if what it says is meant",
}
"""What can be done about a refusal; force helps only where it was not given and every place is sure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedReport:
    """What a seed does or did, a row for each partition.

    :param passed_over: what could not be read where progress was taken from, and was not asked for.
    """

    flow: str
    seed: Seed
    rows: tuple[SeedRow, ...]
    force: bool
    applied: bool
    passed_over: tuple[str, ...] = ()

    @property
    def refused(self) -> tuple[str, ...]:
        """Why nothing of it may be written."""
        return tuple(why for row in self.rows if (why := row.refusal(force=self.force)) is not None)

    @property
    def changes(self) -> int:
        """How many partitions have something to be written."""
        return sum(row.changes for row in self.rows)

    def check(self) -> None:
        """Refuse what may not be written.

        :raises SeedRefused: says of which partitions, and what that comes from.
        """
        if self.refused:
            problems = [row for row in self.rows if row.problem is not None]
            raise SeedRefused(
                flow=self.flow,
                refused=self.refused,
                cause=self._cause(problems),
                otherwise=ANOTHER if self.force or problems else ANOTHER_OR_FORCE,
            )

    @staticmethod
    def _cause(problems: list[SeedRow]) -> str:
        if any(row.new is None for row in problems):
            return "what progress is taken from tells no sure place there"
        if problems:
            return "what it says is of another log than the source has now, or a transaction is still open"
        return "progress already stands elsewhere, or the two clusters are not as the seed says"

    def to_json(self) -> dict[str, Any]:
        """The document of ``mm2 seed --json``."""
        return {
            "flow": self.flow,
            "from": str(self.seed),
            "applied": self.applied,
            "changes": self.changes,
            "refused": list(self.refused),
            "passed_over": list(self.passed_over),
            "partitions": [
                {
                    "topic": row.source.topic,
                    "partition": row.source.partition,
                    "old": row.old,
                    "new": row.new,
                    "reason": "; ".join((row.reason, *((row.problem,) if row.problem else ()), *row.costs)),
                }
                for row in self.rows
            ],
        }


def seed_flow(
    flow: MirrorFlow,
    pair: ClusterPair,
    seed: Seed,
    *,
    topics: Collection[str],
    force: bool,
    apply: bool,
    owner: str,
    tick: Tick,
    points: Points | None = None,
    lease: Lease | None = None,
) -> SeedReport:
    """Set progress, or show what that would do.

    :param topics: source topics to be seeded; empty: all that the flow selects.
    :param points: where the caller knows what the seed gives.
    :param lease: the control lease, where the caller holds it.
    :raises SeedUnreadable: what the seed names, or a topic of ``topics``, is not there.
    :raises SeedRefused: with ``apply``: a partition is refused, and nothing was written.
    :raises SeedOvertaken: something changed since it was judged; shards before that are written.
    :raises MirrorError: a cluster cannot be read or written, or the flow cannot run as it stands.
    """
    survey = survey_flow(flow, pair, tick)
    chosen = _chosen(survey, seed, topics)
    look = SeedLook(flow, pair, seed, tick)
    facts = look.facts(survey, chosen)
    on_target = {fact.target for fact in facts.values() if fact.target_log is not NO_LOG}
    finder = PointFinder(flow, pair, {part: fact.target for part, fact in facts.items()}, on_target, tick)
    points = finder.find(seed) if points is None else _for_all(points, facts)
    if seed.kind.is_hearsay:
        look.copy_ends = finder.copy_ends([part for part, fact in facts.items() if fact.visible])
    rows = look.rows(facts, points, retentions(flow, survey))
    report = SeedReport(
        flow=flow.name,
        seed=seed,
        rows=tuple(rows.values()),
        force=force,
        applied=False,
        passed_over=tuple(finder.passed_over),
    )
    if not apply:
        return report
    report.check()
    if report.changes:
        prepared = prepare_topics(flow, pair, owner=owner, tick=tick, anew=chosen, lease=lease)
        writing = SeedWriter(look, prepared.record, points, force, owner)
        for number in range(prepared.shards):
            writing.write(number, {part: row for part, row in rows.items() if _is_of(part, number, prepared.shards)})
    return replace(report, applied=True)


def _for_all(points: Points, facts: Mapping[TopicPartition, PartitionFacts]) -> Points:
    return {part: points.get(part) or _no_offset(fact) for part, fact in facts.items()}


def _no_offset(fact: PartitionFacts) -> NoPoint:
    """Connectors tell nothing of a partition: that is right where nothing is on the target but what runs brought."""
    if not fact.visible:
        return NoPoint(why="the connectors have copied nothing of it")
    why = f"the connectors have no offset of it, and the target holds {fact.visible:,} record(s) that no run brought"
    return NoPoint(why=why, refused=True)


def _is_of(part: TopicPartition, shard: int, shards: int) -> bool:
    return naming.shard_of(part, shards) == shard


def _chosen(survey: Survey, seed: Seed, topics: Collection[str]) -> tuple[str, ...]:
    """The topics to be seeded, all selected."""
    strangers = sorted(set(topics) - set(survey.source_topics))
    if strangers:
        problem = f"the flow does not mirror {', '.join(map(repr, strangers))}"
        cause = "a misspelt topic, the target's name in place of the source's, or the flow's patterns leave it out"
        raise SeedUnreadable(seed=str(seed), problem=problem, cause=cause)
    return tuple(name for name in survey.source_topics if not topics or name in topics)
