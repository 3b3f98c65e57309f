"""Groups that have moved to the target at a failover: a mirror run never writes their offsets there again.

One record a group in the gate's topic, under a key of its own kind.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.errors import StateDamaged
from airflow_provider_mm2.mirror.json_text import compact_json, json_object
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord

VERSION = 1
KIND = "moved"

MovedGroups = Mapping[str, tuple[str, ...]]
"""Groups that have moved, with the source topics on which they have; none: on all."""


def moved_record(flow: str, group: str, topics: tuple[str, ...] | None) -> StateRecord:
    """The record of one group; ``topics`` None removes it."""
    key = compact_json({"kind": KIND, "group": group, "version": VERSION})
    value = None if topics is None else compact_json({"topics": list(topics), "version": VERSION})
    return StateRecord(topic=naming.gate_topic(flow), partition=0, key=key, value=value)


def read_moved(target: ClusterReader, flow: str, tick: Tick) -> MovedGroups:
    """The groups that have moved.

    :raises StateDamaged: a record cannot be believed.
    """
    topic = naming.gate_topic(flow)
    if not target.describe_topics([topic]):
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for record in target.read_state(TopicPartition(topic, 0), tick):
        key = json_object(record.key)
        if key.get("kind") != KIND:
            continue
        value = json_object(record.value) if record.value is not None else None
        is_known = isinstance(key.get("group"), str) and (value is None or value.get("version") == VERSION)
        if not is_known:
            problem = f"not a record of version {VERSION} of a group that has moved"
            raise StateDamaged(topic=topic, partition=0, offset=record.offset, problem=problem)
        found.pop(key["group"], None)
        if value is not None:
            found[key["group"]] = tuple(map(str, value.get("topics", ())))
    return found


def has_moved(moved: MovedGroups, group: str, topic: str | None = None) -> bool:
    """Whether a group has moved, with a topic given: on that one at least."""
    if group not in moved:
        return False
    return not moved[group] or topic in moved[group]
