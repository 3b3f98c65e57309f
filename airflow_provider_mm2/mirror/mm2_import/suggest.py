"""Keys that nobody knows: what may have been meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from airflow_provider_mm2.mirror.mm2_import.client_keys import CLIENT_KEYS
from airflow_provider_mm2.mirror.mm2_import.findings import Findings, Given
from airflow_provider_mm2.mirror.mm2_import.keys import KEYS

_LEAVE_OUT = "leave it out"


def nearest(name: str, known: Collection[str]) -> str | None:
    """The known key that a name ends with, else one that looks like it."""
    inside = [key for key in known if "." in key and name.endswith(f".{key}")]
    if inside:
        return max(inside, key=len)
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=0.75)), None)


def unknown_key(given: Given, name: str, findings: Findings) -> None:
    """Tell of a key that is none of MirrorMaker 2's.

    :param name: the key without what stands in front of it.
    """
    _tell(given, nearest(name, KEYS.keys() | CLIENT_KEYS), "MirrorMaker 2 does not know it either", findings)


def unknown_client_key(given: Given, name: str, findings: Findings) -> None:
    """Tell of a key that is none of a Kafka client's."""
    _tell(given, nearest(name, CLIENT_KEYS), "Kafka's clients do not know it either", findings)


def _tell(given: Given, near: str | None, why: str, findings: Findings) -> None:
    findings.tell_unknown(given, why, _LEAVE_OUT if near is None else f"did you mean {near}?")
