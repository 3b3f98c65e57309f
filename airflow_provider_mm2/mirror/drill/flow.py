"""The flow of a drill: the real one's settings and credentials, on topics and groups that are thrown away."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from airflow_provider_mm2.mirror.clusters.naming import DRILL, DRILL_PREFIX
from airflow_provider_mm2.mirror.errors import NoDrillOfReverse
from airflow_provider_mm2.mirror.flow import Cut, DagSettings, MirrorFlow, TopicSync
from airflow_provider_mm2.mirror.flow_values import NAME_PATTERN
from airflow_provider_mm2.mirror.reverse_flow import ReverseFlow

PLAIN, TRANSACTIONS = "plain", "transactions"
CLASSIC, CONSUMER = "classic", "consumer"
REFRESH_S = 2
"""How often a drill's connectors look for topics and write positions, at least: a drill is short."""
WAIT_SESSIONS = 4
"""For how many sessions of a lease another drill, or a dead one, is waited for."""


class DrillFlow(MirrorFlow):
    """The flow of drills of ``real``; no flow of a file can have its name."""

    name: str = Field(pattern=rf"^{NAME_PATTERN}{re.escape(DRILL)}\z", max_length=100 + len(DRILL))
    real: str
    real_source: str


def drill_flow(flow: MirrorFlow) -> DrillFlow:
    """The flow of a drill beside a real one.

    It mirrors its own topics alone, changes no application's configuration, and writes nothing that others read. For
    that connectors get a source alias of their own: it names the topics in which MirrorMaker 2 keeps syncs and
    checkpoints.

    :raises NoDrillOfReverse: it is a way home.
    """
    if isinstance(flow, ReverseFlow):
        raise NoDrillOfReverse(flow=flow.name, forward=flow.forward.name)
    topics = tuple(f"{DRILL_PREFIX}.{flow.name}.{kind}" for kind in (PLAIN, TRANSACTIONS))
    groups = tuple(re.escape(f"{DRILL_PREFIX}.{flow.name}.{kind}") for kind in (CLASSIC, CONSUMER))
    own = {
        "name": flow.name + DRILL,
        "real": flow.name,
        "real_source": flow.source.alias,
        "lease_wait_s": min(flow.lease_wait_s, WAIT_SESSIONS * flow.lease_session_s),
        "topics": topics,
        "topics_exclude": (),
        "groups": groups,
        "groups_exclude": (),
        "sync_group_offsets": False,
        "emit_heartbeats": False,
        "repoint": (),
        "dag": DagSettings(),
    }
    return _by_connectors(flow, own) if flow.engine == "connect" else _by_runs(flow, own)


def _by_runs(flow: MirrorFlow, own: Mapping[str, Any]) -> DrillFlow:
    return DrillFlow(
        **{
            **{name: getattr(flow, name) for name in type(flow).model_fields if name in MirrorFlow.model_fields},
            **own,
            "cut": Cut.END,
            "strict": False,
            "on_gap": "stop",
            "on_recreated": "stop",
            "on_foreign_writes": "stop",
            "emit_checkpoints": False,
            "emit_offset_syncs": False,
            "sync_topics": TopicSync(),
        }
    )


def _by_connectors(flow: MirrorFlow, own: Mapping[str, Any]) -> DrillFlow:
    """With what the real flow gives alone: a default that is given is one that MirrorMaker 2 may not be able to do."""
    refresh_s = min(flow.connect.refresh_s, REFRESH_S)
    return DrillFlow(
        **{
            **{name: getattr(flow, name) for name in flow.model_fields_set if name in MirrorFlow.model_fields},
            **own,
            "source": flow.source.model_copy(update={"alias": f"{flow.source.alias}-{DRILL_PREFIX}"}),
            "connect": flow.connect.model_copy(update={"refresh_s": refresh_s}),
            "emit_checkpoints": True,
            "emit_offset_syncs": True,
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
