"""Keys of Consul's KV store, over HTTP; written only at the ModifyIndex that was read.

Source: Consul's HTTP API, "KV Store endpoints".
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from urllib.parse import quote

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import RepointUnreadable
from airflow_provider_mm2.mirror.recovery.repoint.store import Entry
from airflow_provider_mm2.mirror.recovery.repoint.values import near
from airflow_provider_mm2.mirror.web.endpoint import Web


@dataclass(frozen=True, kw_only=True)
class ConsulStore:
    """One datacenter's keys."""

    web: Web
    datacenter: str | None = None

    def where(self, name: str) -> str:
        """The key."""
        return f"{name} in Consul {self.web.url}"

    def get(self, name: str, tick: Tick) -> Entry:
        """The value, with its ModifyIndex (0: there is none) and its flags, which a write without them would clear."""
        response = self.web.get(self._path(name), tick, taken=(404,), params={**self._where(), "consistent": ""})
        if response.status_code == 404:
            return Entry(None, (0, 0))
        try:
            found = response.json()[0]
            text = base64.b64decode(found["Value"] or "").decode()
            return Entry(text, (found["ModifyIndex"], found["Flags"]))
        except (ValueError, KeyError, IndexError, TypeError):
            raise RepointUnreadable(where=self.where(name), problem="the answer is no value in UTF-8") from None

    def near(self, name: str, tick: Tick) -> str:
        """Keys beside it."""
        folder = name.rpartition("/")[0]
        response = self.web.get(self._path(folder), tick, taken=(404,), params={**self._where(), "keys": ""})
        return near(name, response.json() if response.is_success else [])

    def put(self, name: str, text: str | None, seen: Entry, tick: Tick) -> bool:
        """Check and set, or check and delete."""
        index, flags = seen.version
        options = {**self._where(), "cas": str(index)}
        if text is None:
            response = self.web.send("DELETE", self._path(name), tick, params=options)
        else:
            options["flags"] = str(flags)
            response = self.web.send("PUT", self._path(name), tick, params=options, content=text.encode())
        return response.text.strip() == "true"

    def _path(self, name: str) -> str:
        return f"/v1/kv/{quote(name)}"

    def _where(self) -> dict[str, str]:
        return {} if self.datacenter is None else {"dc": self.datacenter}
