"""Secrets taken out of what a Connect cluster says: its workers know them all. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from airflow_provider_mm2.mirror.clusters.config import SHORTEST_SECRET
from airflow_provider_mm2.mirror.mm2_import.findings import may_be_secret

HIDDEN = "***"
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)+)"')
_SHORTEST_LINE = 12
"""Shortest line of a key that is looked for by itself: shorter ones would blot out ordinary words."""


def secrets_of(*settings: Mapping[str, object]) -> tuple[str, ...]:
    """Secret values, and what is inside them: passwords of a login, lines of a key; the longest first."""
    found = {text for each in settings for key, value in each.items() if may_be_secret(key) for text in _forms(value)}
    return tuple(sorted((text for text in found if len(text) >= SHORTEST_SECRET), key=lambda text: (-len(text), text)))


def scrub(text: str, secrets: tuple[str, ...]) -> str:
    """A text without these secrets."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def _forms(value: object) -> Iterator[str]:
    text = str(value)
    yield text
    for quoted in _QUOTED.findall(text):
        yield quoted
        yield re.sub(r"\\(.)", r"\1", quoted)
    yield from (line for line in text.splitlines() if len(line) >= _SHORTEST_LINE and not line.startswith("-----"))
