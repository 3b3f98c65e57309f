"""Which target topics other flows write, by the progress that each of them keeps on the target."""

from __future__ import annotations

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.errors import MirrorError


def claims_of_others(target: ClusterReader, flow: str, tick: Tick) -> dict[str, str]:
    """Target topic to the progress group of the flow that writes it, for all flows but ``flow``.

    :raises MirrorError: a progress group cannot be read.
    """
    ours = naming.progress_group(flow)
    names = [group.name for group in target.list_groups()]
    others = [name for name in names if name != ours and naming.is_progress_group(name)]
    claims: dict[str, str] = {}
    for group, found in target.group_offsets(others, tick, stable=False).items():
        if isinstance(found, MirrorError):
            raise found
        claims.update({part.topic: group for part in found.offsets})
    return claims
