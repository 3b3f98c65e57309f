"""What a game day is about: where a failover would put each real group now; read from both clusters alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters.naming import HEARTBEATS_TOPIC, policy_of
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.clusters.selection import select_topics
from airflow_provider_mm2.mirror.drill.places import Place, Unplaced, place_of
from airflow_provider_mm2.mirror.errors import ArgumentRefused, GroupsNotMirrored, MirrorError
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.group_model import GroupKind, GroupOffsets
from airflow_provider_mm2.mirror.model import LogOffsets, TopicPartition
from airflow_provider_mm2.mirror.offsets.translate import Reason
from airflow_provider_mm2.mirror.recovery.journal import read_recorded
from airflow_provider_mm2.mirror.recovery.moves import Plan
from airflow_provider_mm2.mirror.recovery.planning import check_none_open, find_record, look
from airflow_provider_mm2.mirror.recovery.record import GroupMove, Order, PartMove
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.mirror.state.gate import check_open
from airflow_provider_mm2.mirror.verify.scope import Part, VerifyOrder, scope_by_map

LIMIT_RECORDS = 10_000

SINCE = "committed on the source since the last run"


@dataclass(frozen=True, slots=True, kw_only=True)
class GameDayOrder:
    """What a person asks of a game day.

    :param topics: source topics; empty: all that are mirrored.
    :param groups: groups of the source; empty: all that have a position on these topics.
    :param limit_records: of each partition that a copy reads, and of what is not on the target, at most.
    """

    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    limit_records: int = LIMIT_RECORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class GamePlan:
    """Where every chosen group would go on, and both sides of the topics as they are.

    :param moves: groups as a failover would move them, those without a position on the topics left out.
    :param places: by group, where it would have a position.
    :param unplaced: by group, where it stands on the source and would have none.
    :param mirrored: the partitions that are mirrored.
    :param source_logs: every partition of these topics that the source has, and of those that are not mirrored yet.
    :param target_logs: of those that are mirrored.
    :param protocols: the group protocol of each group's members.
    """

    plan: Plan
    moves: Mapping[str, GroupMove]
    places: Mapping[str, tuple[Place, ...]]
    unplaced: Mapping[str, tuple[Unplaced, ...]]
    mirrored: tuple[Part, ...]
    source_logs: Mapping[TopicPartition, LogOffsets]
    target_logs: Mapping[TopicPartition, LogOffsets]
    protocols: Mapping[str, str]
    warnings: tuple[str, ...]

    @property
    def furthest(self) -> dict[TopicPartition, int]:
        """The source offset up to which some group has read each partition."""
        stands = [(each.part.source, each.stands) for found in self.places.values() for each in found]
        stands += [(each.source, each.stands) for found in self.unplaced.values() for each in found]
        found: dict[TopicPartition, int] = {}
        for part, offset in stands:
            found[part] = max(found.get(part, 0), offset or 0)
        return found


def make_plan(flow: MirrorFlow, pair: ClusterPair, order: GameDayOrder, tick: Tick) -> GamePlan:
    """Plan as an unplanned failover would: by what the last run read of the groups, from the target.

    The source is asked for its records and where the groups stand by now.

    :raises FlowNotPrepared: the flow never ran.
    :raises NothingMirrored: it has mirrored nothing, or never read the groups.
    :raises FlowFrozen: a failover forbids mirror runs.
    :raises FailoverUnderWay: somebody has a failover of the flow open.
    :raises NotOfTheFlow: a topic is not mirrored, or a group is not known.
    :raises GroupsNotMirrored: a group has no position on these topics.
    :raises MirrorError: a cluster cannot be read, or is not the one that was mirrored.
    """
    if order.limit_records < 1:
        raise ArgumentRefused(argument="limit_records", problem=f"{order.limit_records} is no number of records")
    record = find_record(flow, pair.target, tick)
    check_none_open(read_recorded(pair.target, flow.name, tick))
    check_open(record)
    asked = Order(mode=Mode.UNPLANNED, groups=order.groups, topics=order.topics, skip_repoint=True)
    plan = look(flow, pair.target, asked, record, tick, live=None)
    topics = tuple(end.topic for end in plan.topics)
    moves = {name: move for name, move in plan.groups.items() if move.problem or _has_position(move)}
    without = tuple(name for name in order.groups if name not in moves)
    if without or not moves:
        raise GroupsNotMirrored(flow=flow.name, groups=without or ("of the whole flow",), topics=topics)
    scope = scope_by_map(flow, pair, VerifyOrder(topics=order.topics), tick)  # later, so it has all that the plan has
    source_logs = _source_logs(pair, (*topics, *(() if order.topics else _new_topics(flow, pair, plan))))
    now, warnings = _positions_now(pair, moves, {part.topic for part in source_logs}, tick)
    places = _places(moves, now, scope.parts, source_logs)
    kinds = {listed.name: listed.kind for listed in pair.source.list_groups()}
    return GamePlan(
        plan=plan,
        moves=moves,
        places=places,
        unplaced={
            name: tuple(_unplaced(move, now[name], places[name], scope.parts, source_logs))
            for name, move in moves.items()
        },
        mirrored=scope.parts,
        source_logs=source_logs,
        target_logs=pair.target.log_offsets([part.target for part in scope.parts]),
        protocols={
            name: "consumer" if kinds.get(name) is GroupKind.CONSUMER else GroupKind.CLASSIC.value for name in moves
        },
        warnings=(*plan.warnings, *scope.warnings, *warnings),
    )


def _has_position(move: GroupMove) -> bool:
    return any(part.target is not None and part.source_offset is not None for part in move.parts)


def _places(
    moves: Mapping[str, GroupMove],
    now: Mapping[str, Mapping[TopicPartition, int]],
    mirrored: tuple[Part, ...],
    logs: Mapping[TopicPartition, LogOffsets],
) -> dict[str, tuple[Place, ...]]:
    parts = {part.source: part for part in mirrored}

    def places(name: str, move: GroupMove) -> Iterator[Place]:
        for each in move.parts:
            if each.source in parts and each.source in logs:
                at = now[name].get(each.source)
                place = place_of(name, each, at, parts[each.source], logs[each.source].end)
                yield from () if place is None else (place,)

    return {name: tuple(places(name, move)) for name, move in moves.items()}


def _unplaced(
    move: GroupMove,
    now: Mapping[TopicPartition, int],
    places: Sequence[Place],
    mirrored: tuple[Part, ...],
    logs: Mapping[TopicPartition, LogOffsets],
) -> Iterator[Unplaced]:
    """Where a group stands on the source and would stand nowhere on the target."""
    parts = {part.source: part for part in mirrored}
    planned = {part.source: part for part in move.parts if part.source in logs}
    placed = {place.part.source for place in places}
    for source in sorted({*planned, *now} - placed):
        known = planned.get(source)
        seen = None if known is None else known.source_offset
        stands = now.get(source, seen)
        if stands is None:
            continue
        is_planned = known is not None and known.target is not None
        reason = known.reason if known is not None and is_planned and seen is not None else None
        if reason is None:
            reason = SINCE if source in parts else Reason.NOT_YET.value
        yield Unplaced(
            group=move.group,
            source=source,
            now=now.get(source),
            stands=stands,
            part=parts.get(source),
            reason=reason,
            seen=seen,
            is_planned=is_planned,
        )


def _positions_now(
    pair: ClusterPair, moves: Mapping[str, GroupMove], topics: Collection[str], tick: Tick
) -> tuple[dict[str, Mapping[TopicPartition, int]], list[str]]:
    """Where the groups stand on the source by now; one that cannot be asked is taken as it was last seen."""
    found: dict[str, Mapping[TopicPartition, int]] = {}
    warnings: list[str] = []
    for name, answer in pair.source.group_offsets(sorted(moves), tick, stable=False).items():
        if isinstance(answer, MirrorError):
            warnings.append(f"group {name}: taken as the last run saw it: {answer.first_line}")
        offsets = answer.offsets if isinstance(answer, GroupOffsets) else {}
        found[name] = {part: offset for part, offset in offsets.items() if part.topic in topics}
    return found, warnings


def _new_topics(flow: MirrorFlow, pair: ClusterPair, plan: Plan) -> list[str]:
    """Topics of the flow that no run has mirrored yet; heartbeats are left out where its own stand in their place."""
    known = {HEARTBEATS_TOPIC, *(end.topic for end in plan.topics)}
    return [
        name for name in select_topics(flow, policy_of(flow), pair.source.list_topics()).topics if name not in known
    ]


def _source_logs(pair: ClusterPair, topics: tuple[str, ...]) -> Mapping[TopicPartition, LogOffsets]:
    there = pair.source.describe_topics(topics)
    return pair.source.log_offsets(
        [TopicPartition(name, number) for name, info in there.items() for number in range(info.partitions)]
    )


def is_unused(part: PartMove) -> bool:
    """Whether the group has no position because it never committed one."""
    return part.offset is None and part.source_offset is None and part.reason == Reason.NOT_COMMITTED.value


def warnings_of(plan: GamePlan) -> tuple[str, ...]:
    """Positions that a failover would not give, or not exactly; what a group never committed is told elsewhere."""
    told = [
        f"group {name}, {part.source}: not exact: {part.reason}"
        for name, move in plan.moves.items()
        for part in move.parts
        if part.target is not None and part.offset is not None and not part.exact
    ]
    without = [
        f"group {name}, {each.source}: no position on the target ({each.reason}); its consumers would "
        "begin where their auto.offset.reset says"
        for name, found in plan.unplaced.items()
        for each in found
    ]
    return (*without, *told)
