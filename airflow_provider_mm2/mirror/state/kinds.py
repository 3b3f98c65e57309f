"""Records of one kind beside the flow record, each a document of a known version under a key that says its kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.errors import StateDamaged
from airflow_provider_mm2.mirror.json_text import compact_json, json_object
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

VERSION = 1

T = TypeVar("T")


def kind_record(
    flow: str, kind: str, key: Mapping[str, object], document: DataclassInstance, turn: int = 0
) -> StateRecord:
    """The record that keeps a document of a kind.

    :param key: what tells it from others of its kind.
    """
    topic = naming.gate_topic(flow)
    key_bytes = compact_json({"kind": kind, **key, "version": VERSION})
    value = compact_json({**dataclasses.asdict(document), "version": VERSION})
    return StateRecord(topic=topic, partition=0, key=key_bytes, value=value, turn=turn)


def read_kind(cluster: ClusterReader, flow: str, kind: str, adapter: TypeAdapter[T], tick: Tick) -> Iterator[T]:
    """Every document of a kind, the oldest first; of one key the last one counts.

    :raises StateDamaged: a record cannot be believed.
    """
    topic = naming.gate_topic(flow)
    for record in cluster.read_state(TopicPartition(topic, 0), tick):
        if json_object(record.key).get("kind") != kind or record.value is None:
            continue
        document: dict[str, Any] = json_object(record.value)
        try:
            if document.pop("version", None) != VERSION:
                raise ValueError(f"not of version {VERSION}")
            found = adapter.validate_python(document)
        except (ValidationError, ValueError) as error:
            raise StateDamaged(topic=topic, partition=0, offset=record.offset, problem=str(error)) from error
        yield found
