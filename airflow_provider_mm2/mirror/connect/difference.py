"""What putting the connectors of a flow would change, key by key, without any secret. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from airflow_provider_mm2.mirror.connect.connectors import ALIASES, OWNER, Connector
from airflow_provider_mm2.mirror.connect.scrubbing import HIDDEN
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.mm2_import.findings import may_be_secret

LONGEST_SHOWN = 300


class Change(Enum):
    """What becomes of a connector."""

    CREATE = "create"
    ALTER = "alter"
    DELETE = "delete"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyChange:
    """One key, as it may be shown; None: it is not there.

    Where both values are secret they differ, although they look alike.
    """

    key: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorChange:
    """What becomes of one connector."""

    name: str
    change: Change
    keys: tuple[KeyChange, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        rows = [{"key": one.key, "before": one.before, "after": one.after} for one in self.keys]
        return {"connector": self.name, "change": self.change.value, "keys": rows}


def changes_of(
    wanted: Sequence[Connector], there: Mapping[str, Mapping[str, str]], names: Sequence[str]
) -> tuple[ConnectorChange, ...]:
    """What becomes of each connector of a flow.

    :param there: configurations of the flow's connectors that there are.
    :param names: every name that a connector of the flow may have.
    """
    given = {each.name: each.config for each in wanted}
    found = [_change(name, there.get(name), given.get(name)) for name in names if name in there or name in given]
    return tuple(found)


def _change(name: str, before: Mapping[str, str] | None, after: Mapping[str, str] | None) -> ConnectorChange:
    if after is None:
        return ConnectorChange(name=name, change=Change.DELETE)
    rows = tuple(_rows({} if before is None else before, after))
    kind = Change.CREATE if before is None else Change.ALTER if rows else Change.NOTHING
    return ConnectorChange(name=name, change=kind, keys=rows)


def _rows(before: Mapping[str, str], after: Mapping[str, str]) -> list[KeyChange]:
    return [
        KeyChange(key=key, before=_shown(key, before.get(key)), after=_shown(key, after.get(key)))
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]


def _shown(key: str, value: str | None) -> str | None:
    if value is None:
        return None
    if may_be_secret(key):
        return HIDDEN
    return value if len(value) <= LONGEST_SHOWN else f"{value[:LONGEST_SHOWN]}... ({len(value)} characters)"


def why_not_ours(flow: MirrorFlow, plugin: str, config: Mapping[str, str]) -> str | None:
    """Why a connector is not the flow's; None where it is.

    Ours names the flow in ``mm2.flow``, is of MirrorMaker 2's class, and mirrors between the flow's two clusters.
    """
    owner = config.get(OWNER)
    if owner is None:
        return f"it has no {OWNER}, so no flow has put it"
    if owner != flow.name:
        return f"it is of the flow {owner!r}"
    if config.get("connector.class") != plugin:
        return "it is of another class"
    between = tuple(config.get(alias) for alias in ALIASES)
    if between != (flow.source.alias, flow.target.alias):
        return f"it mirrors from {between[0]} to {between[1]}"
    return None
