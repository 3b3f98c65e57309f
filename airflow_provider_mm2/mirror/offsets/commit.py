"""Committing translated positions to groups on the target: only where nobody is, and never backwards unasked.

For each group, right before it is written: look who is in it and what it has; decide; write every partition, moved or
not (an offset that is not written again expires seven days after its last commit); read back what stands there then.

A classic group that once had members and is empty expires by the time since it became empty, whatever is committed to
it: offsets applied to it were gone seconds later. So such a group, where it is to be moved, is made anew: all it has is
saved, the group deleted and all of it committed at once (after the same was committed to the old one, where a refusal
costs nothing), one group after the other, since an application that starts in between finds nothing.
What a crash in between leaves is put back by whichever flow comes next. One flow at a time does this on a target.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import islice

from airflow_provider_mm2.mirror.clusters.ports import StateWriter, TargetCluster, Tick
from airflow_provider_mm2.mirror.errors import GroupActive, MirrorError, TopicDeleted
from airflow_provider_mm2.mirror.group_model import GroupOffsets, GroupState
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state.renewals import saved_record, saved_removal

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
    MOVED = "has moved to the target, not written"
    ACTIVE = "active on target, skipped"
    PENDING = "in an open transaction on target, skipped"
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

    commits: GroupOffsets
    ahead: Offsets
    moves: bool = True


def decide(wanted: GroupOffsets, present: GroupOffsets, *, may_rewind: bool) -> Write:
    """What to write: the position, or where the target is ahead and must not go back what stands there. Pure.

    Source: MirrorMaker 2, ``MirrorCheckpointTask.syncGroupOffset``. There a group that is ahead is left out, so its
    offset expires.
    """
    offsets, there = wanted.offsets, present.offsets
    ahead = {part: there[part] - offset for part, offset in offsets.items() if there.get(part, -1) > offset}
    kept = GroupOffsets(offsets={}) if may_rewind else _only(present, ahead)
    return Write(commits=_over(wanted, kept), ahead=ahead, moves=offsets.keys() != kept.offsets.keys())


def _only(found: GroupOffsets, parts: Collection[TopicPartition]) -> GroupOffsets:
    return GroupOffsets(
        offsets={part: offset for part, offset in found.offsets.items() if part in parts},
        metadata={part: text for part, text in found.metadata.items() if part in parts},
    )


def _over(below: GroupOffsets, above: GroupOffsets) -> GroupOffsets:
    """What two sets of offsets give together; where both have one, ``above`` has it, with its metadata."""
    rest = _only(below, below.offsets.keys() - above.offsets.keys())
    return GroupOffsets(
        offsets={**rest.offsets, **above.offsets}, metadata={**rest.metadata, **_only(above, above.offsets).metadata}
    )


class GroupCommitter:
    """Writes groups of one flow on the target, while no other flow does.

    :param flow: its name.
    :param writer: where what a group has is kept while it is made anew, fenced already.
    """

    def __init__(self, flow: str, target: TargetCluster, *, writer: StateWriter, may_rewind: bool, tick: Tick) -> None:
        self._flow = flow
        self._target = target
        self._writer = writer
        self._may_rewind = may_rewind
        self._tick = tick
        self._unrestored: dict[str, str] = {}

    def restore(self, saved: Mapping[str, GroupOffsets]) -> None:
        """Put back what a crash, or somebody who joined in between, left of groups that were being made anew.

        Only where the group has nothing: what was committed since is newer. What cannot be put back stays saved, unless
        its topic is gone.
        """
        for name, found in saved.items():
            left, problem = self._put_back(name, found)
            if left.offsets:
                self._unrestored[name] = f"{len(left.offsets)} offset(s) saved earlier are not put back yet: {problem}"
                log.warning("group %s: %s", name, self._unrestored[name])
            record = saved_record(self._flow, name, left) if left.offsets else saved_removal(self._flow, name)
            self._writer.write([record], self._tick)

    def _put_back(self, name: str, saved: GroupOffsets) -> tuple[GroupOffsets, str]:
        """Put back what a group has lost; what of it is still to be put back, and why."""
        state = self._target.describe_groups([name], self._tick)[name]
        present = self._target.group_offsets([name], self._tick)[name]
        if isinstance(state, MirrorError):
            return saved, state.first_line
        if isinstance(present, MirrorError):
            return saved, present.first_line
        missing = _only(saved, saved.offsets.keys() - present.offsets.keys())
        if not missing.offsets:
            return missing, ""
        if state.members:
            return missing, f"somebody is in it ({', '.join(state.members[:5])})"
        said = self._target.commit_groups({name: missing}, self._tick)[name]
        if isinstance(said, MirrorError):
            return missing, said.first_line
        left = [part for part, error in said.items() if not isinstance(error, TopicDeleted)]
        log.warning("group %s: offsets put back that an earlier run had saved: %s", name, missing.offsets.keys() - left)
        return _only(missing, left), "; ".join(said[part].first_line for part in left)

    def commit(self, wanted: Mapping[str, GroupOffsets]) -> dict[str, GroupOutcome]:
        """Write groups; each one's failure is its own."""
        done = {name: GroupOutcome(outcome=Outcome.NOTHING) for name, found in wanted.items() if not found.offsets}
        for names in _some_of([name for name in wanted if wanted[name].offsets]):
            done |= self._commit_some({name: wanted[name] for name in names})
        for name in self._unrestored.keys() & done.keys():
            detail = "; ".join(filter(None, (self._unrestored[name], done[name].detail)))
            done[name] = replace(done[name], outcome=Outcome.FAILED, detail=detail)
        return done

    def _commit_some(self, wanted: Mapping[str, GroupOffsets]) -> dict[str, GroupOutcome]:
        states = self._target.describe_groups(list(wanted), self._tick)
        present = self._target.group_offsets(list(wanted), self._tick)
        done: dict[str, GroupOutcome] = {}
        writes: dict[str, Write] = {}
        anew: dict[str, GroupOffsets] = {}
        for name in wanted:
            state, found = states[name], present[name]
            if isinstance(state, MirrorError):
                done[name] = _failed(state)
            elif isinstance(found, MirrorError):
                done[name] = _failed(found)
            elif state.members:
                done[name] = _active(state)
            elif found.pending:
                done[name] = _pending(found)
            else:
                writes[name] = decide(wanted[name], found, may_rewind=self._may_rewind)
                if state.once_used and not _is_in_place(writes[name], found):
                    writes[name] = replace(writes[name], commits=_over(found, writes[name].commits))
                    anew[name] = found
        said = self._target.commit_groups({name: write.commits for name, write in writes.items()}, self._tick)
        done |= self._read_back(writes, said)
        sure = {name: found for name, found in anew.items() if done[name].outcome in (Outcome.WRITTEN, Outcome.KEPT)}
        return done | self._renew_all(sure, writes)

    def _renew_all(self, anew: Mapping[str, GroupOffsets], writes: Mapping[str, Write]) -> dict[str, GroupOutcome]:
        """Make groups anew, each by itself; what they have is saved until all of it is committed again."""
        if not anew:
            return {}
        self._writer.write([saved_record(self._flow, name, found) for name, found in anew.items()], self._tick)
        done: dict[str, GroupOutcome] = {}
        said: dict[str, Mapping[TopicPartition, MirrorError] | MirrorError] = {}
        kept: set[str] = set()
        for name in anew:
            try:
                self._target.delete_group(name, self._tick)
            except MirrorError as error:
                done[name] = self._refused(name, error)
                continue
            said[name] = self._target.commit_groups({name: writes[name].commits}, self._tick)[name]
            if isinstance(said[name], MirrorError):
                kept.add(name)
        log.info("%d group(s) made anew, since their members left and their offsets would expire", len(said))
        done |= self._read_back({name: writes[name] for name in said}, said)
        for name in kept:
            lost = f"it lost {len(anew[name].offsets)} offset(s), which are saved and are put back once nobody is in it"
            joined = f"{done[name].detail or done[name].outcome.value}, while it was made anew: {lost}"
            done[name] = replace(done[name], outcome=Outcome.FAILED, detail=joined)
        failed = {name for name in said if done[name].outcome is Outcome.FAILED}
        self._writer.write([saved_removal(self._flow, name) for name in anew if name not in failed], self._tick)
        return done

    def _read_back(
        self, writes: Mapping[str, Write], said: Mapping[str, Mapping[TopicPartition, MirrorError] | MirrorError]
    ) -> dict[str, GroupOutcome]:
        done: dict[str, GroupOutcome] = {}
        stands = self._target.group_offsets(list(writes), self._tick, stable=False)
        for name, write in writes.items():
            answer, found = said[name], stands[name]
            if isinstance(answer, MirrorError):
                done[name] = self._refused(name, answer)
            elif isinstance(found, MirrorError):
                done[name] = _failed(found)
            else:
                done[name] = _read_back(write, answer, found)
        return done

    def _refused(self, name: str, error: MirrorError) -> GroupOutcome:
        """What a refusal says; for a group that became active, who is in it."""
        if not isinstance(error, GroupActive):
            return _failed(error)
        state = self._target.describe_groups([name], self._tick)[name]
        return _active(state) if isinstance(state, GroupState) else _failed(state)


def _is_in_place(write: Write, found: GroupOffsets) -> bool:
    """Whether a group has all that it would get: its application's own offsets are not to be renewed by us."""
    return all(found.offsets.get(part) == offset for part, offset in write.commits.offsets.items())


def _read_back(write: Write, refused: Mapping[TopicPartition, MirrorError], found: GroupOffsets) -> GroupOutcome:
    offsets, ahead = write.commits.offsets, write.ahead
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


def _pending(found: GroupOffsets) -> GroupOutcome:
    parts = ", ".join(map(str, sorted(found.pending)[:5]))
    return GroupOutcome(
        outcome=Outcome.PENDING, detail=f"an open transaction of its application holds newer offsets of {parts}"
    )


def _some_of(names: list[str]) -> Iterator[list[str]]:
    rest = iter(names)
    while some := list(islice(rest, AT_A_TIME)):
        yield some
