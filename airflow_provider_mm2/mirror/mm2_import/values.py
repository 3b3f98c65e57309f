"""Single values of keys: switches, numbers, placeholders."""

from __future__ import annotations

import re

from airflow_provider_mm2.mirror.mm2_import.findings import Findings, Given

_PROVIDED = re.compile(r"\$\{[^}]*?:[^}]*\}")
"""Source: Kafka, ``ConfigTransformer``, ``${provider:[path:]key}``."""

_FROM_ENVIRONMENT = re.compile(r"\$\{env:(?:[^:}]*:)?([A-Za-z_][A-Za-z0-9_]*)\}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def is_provided(text: str) -> bool:
    """Whether a value, or part of it, is to be had from a config provider."""
    return _PROVIDED.search(text) is not None


def environment_variable(text: str) -> str | None:
    """The environment variable that is the whole value: ``${env:NAME}``, or ``${NAME}`` of a template."""
    match = _FROM_ENVIRONMENT.fullmatch(text) or _VARIABLE.fullmatch(text)
    return None if match is None else match.group(1)


def variables_in(text: str) -> tuple[str, ...]:
    """Names of the variables that a flow's reader would fill in."""
    return tuple(_VARIABLE.findall(text))


def read_switch(given: Given, findings: Findings) -> bool | None:
    """A switch; None, and a problem noted, where MirrorMaker 2 would not start with it."""
    value = given.value.strip().lower()
    if value in ("true", "false"):
        return value == "true"
    findings.refuse(given, "neither true nor false")
    return None


def read_number(given: Given, findings: Findings) -> int | None:
    """A whole number; None, and a problem noted, where it is none."""
    value = given.value.strip()
    if re.fullmatch(r"[+-]?[0-9]{1,18}", value):
        return int(value)
    findings.refuse(given, "not a whole number")
    return None
