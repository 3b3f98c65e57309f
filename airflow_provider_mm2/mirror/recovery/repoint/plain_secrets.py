"""Secrets that stand in a flow's ``repoint:`` in plain text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from airflow_provider_mm2.mirror.recovery.repoint.values import Held, has_secret_shape, is_secret_key
from airflow_provider_mm2.mirror.repoint_rules import values_of
from airflow_provider_mm2.mirror.repoint_settings import RepointSettings

_FROM_ENVIRONMENT = re.compile(r"(?:bearer |basic )?\$\{\w+\}", re.IGNORECASE)


def plain_secrets_in(item: RepointSettings) -> tuple[str, ...]:
    """Keys of an entry whose value is a secret and not ``${NAME}``."""
    return tuple(place for place, text in _secrets(item) if _FROM_ENVIRONMENT.fullmatch(text) is None)


def _secrets(item: RepointSettings) -> Iterator[tuple[str, str]]:
    for place, value in values_of(item):
        for text in value.values() if isinstance(value, dict) else [value]:
            is_one = is_secret_key(place[-1]) or has_secret_shape(Held(text))
            if isinstance(text, str) and is_one:
                yield ".".join(place), text
    auth = getattr(item, "auth", None)
    for name in ("password", "token"):
        text = getattr(auth, name, None)
        if text is not None:
            yield f"auth.{name}", text
    for name, text in getattr(item, "headers", {}).items():
        if is_secret_key(name) or name.lower() == "authorization":
            yield f"headers.{name}", text
