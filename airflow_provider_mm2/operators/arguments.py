"""Arguments of operators that may come out of a template as text. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from airflow_provider_mm2.mirror.errors import ArgumentRefused

_SWITCHES = {"true": True, "false": False, "1": True, "0": False, "": False}


def switch(name: str, given: bool | str) -> bool:
    """True or false.

    :raises ArgumentRefused: it is neither.
    """
    text = str(given).strip().lower()
    if text not in _SWITCHES:
        raise ArgumentRefused(argument=name, problem=f"{given!r} is neither true nor false")
    return _SWITCHES[text]


def seconds(name: str, given: int | str) -> int:
    """Whole seconds.

    :raises ArgumentRefused: it is not a whole number from 0 on.
    """
    return _whole(name, given, 0, "of seconds")


def number(name: str, given: int | str) -> int:
    """A whole number.

    :raises ArgumentRefused: it is none from 1 on.
    """
    return _whole(name, given, 1, "from 1 on")


def _whole(name: str, given: int | str, least: int, what: str) -> int:
    text = str(given).strip()
    if not (text.isascii() and text.isdigit() and int(text) >= least):
        raise ArgumentRefused(argument=name, problem=f"{given!r} is not a whole number {what}")
    return int(text)


def names(name: str, given: Sequence[str] | str | None) -> tuple[str, ...]:
    """Names: a sequence, or text that holds a JSON list, since a group's name may have any character in it.

    :raises ArgumentRefused: it is something else.
    """
    found: Any = given
    if isinstance(given, str):
        try:
            found = json.loads(given) if given.strip() else []
        except ValueError:
            found = None
    if found is None and given is None:
        return ()
    if not isinstance(found, list | tuple) or not all(isinstance(each, str) and each for each in found):
        raise ArgumentRefused(argument=name, problem=f"{given!r} is not a list of names; text has to be a JSON list")
    return tuple(found)


def text(given: str | None) -> str | None:
    """Text that was given; what a template makes of a missing value counts as not given."""
    return None if given is None or str(given).strip() in ("", "None") else str(given).strip()


def is_literal(given: object) -> bool:
    """Whether a value is known when the DAG is read: no template, and no output of another task."""
    if isinstance(given, str):
        return "{{" not in given and "{%" not in given
    if isinstance(given, list | tuple):
        return all(is_literal(each) for each in given)
    return given is None or isinstance(given, bool | int)
