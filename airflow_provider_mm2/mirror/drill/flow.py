"""The flow of a drill: the real one's settings and credentials, on topics and groups that are thrown away."""

from __future__ import annotations

import re

from pydantic import Field

from airflow_provider_mm2.mirror.clusters.naming import DRILL, DRILL_PREFIX
from airflow_provider_mm2.mirror.errors import NoDrillOfReverse
from airflow_provider_mm2.mirror.flow import Cut, DagSettings, MirrorFlow, TopicSync
from airflow_provider_mm2.mirror.flow_values import NAME_PATTERN
from airflow_provider_mm2.mirror.reverse_flow import ReverseFlow

PLAIN, TRANSACTIONS = "plain", "transactions"
CLASSIC, CONSUMER = "classic", "consumer"
WAIT_SESSIONS = 4
"""For how many sessions of a lease another drill, or a dead one, is waited for."""


class DrillFlow(MirrorFlow):
    """The flow of drills of ``real``; no flow of a file can have its name."""

    name: str = Field(pattern=rf"^{NAME_PATTERN}{re.escape(DRILL)}\z", max_length=100 + len(DRILL))
    real: str


def drill_flow(flow: MirrorFlow) -> DrillFlow:
    """The flow of a drill beside a real one.

    It mirrors its own topics alone, changes no application's configuration, and writes nothing that others read.

    :raises NoDrillOfReverse: it is a way home.
    """
    if isinstance(flow, ReverseFlow):
        raise NoDrillOfReverse(flow=flow.name, forward=flow.forward.name)
    topics = tuple(f"{DRILL_PREFIX}.{flow.name}.{kind}" for kind in (PLAIN, TRANSACTIONS))
    groups = tuple(re.escape(f"{DRILL_PREFIX}.{flow.name}.{kind}") for kind in (CLASSIC, CONSUMER))
    return DrillFlow(
        **{
            **{name: getattr(flow, name) for name in type(flow).model_fields if name in MirrorFlow.model_fields},
            "name": flow.name + DRILL,
            "real": flow.name,
            "lease_wait_s": min(flow.lease_wait_s, WAIT_SESSIONS * flow.lease_session_s),
            "topics": topics,
            "topics_exclude": (),
            "groups": groups,
            "groups_exclude": (),
            "cut": Cut.END,
            "strict": False,
            "on_gap": "stop",
            "on_recreated": "stop",
            "on_foreign_writes": "stop",
            "sync_group_offsets": False,
            "emit_checkpoints": False,
            "emit_offset_syncs": False,
            "emit_heartbeats": False,
            "sync_topics": TopicSync(),
            "repoint": (),
            "dag": DagSettings(),
        }
    )


def prefix_of(flow: DrillFlow) -> str:
    """What the names of all topics and groups of applications begin with that a drill makes; nobody else's do."""
    return f"{DRILL_PREFIX}.{flow.real}."


def copy_group(flow: DrillFlow, group: str) -> str:
    """The group of a game day that stands where ``group`` would go on."""
    return f"{prefix_of(flow)}copy.{group}"


def journal_topic(flow: DrillFlow) -> str:
    """Where a drill notes on the target what it is about to make, so that the next one knows what a dead one left."""
    return f"{DRILL_PREFIX}.{flow.real}.internal"


def lease_group(flow: DrillFlow) -> str:
    """Lock group of drills of one flow: one at a time."""
    return f"mm2.{flow.name}.lease"
