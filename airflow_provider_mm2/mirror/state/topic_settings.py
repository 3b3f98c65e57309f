"""Which settings of target topics are the mirror's own: what it has set there, kept in the gate's topic.

One record a topic, under a key of its own kind. A setting that its source's topic does not override any more is removed
on the target only where this says that the mirror set it, and while it still has such a value. A name has several
values while one is being replaced by another, since a crash in between leaves either of them there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.errors import StateDamaged
from airflow_provider_mm2.mirror.json_text import compact_json, json_object
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord

VERSION = 1
KIND = "settings"

OwnSettings = Mapping[str, tuple[str, ...]]
"""Settings of one target topic that the mirror has set, each with the values that it may have given it."""


def settings_record(flow: str, topic: str, own: OwnSettings) -> StateRecord:
    """The record of one target topic; with no settings it removes the one before."""
    document = {"settings": {name: list(values) for name, values in own.items()}, "version": VERSION}
    key = compact_json({"kind": KIND, "topic": topic, "version": VERSION})
    value = compact_json(document) if own else None
    return StateRecord(topic=naming.gate_topic(flow), partition=0, key=key, value=value)


def decode_key(key: bytes | None) -> str | None:
    """The target topic that a record of the gate's topic is of; None: it is of another kind.

    :raises ValueError: it says that it is of this kind, and is not.
    """
    document = json_object(key)
    if document.get("kind") != KIND:
        return None
    if document.get("version") != VERSION or not isinstance(document.get("topic"), str):
        raise ValueError(f"not a key of version {VERSION} of a topic's settings")
    return str(document["topic"])


def decode_value(value: bytes) -> OwnSettings:
    """The settings of one topic.

    :raises ValueError: not a record of a known version.
    """
    document: Any = json.loads(value)
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise ValueError(f"not a topic's settings of version {VERSION}")
    found = document.get("settings")
    if not isinstance(found, dict) or not all(_are_values(values) for values in found.values()):
        raise ValueError("its settings are not names with lists of values")
    return {name: tuple(values) for name, values in found.items()}


def read_topic_settings(target: ClusterReader, flow: str, tick: Tick) -> dict[str, OwnSettings]:
    """What the mirror has set, by target topic; nothing where the flow never ran.

    :raises StateDamaged: a record cannot be believed.
    """
    partition = TopicPartition(naming.gate_topic(flow), 0)
    found: dict[str, OwnSettings] = {}
    if not target.describe_topics([partition.topic]):
        return found
    for record in target.read_state(partition, tick):
        try:
            topic = decode_key(record.key)
            if topic is not None:
                found[topic] = {} if record.value is None else decode_value(record.value)
        except ValueError as error:
            raise StateDamaged(topic=partition.topic, partition=0, offset=record.offset, problem=str(error)) from error
    return {topic: own for topic, own in found.items() if own}


def _are_values(values: object) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(value, str) for value in values)
