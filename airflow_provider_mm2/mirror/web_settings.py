"""How to speak to an endpoint over HTTP: its address, a log-in, TLS. What keys of a flow are made of."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from airflow_provider_mm2.mirror.flow_values import FlowModel


def _is_address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError("give an address that begins with http:// or https://")
    if "@" in parts.netloc:
        raise ValueError("an address holds no user and password; give them in 'auth'")
    return url


Address = Annotated[str, AfterValidator(_is_address)]


class Auth(FlowModel):
    """How to log in: ``user`` and ``password``, or a bearer ``token``."""

    user: str | None = None
    password: str | None = Field(default=None, repr=False)
    token: str | None = Field(default=None, repr=False)

    @model_validator(mode="after")
    def _one_way(self) -> Auth:
        if (self.token is None) == (self.user is None) or (self.user is None) != (self.password is None):
            raise ValueError("give 'user' and 'password', or 'token'")
        return self


class Tls(FlowModel):
    """Files for TLS: whom to trust, and who we are."""

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None


class WebSettings(FlowModel):
    """What everything takes that speaks HTTP.

    :param timeout_s: of one request.
    :param headers: sent with each; a secret one as ``${NAME}``.
    """

    auth: Auth | None = Field(default=None, repr=False)
    tls: Tls = Tls()
    headers: dict[str, str] = Field(default={}, repr=False)
    timeout_s: float = Field(default=10, gt=0, le=300)
