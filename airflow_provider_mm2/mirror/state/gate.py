"""The gate: one record that fixes what a flow is and says whether a mirror run may write.

Every write is a transaction of the control id: under the control lease, after a fence, and only when what stands there
is still what the writer expects. A mirror run fences first and reads the gate after; the control side writes the gate
first and fences all ids after. That order leaves no window.

With ``delivery: at_least_once`` there are no fences: the lease is kept right before the write, and a run that is at
work looks before each of its own writes whether the gate was written to meanwhile.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, TargetCluster, Tick
from airflow_provider_mm2.mirror.errors import EngineDiffers, Fenced, FlowFrozen, HandOverUnderWay, StateDamaged
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state.lease import Lease
from airflow_provider_mm2.mirror.state_model import ActiveSide, Delivery, Engine, FlowRecord, StateRecord

log = logging.getLogger(__name__)

VERSION = 1
KEY = b'{"kind":"flow"}'


def encode(record: FlowRecord) -> bytes:
    """Bytes of the flow record."""
    words = {name: getattr(record, name).value for name in ("active_side", "delivery", "engine")}
    document = {**dataclasses.asdict(record), **words, "version": VERSION}
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def decode(value: bytes) -> FlowRecord:
    """The flow record from its bytes.

    :raises ValueError: not a flow record of a known version.
    """
    document: Any = json.loads(value)
    if not isinstance(document, dict) or document.pop("version", None) != VERSION:
        raise ValueError(f"not a flow record of version {VERSION}")
    try:
        side = ActiveSide(document["active_side"])
        delivery = Delivery(document.get("delivery", Delivery.EXACTLY_ONCE.value))
        engine = Engine(document.get("engine", Engine.BOUNDED.value))
        return FlowRecord(**{**document, "active_side": side, "delivery": delivery, "engine": engine})
    except (TypeError, KeyError) as error:
        raise ValueError(f"fields are missing or unknown: {error}") from error


def read_gate(target: ClusterReader, flow: str, tick: Tick) -> FlowRecord | None:
    """The flow record as it stands; None when the flow never ran.

    :raises StateDamaged: what stands there cannot be believed.
    """
    partition = TopicPartition(naming.gate_topic(flow), 0)
    found: FlowRecord | None = None
    for record in target.read_state(partition, tick):
        if record.key != KEY:
            continue
        try:
            found = None if record.value is None else decode(record.value)
        except ValueError as error:
            raise StateDamaged(topic=partition.topic, partition=0, offset=record.offset, problem=str(error)) from error
    return found


def find_gate(target: ClusterReader, flow: str, tick: Tick) -> FlowRecord | None:
    """The flow record where the gate's topic may not be there yet; None when the flow never ran.

    :raises StateDamaged: what stands there cannot be believed.
    """
    return read_gate(target, flow, tick) if target.describe_topics([naming.gate_topic(flow)]) else None


def write_gate(
    target: TargetCluster, *, expected: FlowRecord | None, new: FlowRecord, lease: Lease, tick: Tick
) -> None:
    """Replace the flow record, under the control lease that the caller holds.

    :raises Fenced: it is not what was expected any more, or another writer came.
    """
    writer = target.state_writer(naming.control_id(new.flow))

    def keep() -> None:
        tick()
        lease.keep()

    try:
        keep()
        writer.fence(tick)
        if read_gate(target, new.flow, tick) != expected:
            raise Fenced(transactional_id=naming.control_id(new.flow), why="the flow record was changed meanwhile")
        record = StateRecord(topic=naming.gate_topic(new.flow), partition=0, key=KEY, value=encode(new))
        writer.write([record], keep)
    finally:
        writer.close()
    log.info(
        "flow %s recorded: %d shard(s), %s, active side %s",
        new.flow,
        new.shards,
        new.delivery.value,
        new.active_side.value,
    )


def check_open(record: FlowRecord) -> None:
    """Refuse while the gate is shut.

    :raises FlowFrozen: a failover forbids mirror runs.
    """
    if record.frozen or record.active_side is not ActiveSide.SOURCE:
        raise FlowFrozen(flow=record.flow, active_side=record.active_side.value, frozen=record.frozen)


def check_engine_on_record(record: FlowRecord, engine: Engine) -> None:
    """Refuse whoever mirrors in place of what does by the record: everything would come twice.

    :param engine: what wants to mirror.
    :raises EngineDiffers: another engine mirrors the flow.
    :raises HandOverUnderWay: none does until a hand-over is finished.
    """
    if record.engine is Engine.TO_CONNECT:
        raise HandOverUnderWay(flow=record.flow)
    if record.engine is not engine:
        raise EngineDiffers(flow=record.flow, recorded=record.engine.value, given=engine.value)
