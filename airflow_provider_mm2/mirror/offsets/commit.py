"""Committing translated positions to groups on the target: only where nobody is, and never backwards unasked.

For each group, right before it is written: look who is in it and what it has; decide; write every partition, moved or
not (an offset that is not written again expires seven days after its last commit); read back what stands there then.

A classic group that once had members and is empty expires by the time since it became empty, whatever is committed to
it: offsets applied to it were gone seconds later. So such a group is made anew: all it has is saved in the flow's
state, the group deleted, all of it committed. What a crash in between leaves is put back by the next run.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import islice

from airflow_provider_mm2.mirror.clusters.ports import StateWriter, TargetCluster, Tick
from airflow_provider_mm2.mirror.errors import GroupActive, MirrorError, TopicDeleted
from airflow_provider_mm2.mirror.group_model import GroupOffsets, GroupState
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state.snapshot import saved_record, saved_removal

log = logging.getLogger(__name__)

AT_A_TIME = 100
"""Groups between a look and its write: few, so that a group that becomes active in between is rare."""

Offsets = Mapping[TopicPartition, int]


class Outcome(str, Enum):
    """What became of a group on the target."""

    WRITTEN = "written"
    KEPT = "kept, it is further on"
    NOT_ASKED = "not written"
    NOTHING = "nothing to do"
    ACTIVE = "active on target, skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOutcome:
    """What became of one group on the target.

    :param ahead: partitions that stand further on the target than the translated position, by how many offsets; they
        stay there unless rewinding is allowed.
    """

    outcome: Outcome
    detail: str = ""
    members: tuple[str, ...] = ()
    ahead: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """What a group gets, where it is ahead of that already, and whether it gets anything but what it has there."""

    offsets: Offsets
    ahead: Offsets
    moves: bool = True


def decide(wanted: Offsets, present: Offsets, *, may_rewind: bool) -> Write:
    """What to write: the position, or where the target is ahead and must not go back what stands there. Pure.

    Source: MirrorMaker 2, ``MirrorCheckpointTask.syncGroupOffset``. There a group that is ahead is left out, so its
    offset expires.
    """
    ahead = {part: present[part] - offset for part, offset in wanted.items() if present.get(part, -1) > offset}
    kept = {} if may_rewind else {part: present[part] for part in ahead}
    return Write(offsets={**wanted, **kept}, ahead=ahead, moves=wanted.keys() != kept.keys())


class GroupCommitter:
    """Writes groups of one flow on the target.

    :param writer: where what a group has is kept while it is made anew, fenced already.
    """

    def __init__(self, target: TargetCluster, *, flow: str, writer: StateWriter, may_rewind: bool, tick: Tick) -> None:
        self._target = target
        self._flow = flow
        self._writer = writer
        self._may_rewind = may_rewind
        self._tick = tick

    def restore(self, saved: Mapping[str, Offsets]) -> None:
        """Put back what a crash left of groups that were being made anew.

        Only where the group has nothing: what was committed since is newer. What is refused stays saved, unless its
        topic is gone.
        """
        for name, offsets in saved.items():
            present = self._target.group_offsets([name], self._tick)[name]
            if isinstance(present, MirrorError):
                raise present
            missing = {part: offset for part, offset in offsets.items() if part not in present.offsets}
            said = self._target.commit_groups({name: missing}, self._tick)[name]
            if isinstance(said, MirrorError) and not isinstance(said, GroupActive):
                raise said
            refused = {} if isinstance(said, MirrorError) else said
            left = {part: offsets[part] for part, error in refused.items() if not isinstance(error, TopicDeleted)}
            log.warning("group %s: offsets put back that an earlier run had saved: %s", name, missing.keys() - left)
            if left:
                log.warning("group %s: saved offsets that are still refused, and are kept: %s", name, left)
            record = saved_record(self._flow, name, left) if left else saved_removal(self._flow, name)
            self._writer.write([record], self._tick)

    def commit(self, wanted: Mapping[str, Offsets]) -> dict[str, GroupOutcome]:
        """Write groups; each one's failure is its own."""
        done = {name: GroupOutcome(outcome=Outcome.NOTHING) for name, offsets in wanted.items() if not offsets}
        for names in _some_of([name for name in wanted if wanted[name]]):
            done |= self._commit_some({name: wanted[name] for name in names})
        return done

    def _commit_some(self, wanted: Mapping[str, Offsets]) -> dict[str, GroupOutcome]:
        states = self._target.describe_groups(list(wanted), self._tick)
        present = self._target.group_offsets(list(wanted), self._tick)
        done: dict[str, GroupOutcome] = {}
        writes: dict[str, Write] = {}
        cleared: list[str] = []
        for name in wanted:
            state, found = states[name], present[name]
            if isinstance(state, MirrorError):
                done[name] = _failed(state)
            elif isinstance(found, MirrorError):
                done[name] = _failed(found)
            elif state.members:
                done[name] = _active(state)
            else:
                writes[name] = decide(wanted[name], found.offsets, may_rewind=self._may_rewind)
                if state.once_used:
                    writes[name] = replace(writes[name], offsets={**found.offsets, **writes[name].offsets})
                    refused = self._clear(name, found.offsets)
                    done |= {} if refused is None else {name: refused}
                    cleared += [name] if refused is None else []
        asked = {name: write.offsets for name, write in writes.items() if name not in done}
        done |= self._write(asked, writes)
        settled = [name for name in cleared if done[name].outcome in (Outcome.WRITTEN, Outcome.KEPT)]
        if settled:
            self._writer.write([saved_removal(self._flow, name) for name in settled], self._tick)
        return done

    def _clear(self, name: str, offsets: Offsets) -> GroupOutcome | None:
        """Delete a once used group, its offsets saved; what became of it where that is refused."""
        self._writer.write([saved_record(self._flow, name, offsets)], self._tick)
        try:
            self._target.delete_group(name, self._tick)
        except MirrorError as error:
            self._writer.write([saved_removal(self._flow, name)], self._tick)
            return self._refused(name, error)
        log.info("group %s: made anew, since its members left it and its offsets would expire", name)
        return None

    def _write(self, asked: Mapping[str, Offsets], writes: Mapping[str, Write]) -> dict[str, GroupOutcome]:
        done: dict[str, GroupOutcome] = {}
        said = self._target.commit_groups(asked, self._tick)
        stands = self._target.group_offsets(list(asked), self._tick, stable=False)
        for name in asked:
            answer, found = said[name], stands[name]
            if isinstance(answer, MirrorError):
                done[name] = self._refused(name, answer)
            elif isinstance(found, MirrorError):
                done[name] = _failed(found)
            else:
                done[name] = _read_back(writes[name], answer, found)
        return done

    def _refused(self, name: str, error: MirrorError) -> GroupOutcome:
        """What a refusal says; for a group that became active, who is in it."""
        if not isinstance(error, GroupActive):
            return _failed(error)
        state = self._target.describe_groups([name], self._tick)[name]
        return _active(state) if isinstance(state, GroupState) else _failed(state)


def _read_back(write: Write, refused: Mapping[TopicPartition, MirrorError], found: GroupOffsets) -> GroupOutcome:
    offsets, ahead = write.offsets, write.ahead
    missing = [part for part, offset in offsets.items() if part not in refused and found.offsets.get(part) != offset]
    problems = [f"{part}: {error.first_line}" for part, error in sorted(refused.items())]
    problems += [f"{part}: written {offsets[part]}, found {found.offsets.get(part)}" for part in sorted(missing)]
    if problems:
        return GroupOutcome(outcome=Outcome.FAILED, detail="; ".join(problems[:10]), ahead=ahead)
    return GroupOutcome(outcome=Outcome.WRITTEN if write.moves else Outcome.KEPT, ahead=ahead)


def _failed(error: MirrorError) -> GroupOutcome:
    return GroupOutcome(outcome=Outcome.FAILED, detail=error.first_line)


def _active(state: GroupState) -> GroupOutcome:
    return GroupOutcome(
        outcome=Outcome.ACTIVE,
        detail=f"{len(state.members)} member(s): {', '.join(state.members[:5])}",
        members=state.members,
    )


def _some_of(names: list[str]) -> Iterator[list[str]]:
    rest = iter(names)
    while some := list(islice(rest, AT_A_TIME)):
        yield some
