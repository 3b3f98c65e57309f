"""Connectors of somebody else beside a flow's: what may bring its records twice. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from airflow_provider_mm2.mirror.connect.connectors import ALIASES, OWNER, Part
from airflow_provider_mm2.mirror.flow import MirrorFlow

_SHOWN = 200


def beside(flow: MirrorFlow, every: Mapping[str, Mapping[str, str]], own: Collection[str]) -> Iterator[str]:
    """A warning for each other connector that copies from the flow's source to its target, and perhaps the same topics.

    :param every: configurations of all connectors, by name.
    :param own: names of the flow's own.
    """
    for name, config in sorted(every.items()):
        is_copying = config.get("connector.class", "").rpartition(".")[2] in (Part.SOURCE.value, "MirrorSource")
        between = tuple(config.get(alias) for alias in ALIASES)
        is_beside = name not in own and between == (flow.source.alias, flow.target.alias)
        if is_copying and is_beside and _may_meet(flow.topics, config.get("topics", ".*").split(",")):
            owner = config.get(OWNER)
            whose = "that no flow has put" if owner is None else f"of the flow {owner!r}"
            topics = config.get("topics", ".*")[:_SHOWN]
            yield (
                f"the connector {name}, {whose}, copies from {flow.source.alias} to {flow.target.alias}, too "
                f"(topics: {topics}); what both take comes twice"
            )


def _may_meet(ours: Iterable[str], theirs: Iterable[str]) -> bool:
    """Whether patterns of topics can have a name in common, by what they begin with."""
    begins = [_beginning(pattern.strip()) for pattern in theirs]
    return any(one.startswith(other) or other.startswith(one) for one in map(_beginning, ours) for other in begins)


def _beginning(pattern: str) -> str:
    """What every name begins with that a pattern has; of an alternative that is nothing."""
    begin = re.match(r"[\w\-]*", pattern)
    text = "" if "|" in pattern or begin is None else begin[0]
    return text[:-1] if pattern[len(text) : len(text) + 1] in ("?", "*", "{") else text
