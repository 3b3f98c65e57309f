"""Step 7: the groups' positions are committed on the target; and how each gets back what it had there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from airflow_provider_mm2.mirror.errors import MirrorError, PlanChanged
from airflow_provider_mm2.mirror.group_model import GroupOffsets
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.commit import GroupCommitter, GroupOutcome
from airflow_provider_mm2.mirror.offsets.entry import sole_committer
from airflow_provider_mm2.mirror.recovery.moves import differences
from airflow_provider_mm2.mirror.recovery.planning import look
from airflow_provider_mm2.mirror.recovery.quiet import see_source_unchanged
from airflow_provider_mm2.mirror.recovery.record import FINE, IN_PLACE, GroupMove
from airflow_provider_mm2.mirror.recovery.work import Detail, Work
from airflow_provider_mm2.mirror.state.renewals import read_saved, saved_record, saved_removal

GIVEN_BACK = "has what it had"


def apply_offsets(work: Work) -> Detail:
    """Commit every group's position where nobody is in it; a group that cannot be written keeps no other back.

    Going back is not refused: the position is where the group stands on the source, and a person has approved it.

    :raises PlanChanged: what stands on the target is neither what was approved nor what is to be written, or the source
        is not any more as it was drained.
    """
    see_source_unchanged(work)
    moves, writer = work.journal.recorded.groups, work.groups_writer()
    with sole_committer(work.flow, work.target, work.owner, work.tick) as keep:
        committer = GroupCommitter(work.flow.name, work.target, writer=writer, may_rewind=True, tick=keep)
        saved = read_saved(work.target, work.flow.name, keep)
        committer.restore(saved)  # of a group that was being made anew when a process died
        found = look(work.flow, work.target, work.order, work.record, keep, live=None)
        changed = tuple(differences(moves, found.groups))
        if changed:
            raise PlanChanged(flow=work.flow.name, differences=changed[:20], count=len(changed))
        outcomes = committer.commit({name: move.wanted for name, move in moves.items() if not move.problem})
    work.journal.keep_groups(_with_result(moves[name], outcome) for name, outcome in outcomes.items())
    return tally(work.journal.recorded.groups)


def _with_result(move: GroupMove, outcome: GroupOutcome) -> GroupMove:
    members = outcome.members or move.members
    return replace(move, result=outcome.outcome.value, detail=outcome.detail, members=members)


def tally(moves: Mapping[str, GroupMove]) -> Detail:
    """How many groups ended how, and the names of those that are not in place."""
    counts: dict[str, int] = {}
    for move in moves.values():
        result = move.result or move.problem or "not done"
        counts[result] = counts.get(result, 0) + 1
    return {"results": counts, "not_moved": [name for name, move in moves.items() if move.result not in FINE][:50]}


def moved_groups(moves: Mapping[str, GroupMove]) -> tuple[str, ...]:
    """The groups that stand on the target where they should."""
    return tuple(name for name, move in moves.items() if move.result in IN_PLACE)


def read_back(work: Work) -> None:
    """See that nobody has changed the offsets since they were committed, but for groups that are at work there.

    :raises PlanChanged: somebody has; says which, with both values.
    """
    moves = {name: work.journal.recorded.groups[name] for name in moved_groups(work.journal.recorded.groups)}
    present = work.target.group_offsets(list(moves), work.tick, stable=False)
    states = work.target.describe_groups(list(moves), work.tick)
    found: list[str] = []
    for name, move in moves.items():
        answer, state = present[name], states[name]
        if isinstance(answer, MirrorError):
            raise answer
        if isinstance(state, MirrorError):
            raise state
        if state.members:
            continue
        for part, offset in move.expected.items():
            stands = answer.offsets.get(part)
            if stands is None or stands < offset:
                found.append(f"group {name}, {part}: stands at {stands}, was set to {offset}")
    if found:
        raise PlanChanged(flow=work.flow.name, differences=tuple(found[:20]), count=len(found))


def undo_offsets(work: Work) -> Detail:
    """Give every group what it had on the target before step 7, unless somebody has gone on from there.

    What it keeps is told; nothing that somebody else committed is lost.
    """
    moves = work.journal.recorded.groups.values()  # all: a process may have died between a commit and its record
    with sole_committer(work.flow, work.target, work.owner, work.tick) as keep:
        committer = GroupCommitter(work.flow.name, work.target, writer=work.groups_writer(), may_rewind=True, tick=keep)
        committer.restore(read_saved(work.target, work.flow.name, keep))
        undone = [replace(move, undone=_give_back(work, move)) for move in moves]
    work.journal.keep_groups(undone)
    left = {move.group: move.undone for move in undone if move.undone != GIVEN_BACK}
    return {"given_back": len(undone) - len(left), "left": left}


def _give_back(work: Work, move: GroupMove) -> str:
    """One group; gives what became of it."""
    state = work.target.describe_groups([move.group], work.tick)[move.group]
    answer = work.target.group_offsets([move.group], work.tick, stable=False)[move.group]
    if isinstance(state, MirrorError):
        return state.first_line
    if isinstance(answer, MirrorError):
        return answer.first_line
    before = {part.target: part.before for part in move.parts if part.target is not None and part.offset is not None}
    changed = {part for part, offset in before.items() if answer.offsets.get(part) != offset}
    if not changed:
        return GIVEN_BACK
    if state.members:
        return f"left as it is: somebody is in it ({', '.join(state.members[:5])})"
    wanted = move.wanted.offsets
    strange = [part for part in changed if answer.offsets.get(part) != wanted.get(part)]
    if strange:
        at, to = answer.offsets.get(strange[0]), wanted.get(strange[0])
        return f"left as it is: {strange[0]} stands at {at} and was set to {to}, so somebody went on from there"
    return _write_back(work, move, answer, before)


def _write_back(work: Work, move: GroupMove, present: GroupOffsets, before: Mapping[TopicPartition, int | None]) -> str:
    """Commit what was there; where something has to vanish, the group is made anew, saved meanwhile."""
    vanish = {part for part, offset in before.items() if offset is None}
    texts = {**present.metadata, **move.before.metadata}
    offsets = {part: offset for part, offset in {**present.offsets, **before}.items() if offset is not None}
    back = GroupOffsets(offsets=offsets, metadata={part: text for part, text in texts.items() if part in offsets})
    writer = work.groups_writer()
    if vanish:
        if back.offsets:
            writer.write([saved_record(work.flow.name, move.group, back)], work.tick)
        work.target.delete_group(move.group, work.tick)
    answer = work.target.commit_groups({move.group: back}, work.tick)[move.group] if back.offsets else {}
    if isinstance(answer, MirrorError):
        return f"not given back yet, it stays saved: {answer.first_line}"
    if vanish and back.offsets:
        writer.write([saved_removal(work.flow.name, move.group)], work.tick)
    refused = next(iter(answer.values()), None)
    return GIVEN_BACK if refused is None else refused.first_line
