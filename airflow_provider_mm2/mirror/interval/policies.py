"""What a flow's policies make of a verdict: it stops the run, or is accepted and goes on record. Pure.

``on_gap: accept``: records that were to be copied are gone from the source, or it has lost records that were copied;
the run goes on where the source does. ``on_recreated: restart``: a topic of either side was deleted and made anew; the
partition is mirrored from the source's start in a new generation. ``on_foreign_writes: warn`` or ``accept``: somebody
else's records lie behind ours; the run goes on behind them. All else always stops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_provider_mm2.mirror.errors import (
    ForeignWrites,
    MirrorError,
    SourceGap,
    SourceTopicRecreated,
    SourceTruncated,
    TargetTopicRecreated,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.incident_model import Incident, IncidentKind
from airflow_provider_mm2.mirror.interval.plan import PartitionFacts, judge, place_at
from airflow_provider_mm2.mirror.state.rebase import Rebased, begun_anew, rebase
from airflow_provider_mm2.mirror.state_model import PartitionLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A partition as a run takes it.

    :param facts: what was found, with the ledger that the run goes on from.
    :param rebased: what of that ledger is not on record yet; None: all of it is.
    :param problem: what stops the run all the same.
    """

    facts: PartitionFacts
    incidents: tuple[Incident, ...] = ()
    rebased: Rebased | None = None
    problem: MirrorError | None = None


def decide(flow: MirrorFlow, facts: PartitionFacts, source_cluster_id: str, now_ms: int) -> Decision:
    """Judge a partition, and what is left to judge of it after each thing that the flow accepts.

    :param now_ms: when the facts were read.
    """
    decision = Decision(facts=facts, problem=judge(facts))
    if decision.problem is None and facts.ledger is not None and not facts.ledger.latest.source_topic_id:
        return _identified(flow, facts, facts.ledger, source_cluster_id)
    while decision.problem is not None:
        accepted = _accept(flow, decision, decision.problem, source_cluster_id, now_ms)
        if accepted is None:
            return decision
        decision = accepted
    return decision


def _identified(flow: MirrorFlow, facts: PartitionFacts, ledger: PartitionLedger, source_cluster_id: str) -> Decision:
    """Put on record which topic of the source it is: the ledger was begun when that could not be asked."""
    rebased = begun_anew(ledger, place_at(facts, facts.progress, source_cluster_id, flow.delivery))
    return Decision(facts=replace(facts, ledger=rebased.ledger), rebased=rebased)


def _accept(
    flow: MirrorFlow, decision: Decision, verdict: MirrorError, source_cluster_id: str, now_ms: int
) -> Decision | None:
    """The decision with one verdict accepted, None when the flow does not."""
    facts = decision.facts
    if isinstance(verdict, ForeignWrites):
        if flow.on_foreign_writes == "stop":
            return None
        incident = Incident(
            kind=IncidentKind.FOREIGN_WRITES,
            topic=facts.source.topic,
            partition=facts.source.partition,
            at_ms=now_ms,
            start=verdict.start,
            end=verdict.end,
            records=verdict.records,
            decided_by=f"on_foreign_writes: {flow.on_foreign_writes}",
        )
        return _judged(decision, replace(facts, visible=0), incident)
    found = _place_of(flow, facts, verdict)
    if found is None or facts.ledger is None:
        return None
    kind, policy, offset, span = found
    is_anew = kind in (IncidentKind.SOURCE_RECREATED, IncidentKind.TARGET_RECREATED)
    incident = Incident(
        kind=kind,
        topic=facts.source.topic,
        partition=facts.source.partition,
        at_ms=now_ms,
        start=span[0],
        end=span[1],
        records=facts.ledger.records if is_anew else None,
        decided_by=policy,
    )
    rebased = rebase(facts.ledger, place_at(facts, offset, source_cluster_id, flow.delivery))
    hidden = facts.hidden and not is_anew
    moved = replace(facts, ledger=rebased.ledger, group_offset=None, hidden=hidden)
    return _judged(decision, moved, incident, rebased)


def _place_of(
    flow: MirrorFlow, facts: PartitionFacts, verdict: MirrorError
) -> tuple[IncidentKind, str, int, tuple[int, int]] | None:
    """Kind, policy, source offset to go on at and range concerned of what a policy of the flow accepts."""
    gap, restart = flow.on_gap == "accept", flow.on_recreated == "restart"
    log, progress = facts.source_log, facts.progress
    mirrored = (progress if facts.ledger is None else facts.ledger.entries[0].first, progress)
    if isinstance(verdict, SourceGap) and gap:
        return IncidentKind.GAP, "on_gap: accept", log.start, (verdict.start, verdict.end)
    if isinstance(verdict, SourceTruncated) and gap:
        return IncidentKind.TRUNCATED, "on_gap: accept", log.stable, (log.stable, progress)
    if isinstance(verdict, SourceTopicRecreated) and restart:
        return IncidentKind.SOURCE_RECREATED, "on_recreated: restart", log.start, mirrored
    if isinstance(verdict, TargetTopicRecreated) and restart:
        return IncidentKind.TARGET_RECREATED, "on_recreated: restart", log.start, mirrored
    return None


def made_anew(ledger: PartitionLedger, now_ms: int) -> Incident:
    """What ``on_recreated: restart`` puts on record of a target topic that is gone and is made anew."""
    latest = ledger.latest
    return Incident(
        kind=IncidentKind.TARGET_RECREATED,
        topic=latest.topic,
        partition=latest.partition,
        at_ms=now_ms,
        start=ledger.entries[0].first,
        end=latest.next_offset,
        records=ledger.records,
        decided_by="on_recreated: restart",
    )


def _judged(decision: Decision, facts: PartitionFacts, incident: Incident, rebased: Rebased | None = None) -> Decision:
    """A decision with one thing more accepted; no two of them move a partition."""
    return Decision(
        facts=facts,
        incidents=(*decision.incidents, incident),
        rebased=rebased or decision.rebased,
        problem=judge(facts),
    )
