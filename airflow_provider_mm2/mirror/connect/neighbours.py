"""Connectors of somebody else beside a flow's: what may bring its records twice. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from airflow_provider_mm2.mirror.connect.connectors import ALIASES, OWNER, Part
from airflow_provider_mm2.mirror.flow import MirrorFlow

_SHOWN = 200


def beside(flow: MirrorFlow, every: Mapping[str, Mapping[str, str]], own: Collection[str]) -> Iterator[str]:
    """A warning for each other connector that copies from the flow's source to its target.

    :param every: configurations of all connectors, by name.
    :param own: names of the flow's own.
    """
    for name, config in sorted(every.items()):
        is_copying = config.get("connector.class", "").rpartition(".")[2] in (Part.SOURCE.value, "MirrorSource")
        between = tuple(config.get(alias) for alias in ALIASES)
        if name not in own and is_copying and between == (flow.source.alias, flow.target.alias):
            owner = config.get(OWNER)
            whose = "that no flow has put" if owner is None else f"of the flow {owner!r}"
            topics = config.get("topics", ".*")[:_SHOWN]
            yield (
                f"the connector {name}, {whose}, copies from {flow.source.alias} to {flow.target.alias}, too "
                f"(topics: {topics}); what both take comes twice"
            )
