"""An Airflow connection of type ``http`` as an endpoint. Pure.

Source: Airflow's http provider, ``HttpHook``: host with or without a scheme, ``schema`` as the scheme, all of the extra
that is no option of a request as headers.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_mm2.mirror.web.endpoint import HttpAccess

_OPTIONS = frozenset({"timeout", "allow_redirects", "proxies", "verify", "stream"}) | frozenset(
    {"trust_env", "cert", "max_redirects", "check_response"}
)
"""Keys in the extra that are no headers."""


def http_access(
    *,
    host: str | None,
    port: int | None = None,
    schema: str | None = None,
    login: str | None = None,
    password: str | None = None,
    extra: Mapping[str, object],
) -> HttpAccess:
    """The endpoint that the fields of a connection describe."""
    given = host or ""
    address = given if "://" in given else f"{schema or 'http'}://{given}"
    return HttpAccess(
        url=f"{address}:{port}" if port else address,
        user=login or None,
        password=password,
        headers={name: str(value) for name, value in extra.items() if name not in _OPTIONS},
    )
