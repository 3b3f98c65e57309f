"""Values that code of one's own reads and writes, under the same rules as all others."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, cast

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import RepointPlaceMissing, RepointUnreadable
from airflow_provider_mm2.mirror.recovery.repoint.values import Held, Present, near
from airflow_provider_mm2.mirror.web.waiting import ticked


class OwnPlaces(Protocol):
    """What the function gives."""

    def read(self) -> Mapping[str, Any]:
        """All values there are, by key; plain ones."""

    def write(self, key: str, before: Any, after: Any) -> None:
        """Put ``after`` there where ``before`` stands there; None: no value. Any error counts as not written."""


@dataclass(frozen=True)
class PythonPlaces:
    """The keys of an object that ``package.module:function`` gives."""

    callable: str
    arguments: Mapping[str, Any]
    may_create: bool = False

    def where(self, key: str) -> str:
        """The key and the function."""
        return f"{key} of {self.callable}"

    def read(self, key: str, tick: Tick) -> Present:
        """What stands there."""
        found = self._called(lambda: dict(self._own.read()), tick)
        if key in found:
            return Held(found[key])
        if not self.may_create:
            raise RepointPlaceMissing(where=self.where(key), problem=f"no such key{near(key, found)}")
        return None

    def write(self, key: str, before: Present, after: Present, tick: Tick) -> None:
        """Hand it on."""
        values = tuple(None if present is None else present.value for present in (before, after))
        self._called(lambda: self._own.write(key, *values), tick)

    @cached_property
    def _own(self) -> OwnPlaces:
        module, _, name = self.callable.partition(":")
        return cast("OwnPlaces", getattr(importlib.import_module(module), name)(**self.arguments))

    def _called(self, call: Any, tick: Tick) -> Any:
        """Whatever a stranger's code raises; its text is not shown, since it may quote a secret."""

        def told() -> Any:
            try:
                return call()
            except Exception as error:
                problem = f"it raised {type(error).__name__}"
                raise RepointUnreadable(where=self.callable, problem=problem) from error

        return ticked(told, tick)
