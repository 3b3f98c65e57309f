"""Stores of named texts (Consul, etcd, a ConfigMap, Airflow's Variables) as places of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import RepointChangedMeanwhile, RepointPlaceMissing, RepointUnreadable
from airflow_provider_mm2.mirror.recovery.repoint.documents.document import names_near, read_value, with_value
from airflow_provider_mm2.mirror.recovery.repoint.places import Wanted, as_text
from airflow_provider_mm2.mirror.recovery.repoint.ports import Json
from airflow_provider_mm2.mirror.recovery.repoint.values import Held, Present, same
from airflow_provider_mm2.mirror.repoint_values import Document, DocumentFormat, format_of


@dataclass(frozen=True, slots=True)
class Entry:
    """A text, None where there is none, and the version that it is of."""

    text: str | None
    version: Json = None


class Store(Protocol):
    """Texts by name, each with a version."""

    def where(self, name: str) -> str:
        """A name as people read it."""

    def get(self, name: str, tick: Tick) -> Entry:
        """What is stored there.

        :raises MirrorError: it cannot be read.
        """

    def near(self, name: str, tick: Tick) -> str:
        """Names that may have been meant, as the end of a sentence."""

    def put(self, name: str, text: str | None, seen: Entry, tick: Tick) -> bool:
        """Store a text, or remove it, where the version is still the one seen; whether it was.

        :raises MirrorError: it cannot be written.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """A value inside the text of a name."""

    name: str
    path: str
    format: DocumentFormat


@dataclass(frozen=True, kw_only=True)
class StorePlaces:
    """Whole texts by their name, and values inside texts by the keys of ``inside``."""

    store: Store
    inside: Mapping[str, Inside] = field(default_factory=dict)
    may_create: bool = False

    def where(self, key: str) -> str:
        """The name in the store, and the path in its text."""
        inside = self.inside.get(key)
        return self.store.where(key) if inside is None else f"{inside.path} in {self.store.where(inside.name)}"

    def read(self, key: str, tick: Tick) -> Present:
        """What stands there."""
        entry = self._entry(key, tick)
        found = self._value(key, entry)
        if found is None and not self.may_create:
            name, inside = self._name(key), self.inside.get(key)
            hint = (
                self.store.near(name, tick)
                if inside is None
                else names_near(entry.text or "", inside.format, inside.path)
            )
            raise RepointPlaceMissing(where=self.where(key), problem=f"no such key{hint}")
        return found

    def write(self, key: str, before: Present, after: Present, tick: Tick) -> None:
        """Put a value there while the other one stands there."""
        entry = self._entry(key, tick)
        inside, new = self.inside.get(key), None if after is None else str(after.value)
        if not same(self._value(key, entry), before):
            raise self._changed(key)
        if inside is not None:
            new = with_value(entry.text or "", inside.format, inside.path, after, self.where(key))
        if not self.store.put(self._name(key), new, entry, tick):
            raise self._changed(key)

    def _entry(self, key: str, tick: Tick) -> Entry:
        entry = self.store.get(self._name(key), tick)
        if entry.text is None and key in self.inside:
            hint = self.store.near(self._name(key), tick)
            raise RepointPlaceMissing(where=self.store.where(self._name(key)), problem=f"no such key{hint}")
        return entry

    def _name(self, key: str) -> str:
        return self.inside[key].name if key in self.inside else key

    def _value(self, key: str, entry: Entry) -> Present:
        inside = self.inside.get(key)
        if entry.text is None:
            return None
        return (
            Held(entry.text) if inside is None else read_value(entry.text, inside.format, inside.path, self.where(key))
        )

    def _changed(self, key: str) -> RepointChangedMeanwhile:
        return RepointChangedMeanwhile(where=self.where(key), now="of another version", expected="as it was read")


def insides(documents: Mapping[str, Document]) -> dict[str, Inside]:
    """The values inside of texts, by the keys that they go by."""
    return {
        f"{name}: {path}": Inside(name=name, path=path, format=_format(name, document))
        for name, document in documents.items()
        for path in document.set
    }


def wanted_of(plain: Mapping[str, object], documents: Mapping[str, Document], *, may_create: bool) -> list[Wanted]:
    """What an item of the flow asks of a store."""
    whole = [Wanted(key=key, value=as_text(value), may_create=may_create) for key, value in plain.items()]
    inside = [
        Wanted(key=f"{name}: {path}", value=document_value(value, _format(name, document)), may_create=may_create)
        for name, document in documents.items()
        for path, value in document.set.items()
    ]
    return [*whole, *inside]


def document_value(value: object, kind: DocumentFormat) -> object:
    """A value of the flow as a document of that format holds it."""
    return value if kind in ("yaml", "json") else as_text(value)


def _format(name: str, document: Document) -> DocumentFormat:
    found = document.format or format_of(name)
    if found is None:  # the settings refuse it
        raise RepointUnreadable(where=name, problem="its format is not known")
    return found
