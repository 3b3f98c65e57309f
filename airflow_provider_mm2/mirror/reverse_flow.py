"""The way home of a flow: the opposite direction, derived from it and never a file of its own.

Source and target change places, state lies on its own target, and the selection is the same: what the flow mirrors away
under one name comes home under the name it had. It is called ``<flow>.reverse``.
"""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import Field, ValidationInfo, field_validator

from airflow_provider_mm2.mirror.clusters.mm2_topics import heartbeats_topic
from airflow_provider_mm2.mirror.clusters.naming import (
    DRILL,
    REVERSE,
    HomewardIdentityReplicationPolicy,
    HomewardReplicationPolicy,
    path_of,
    policy_of,
)
from airflow_provider_mm2.mirror.errors import NoWayHome
from airflow_provider_mm2.mirror.flow import Cut, MirrorFlow, TopicSync
from airflow_provider_mm2.mirror.flow_file import find_flow
from airflow_provider_mm2.mirror.flow_values import NAME_PATTERN
from airflow_provider_mm2.mirror.repoint_settings import RepointSettings
from airflow_provider_mm2.mirror.topic_names import is_plain_name

HOMEWARD = {"default": HomewardReplicationPolicy, "identity": HomewardIdentityReplicationPolicy}
"""Which policy undoes which."""


class ReverseFlow(MirrorFlow):
    """The way home of ``forward``."""

    name: str = Field(
        pattern=rf"^{NAME_PATTERN}({re.escape(DRILL)})?{re.escape(REVERSE)}\z", max_length=100 + len(DRILL + REVERSE)
    )
    forward: MirrorFlow = Field(repr=False, exclude=True)

    @field_validator("repoint")
    @classmethod
    def _fits_the_flow(cls, value: tuple[RepointSettings, ...], info: ValidationInfo) -> tuple[RepointSettings, ...]:
        """Take it as it is: it is the forward flow's, and was held against that one's topics."""
        return value


def reverse_of(flow: MirrorFlow) -> ReverseFlow:
    """The way home of a flow.

    MirrorMaker 2's topics are not written for it, and settings are carried home for new topics alone: what was changed
    on the target while it was the active side is for a person to judge.

    :raises NoWayHome: its replication policy cannot be undone, or it is a way home itself.
    """
    kind = HOMEWARD.get(flow.replication_policy)
    if isinstance(flow, ReverseFlow):
        raise NoWayHome(flow=flow.name, problem="it is a way home itself; its own is the flow it was derived from")
    if kind is None:
        problem = f"nothing is known that undoes its replication policy {flow.replication_policy}"
        raise NoWayHome(flow=flow.name, problem=problem)
    beats = {heartbeats_topic(policy_of(flow)), heartbeats_topic(policy_of(flow), flow.source.alias)}
    prefix = f"{flow.source.alias}{flow.separator}" if flow.replication_policy == "default" else ""
    return ReverseFlow(
        **{
            **{name: getattr(flow, name) for name in MirrorFlow.model_fields},
            "name": flow.name + REVERSE,
            "source": flow.target,
            "target": flow.source,
            "topics": tuple(_remote(prefix, pattern) for pattern in flow.topics),
            "topics_exclude": (
                *(_remote(prefix, pattern) for pattern in flow.topics_exclude),
                *(re.escape(name) for name in sorted(beats)),
            ),
            "replication_policy": path_of(kind),
            "cut": Cut.END,
            "engine": "bounded",
            "strict": False,
            "emit_checkpoints": False,
            "emit_offset_syncs": False,
            "emit_heartbeats": False,
            "sync_group_offsets": False,
            "sync_topics": TopicSync(configs="new"),
            "forward": flow,
        }
    )


def find_any_flow(name_or_path: str, folder: Path, *, relative_to: Path | None = None) -> MirrorFlow:
    """A flow as ``find_flow`` finds it; with ``.reverse`` behind its name or path, its way home.

    :raises FlowNotFound: nothing fits.
    :raises FlowInvalid: the file that fits is not a flow.
    :raises NoWayHome: the flow has none.
    """
    found = find_flow(name_or_path.removesuffix(REVERSE), folder, relative_to=relative_to)
    return reverse_of(found) if name_or_path.endswith(REVERSE) else found


def _remote(prefix: str, pattern: str) -> str:
    """A pattern of topics on the source, as one of what they are called on the target."""
    if not prefix or is_plain_name(pattern):
        return prefix + pattern
    return f"{re.escape(prefix)}(?:{pattern})"
