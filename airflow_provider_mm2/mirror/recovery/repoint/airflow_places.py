"""Airflow's Variables and Connections as places, over what ``hooks/`` gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import RepointChangedMeanwhile, RepointPlaceMissing
from airflow_provider_mm2.mirror.recovery.repoint.ports import AirflowSide, Json
from airflow_provider_mm2.mirror.recovery.repoint.store import Entry
from airflow_provider_mm2.mirror.recovery.repoint.values import Held, Present, near, same

EXTRA = "extra."


@dataclass(frozen=True, kw_only=True)
class VariableStore:
    """Variables by key. There is no check-and-set: a value is read right before it is written."""

    airflow: AirflowSide

    def where(self, name: str) -> str:
        """The Variable."""
        return f"Variable {name}"

    def get(self, name: str, tick: Tick) -> Entry:
        """The text."""
        tick()
        return Entry(self.airflow.variable(name))

    def near(self, name: str, tick: Tick) -> str:
        """Nothing: a task cannot list Variables on every Airflow."""
        return ""

    def put(self, name: str, text: str | None, seen: Entry, tick: Tick) -> bool:
        """Set it, or delete it."""
        tick()
        self.airflow.set_variable(name, text)
        return True


@dataclass(frozen=True)
class ConnectionPlaces:
    """Fields of one Connection; ``extra.<key>`` are those of its extra."""

    airflow: AirflowSide
    connection: str
    api: str
    may_create: bool = False

    def where(self, key: str) -> str:
        """The field of the Connection."""
        return f"{key} of Connection {self.connection}"

    def read(self, key: str, tick: Tick) -> Present:
        """What stands there."""
        tick()
        found = self._fields()
        present = self._of(found, key)
        if present is None and not self.may_create:
            there = [
                *(f"{EXTRA}{name}" for name in found.get("extra") or {}),
                *(key for key in found if key != "extra"),
            ]
            raise RepointPlaceMissing(where=self.where(key), problem=f"it has no such value{near(key, there)}")
        return present

    def write(self, key: str, before: Present, after: Present, tick: Tick) -> None:
        """Change one field; of the extra all is sent, since Airflow's API takes it as a whole."""
        tick()
        found = self._fields()
        if not same(self._of(found, key), before):
            raise RepointChangedMeanwhile(where=self.where(key), now="another value", expected="as it was read")
        value = None if after is None else after.value
        changed: dict[str, Json] = {key: value}
        if key.startswith(EXTRA):
            kept = {name: one for name, one in (found.get("extra") or {}).items() if name != key[len(EXTRA) :]}
            changed = {"extra": kept if after is None else {**kept, key[len(EXTRA) :]: value}}
        self.airflow.set_connection(self.connection, self.api, changed)

    def _fields(self) -> Mapping[str, Json]:
        found = self.airflow.connection(self.connection)
        if found is None:
            raise RepointPlaceMissing(where=f"Connection {self.connection}", problem="Airflow knows none of this id")
        return found

    @staticmethod
    def _of(found: Mapping[str, Json], key: str) -> Present:
        fields, name = (found.get("extra") or {}, key[len(EXTRA) :]) if key.startswith(EXTRA) else (found, key)
        return None if fields.get(name) is None else Held(fields[name])
