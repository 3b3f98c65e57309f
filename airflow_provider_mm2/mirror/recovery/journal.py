"""What is recorded of failovers, in the gate's topic, and the one writer of it while a failover is at work.

The control lease is held and the control id fenced throughout, so two people cannot be at it at once; before each write
what stands there must be what this writer left. Steps, groups and repoints of earlier failovers go when the next one
begins; the failovers themselves stay.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, StateWriter, TargetCluster, Tick
from airflow_provider_mm2.mirror.errors import Fenced, StateDamaged
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.json_text import compact_json, json_object
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.recovery.record import FailoverRecord, GroupMove, StepNote
from airflow_provider_mm2.mirror.recovery.steps import PREFLIGHT, Stage, StepState
from airflow_provider_mm2.mirror.state import gate
from airflow_provider_mm2.mirror.state.control import control_lease
from airflow_provider_mm2.mirror.state.lease import Lease
from airflow_provider_mm2.mirror.state_model import FlowRecord, StateRecord

VERSION = 1
KIND = "failover"

_WHOLE, _STEP, _GROUP, _REPOINT = "whole", "step", "group", "repoint"
_FAILOVER, _NOTE, _MOVE = TypeAdapter(FailoverRecord), TypeAdapter(StepNote), TypeAdapter(GroupMove)

GROUPS_AT_ONCE = 200
"""Groups in one write, so that a transaction stays small."""


@dataclass(slots=True, kw_only=True)
class Recorded:
    """What stands in the gate's topic of the newest failover; ``failover`` None: there never was one."""

    failover: FailoverRecord | None = None
    steps: dict[int, StepNote] = field(default_factory=dict)
    groups: dict[str, GroupMove] = field(default_factory=dict)
    repoints: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def is_refused(self) -> bool:
        """Whether the first look failed and nothing was done after it."""
        preflight = self.steps.get(PREFLIGHT)
        return len(self.steps) == 1 and preflight is not None and preflight.state is StepState.FAILED


def read_recorded(target: ClusterReader, flow: str, tick: Tick) -> Recorded:
    """The newest failover of a flow and all of its steps.

    :raises StateDamaged: a record cannot be believed.
    """
    part = TopicPartition(naming.gate_topic(flow), 0)
    newest: dict[tuple[str, int, str], bytes | None] = {}
    for record in target.read_state(part, tick):
        key = _key(record.key)
        if key is not None:
            newest.pop(key, None)
            newest[key] = record.value
    recorded, number = Recorded(), max((number for _, number, _ in newest), default=0)
    for (what, of, name), value in newest.items():
        if of != number or value is None:
            continue
        try:
            _take(recorded, what, name, value)
        except (ValidationError, ValueError) as error:
            problem = f"of failover {of}, {what} {name}: {error}"
            raise StateDamaged(topic=part.topic, partition=0, offset=-1, problem=problem) from error
    return recorded


def _take(recorded: Recorded, what: str, name: str, value: bytes) -> None:
    document = json.loads(value)
    if document.pop("version", None) != VERSION:
        raise ValueError(f"not of version {VERSION}")
    if what == _WHOLE:
        recorded.failover = _FAILOVER.validate_python(document)
    elif what == _STEP:
        recorded.steps[int(name)] = _NOTE.validate_python(document)
    elif what == _GROUP:
        recorded.groups[name] = _MOVE.validate_python(document)
    else:
        recorded.repoints[name] = document["plan"]


class Journal:
    """The writer; open it with the control lease held."""

    def __init__(self, target: TargetCluster, flow: str, lease: Lease, tick: Tick) -> None:
        self._target = target
        self._flow = flow
        self.lease = lease
        self._stop = tick
        self._writer: StateWriter | None = None
        self.record: FlowRecord | None = None
        self.recorded = Recorded()

    def keep(self) -> None:
        """The tick of everything that a failover waits for: the lease is kept."""
        self._stop()
        self.lease.keep()

    def open(self) -> None:
        """Fence, then read the flow record and what is recorded; again after somebody of ours wrote to the gate.

        :raises FlowNotPrepared: see the caller; ``record`` is None then.
        """
        self.close()
        self.keep()
        self._writer = self._target.state_writer(naming.control_id(self._flow))
        self._writer.fence(self.keep)
        self.record = gate.read_gate(self._target, self._flow, self.keep)
        self.recorded = read_recorded(self._target, self._flow, self.keep)

    def begin(self, failover: FailoverRecord) -> None:
        """Record a new failover; what stood there of the one before goes, but for its own record."""
        old = self.recorded
        removals = []
        if old.failover is not None:
            number = old.failover.number
            names = ((_STEP, map(str, old.steps)), (_GROUP, old.groups), (_REPOINT, old.repoints))
            removals = [self._state(what, number, name, None) for what, some in names for name in some]
        self.recorded = Recorded(failover=failover)
        self._write([self._whole(failover), *removals])

    def change(self, **changes: Any) -> None:
        """Change the failover's own record."""
        self.recorded.failover = replace(self.failover, **changes)
        self._write([self._whole(self.failover)])

    def note(
        self,
        step: StepNote,
        *,
        gate_record: FlowRecord | None = None,
        failover: FailoverRecord | None = None,
        extra: Sequence[StateRecord] = (),
    ) -> None:
        """Record a step, and with it, in one transaction, what it changes of the gate, the failover and beside them."""
        self.recorded.steps[step.number] = step
        records = [self._state(_STEP, self.failover.number, str(step.number), _NOTE.dump_python(step, mode="json"))]
        if failover is not None:
            records.append(self._whole(failover))
        if gate_record is not None:
            records = [self._gated(gate_record), *(replace(record, turn=1) for record in records)]
        self._write([*extra, *records])
        self.record = gate_record or self.record
        self.recorded.failover = failover or self.recorded.failover

    def set_gate(self, gate_record: FlowRecord, *, extra: Sequence[StateRecord] = ()) -> None:
        """Replace the flow record, with what is written beside it in one transaction."""
        self._write([*extra, replace(self._gated(gate_record), turn=1)])
        self.record = gate_record

    def end_failover(self, stage: Stage, gate_record: FlowRecord, *, extra: Sequence[StateRecord] = ()) -> None:
        """Replace the flow record, and say what became of the failover, in one transaction."""
        ended = replace(self.failover, stage=stage)
        self.set_gate(gate_record, extra=[*extra, self._whole(ended)])
        self.recorded.failover = ended

    def keep_groups(self, moves: Iterable[GroupMove]) -> None:
        """Record groups, some at a time."""
        every = list(moves)
        for begin in range(0, len(every), GROUPS_AT_ONCE):
            some = every[begin : begin + GROUPS_AT_ONCE]
            self.recorded.groups |= {move.group: move for move in some}
            number = self.failover.number
            self._write(
                [self._state(_GROUP, number, move.group, _MOVE.dump_python(move, mode="json")) for move in some]
            )

    def keep_repoint(self, name: str, plan: Mapping[str, Any]) -> None:
        """Record how far one repoint is, and what it needs to be undone."""
        self.recorded.repoints[name] = plan
        self._write([self._state(_REPOINT, self.failover.number, name, {"plan": plan})])

    @property
    def failover(self) -> FailoverRecord:
        """The failover at work."""
        if self.recorded.failover is None:
            raise RuntimeError("no failover has begun")
        return self.recorded.failover

    def close(self) -> None:
        """Let the writer go."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _gated(self, gate_record: FlowRecord) -> StateRecord:
        topic = naming.gate_topic(self._flow)
        return StateRecord(topic=topic, partition=0, key=gate.KEY, value=gate.encode(gate_record))

    def _whole(self, failover: FailoverRecord) -> StateRecord:
        return self._state(_WHOLE, failover.number, "", _FAILOVER.dump_python(failover, mode="json"))

    def _state(self, what: str, number: int, name: str, document: Mapping[str, Any] | None) -> StateRecord:
        key = compact_json({"kind": KIND, "of": number, "what": what, "name": name, "version": VERSION})
        value = None if document is None else compact_json({**document, "version": VERSION})
        return StateRecord(topic=naming.gate_topic(self._flow), partition=0, key=key, value=value)

    def _write(self, records: Sequence[StateRecord]) -> None:
        """Write, if the flow record is still what this writer left.

        :raises Fenced: it is not, or another writer came.
        """
        if self._writer is None:
            raise RuntimeError("the journal is not open")
        self.keep()
        if gate.read_gate(self._target, self._flow, self.keep) != self.record:
            why = "the flow record was changed meanwhile"
            raise Fenced(transactional_id=naming.control_id(self._flow), why=why)
        self._writer.write(records, self.keep)


@contextmanager
def held_journal(flow: MirrorFlow, target: TargetCluster, owner: str, tick: Tick) -> Iterator[Journal]:
    """The journal of a flow, open, with the control lease held.

    :raises LeaseHeld: somebody else holds it; says who.
    """
    with control_lease(flow, target, owner, tick) as lease:
        journal = Journal(target, flow.name, lease, tick)
        try:
            journal.open()
            yield journal
        finally:
            journal.close()


def _key(data: bytes | None) -> tuple[str, int, str] | None:
    """What a record is of; None: it is of another kind."""
    document = json_object(data)
    if document.get("kind") != KIND:
        return None
    return str(document["what"]), int(document["of"]), str(document["name"])
