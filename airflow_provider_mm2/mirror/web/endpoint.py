"""HTTP with time limits, TLS, a log-in, and errors that show no body; only what reads is tried again."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import EndpointRefused, EndpointUnreachable, TlsUnusable
from airflow_provider_mm2.mirror.web.waiting import pause, ticked
from airflow_provider_mm2.mirror.web_settings import Tls, WebSettings

READ_ATTEMPTS = 3
_BUSY = (429, 502, 503, 504)


@dataclass(frozen=True, kw_only=True)
class Web:
    """One endpoint.

    :param taken: statuses besides 2xx that are answers, such as 404 where a key may be missing.
    """

    url: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tls: Tls = field(default_factory=Tls)
    timeout_s: float = 10

    @property
    def secrets(self) -> tuple[str, ...]:
        """The password, and what a header for the log-in has."""
        logins = (value for name, value in self.headers.items() if name.lower() == "authorization")
        return tuple(text for text in (self.password, *logins) if text)

    def get(self, path: str, tick: Tick, *, taken: tuple[int, ...] = (), **options: Any) -> httpx.Response:
        """Read, up to three times where there is no usable answer.

        :raises EndpointUnreachable: there was none.
        :raises EndpointRefused: it was another status.
        """
        for _ in range(READ_ATTEMPTS - 1):
            try:
                return self.send("GET", path, tick, taken=taken, **options)
            except EndpointUnreachable:
                pause(tick, 0.2)
        return self.send("GET", path, tick, taken=taken, **options)

    def send(
        self, method: str, path: str, tick: Tick, *, taken: tuple[int, ...] = (), **options: Any
    ) -> httpx.Response:
        """One request, once.

        :raises EndpointUnreachable: no answer, or one that says to come again.
        :raises EndpointRefused: any other status.
        """
        where = f"{method} {self.url}{path}"
        try:
            response = ticked(lambda: self._send(method, path, options), tick)
        except httpx.HTTPError as error:
            problem = f"{type(error).__name__} ({_cause(error)})"
            raise EndpointUnreachable(where=where, problem=problem) from None
        if response.is_success or response.status_code in taken:
            return response
        problem = f"status {response.status_code}"
        if response.status_code in _BUSY or response.status_code >= 500:
            raise EndpointUnreachable(where=where, problem=problem)
        raise EndpointRefused(where=where, problem=problem)

    def _send(self, method: str, path: str, options: Mapping[str, Any]) -> httpx.Response:
        headers = {**self.headers, **options.get("headers", {})}
        rest = {key: value for key, value in options.items() if key != "headers"}
        login = None if self.user is None else httpx.BasicAuth(self.user, self.password or "")
        context = self._context() if self.url.startswith("https") else False
        with httpx.Client(verify=context, timeout=self.timeout_s, auth=login, trust_env=False) as client:
            return client.request(method, f"{self.url}{path}", headers=headers, **rest)

    def _context(self) -> ssl.SSLContext:
        """Trust and identity; the host's name is always checked."""
        try:
            context = ssl.create_default_context(cafile=self.tls.ca)
            if self.tls.certificate is not None:
                context.load_cert_chain(self.tls.certificate, self.tls.key)
        except OSError as error:
            raise TlsUnusable(where=self.url, problem=str(error.strerror or error)) from None
        return context


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAccess:
    """An endpoint as an Airflow connection tells it."""

    url: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def web(self, settings: WebSettings, fill: Callable[[str], str]) -> Web:
        """The endpoint, with what a flow says besides; a log-in of the flow's own wins.

        :param fill: as for :func:`web_of`.
        """
        web = web_of(settings, self.url, fill, headers=self.headers)
        return web if settings.auth is not None else replace(web, user=self.user, password=self.password)


def web_of(
    settings: WebSettings, url: str, fill: Callable[[str], str], *, headers: Mapping[str, str] | None = None
) -> Web:
    """The endpoint that a flow names.

    :param fill: gives a text with every ``${NAME}`` in it filled in.
    :param headers: that come from elsewhere; the settings' own win.
    """
    auth = settings.auth
    sent = {name: fill(text) for name, text in settings.headers.items()}
    user = password = None
    if auth is not None and auth.token is not None:
        sent["Authorization"] = f"Bearer {fill(auth.token)}"
    elif auth is not None:
        user, password = fill(auth.user or ""), fill(auth.password or "")
    return Web(
        url=fill(url).rstrip("/"),
        user=user,
        password=password,
        headers={**(headers or {}), **sent},
        tls=settings.tls,
        timeout_s=settings.timeout_s,
    )


def _cause(error: httpx.HTTPError) -> str:
    """The system's word for it: httpx's own text may be empty."""
    cause = error.__cause__ or error.__context__
    while cause is not None and cause.__cause__ is not None:
        cause = cause.__cause__
    return str(cause or error)
