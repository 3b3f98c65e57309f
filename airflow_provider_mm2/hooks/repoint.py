"""What a repoint needs of Airflow: Variables, Connections, and endpoints behind http connections."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from airflow.sdk import BaseHook, Variable

from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.errors import RepointPlaceMissing, RepointUnreadable
from airflow_provider_mm2.mirror.recovery.repoint.ports import Json
from airflow_provider_mm2.mirror.recovery.repoint.values import is_secret_key
from airflow_provider_mm2.mirror.web.endpoint import HttpAccess, Web
from airflow_provider_mm2.mirror.web.http_connection import http_access
from airflow_provider_mm2.version_compat import AirflowNotFoundException, mask_secret


class AirflowRepoint:
    """Airflow's side of a repoint, in a task: Variables by the task's own interface, Connections by Airflow's API.

    A task may read a Connection and not change one, so that changes go to the API behind an http connection: ``login``
    and ``password`` are exchanged for a token, or the connection's extra has an ``Authorization`` of its own.
    """

    def variable(self, key: str) -> str | None:
        """A Variable's text; None: there is none."""
        found: str | None = Variable.get(key, default=None)
        return found

    def set_variable(self, key: str, value: str | None) -> None:
        """Set it, or delete it."""
        if value is None:
            Variable.delete(key)
        else:
            Variable.set(key, value)

    def connection(self, connection: str) -> Mapping[str, Json] | None:
        """Its fields, the password left out; None: there is none.

        :raises RepointUnreadable: its extra is not a JSON object.
        """
        found = self._found(connection)
        if found is None:
            return None
        return {"host": found.host, "port": found.port, "schema": found.schema, "login": found.login} | {
            "extra": self._extra(found)
        }

    def set_connection(self, connection: str, api: str, fields: Mapping[str, Json]) -> None:
        """Change these fields, no others, by Airflow's API.

        :raises EndpointUnreachable: it gives no answer.
        :raises EndpointRefused: it refuses the log-in or the change.
        """
        found = self._found(connection)
        if found is None:
            raise RepointPlaceMissing(where=f"Connection {connection}", problem="Airflow knows none of this id")
        changed = {name: json.dumps(value) if name == "extra" else value for name, value in fields.items()}
        body = {"connection_id": connection, "conn_type": found.conn_type, **changed}
        web, headers = self._logged_in(api)
        path = f"/api/v2/connections/{quote(connection, safe='')}"
        web.send("PATCH", path, no_tick, json=body, headers=headers, params={"update_mask": list(fields)})

    def http_access(self, connection: str) -> HttpAccess:
        """An http connection, as Airflow's own hook takes it.

        :raises RepointPlaceMissing: there is none of this id.
        """
        found = self._found(connection)
        if found is None:
            raise RepointPlaceMissing(where=f"Connection {connection}", problem="Airflow knows none of this id")
        fields = {name: getattr(found, name) for name in ("host", "port", "schema", "login", "password")}
        access = http_access(**fields, extra=self._extra(found))
        for name, value in {**access.headers, "password": access.password or ""}.items():
            if value and (is_secret_key(name) or name.lower() == "authorization"):
                mask_secret(value)
        return access

    def _logged_in(self, api: str) -> tuple[Web, dict[str, str]]:
        access = self.http_access(api)
        web = Web(url=access.url.rstrip("/"), headers=access.headers)
        if access.user is None:
            return web, {}
        login = {"username": access.user, "password": access.password}
        token = web.send("POST", "/auth/token", no_tick, json=login).json()["access_token"]
        mask_secret(token)
        return web, {"Authorization": f"Bearer {token}"}

    @staticmethod
    def _found(connection: str) -> Any:
        try:
            return BaseHook.get_connection(connection)
        except AirflowNotFoundException:
            return None

    @staticmethod
    def _extra(found: Any) -> dict[str, Json]:
        """The extra as a mapping; the parser's own error holds the text, secrets and all, and is dropped."""
        try:
            extra = json.loads(found.extra or "{}")
        except ValueError:
            extra = None
        if not isinstance(extra, dict):
            raise RepointUnreadable(where=f"Connection {found.conn_id}", problem="its extra is not a JSON object")
        return extra
