"""Keys of etcd over the JSON gateway of version 3; written only at the mod_revision that was read.

Source: etcd's documentation, "gRPC gateway"; numbers of 64 bits are texts there.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import RepointUnreadable
from airflow_provider_mm2.mirror.recovery.repoint.store import Entry
from airflow_provider_mm2.mirror.recovery.repoint.values import near
from airflow_provider_mm2.mirror.web.endpoint import Web


@dataclass(frozen=True, kw_only=True)
class EtcdStore:
    """The keys of one etcd. With a user, each call logs in first: tokens expire, and nothing is kept."""

    web: Web
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    def where(self, name: str) -> str:
        """The key."""
        return f"{name} in etcd {self.web.url}"

    def get(self, name: str, tick: Tick) -> Entry:
        """The value, with its mod_revision (0: there is none)."""
        found = self._call("range", {"key": _coded(name)}, tick).get("kvs", [])
        if not found:
            return Entry(None, 0)
        try:
            return Entry(base64.b64decode(found[0].get("value", "")).decode(), int(found[0]["mod_revision"]))
        except (ValueError, KeyError):
            raise RepointUnreadable(where=self.where(name), problem="the answer is no value in UTF-8") from None

    def near(self, name: str, tick: Tick) -> str:
        """Keys beside it."""
        folder = name[: name.rfind("/") + 1] or "\0"
        end = folder[:-1] + chr(ord(folder[-1]) + 1) if folder != "\0" else "\0"
        asked = {"key": _coded(folder), "range_end": _coded(end), "keys_only": True, "limit": 1000}
        found = self._call("range", asked, tick).get("kvs", [])
        return near(name, [base64.b64decode(one["key"]).decode(errors="replace") for one in found])

    def put(self, name: str, text: str | None, seen: Entry, tick: Tick) -> bool:
        """One transaction that compares the revision; a lease stays with its key."""
        key = _coded(name)
        if text is None:
            change: dict[str, Any] = {"request_delete_range": {"key": key}}
        else:
            kept = {"ignore_lease": True} if seen.version else {}
            change = {"request_put": {"key": key, "value": _coded(text), **kept}}
        compare = {"key": key, "target": "MOD", "result": "EQUAL", "mod_revision": str(seen.version)}
        return bool(self._call("txn", {"compare": [compare], "success": [change]}, tick).get("succeeded"))

    def _call(self, what: str, body: Mapping[str, Any], tick: Tick) -> dict[str, Any]:
        headers = {}
        if self.user is not None:
            login = {"name": self.user, "password": self.password or ""}
            headers["Authorization"] = _json(self.web.send("POST", "/v3/auth/authenticate", tick, json=login))["token"]
        return _json(self.web.send("POST", f"/v3/kv/{what}", tick, json=body, headers=headers))


def _json(response: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = response.json()
    except ValueError:
        raise RepointUnreadable(where=str(response.url), problem="the answer is not JSON; is it etcd?") from None
    return found


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
