"""Kinds of values that a flow's keys are made of, shared by its models."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

NAME_PATTERN = r"[a-zA-Z0-9_\-]+"


def _compiles(pattern: str) -> str:
    """Refuse a regular expression that does not compile, saying where."""
    try:
        re.compile(pattern)
    except re.error as error:
        at = "" if error.pos is None else f" at character {error.pos + 1}"
        raise ValueError(f"{pattern!r} is not a regular expression: {error.msg}{at}") from None
    if not pattern:
        raise ValueError("an empty pattern matches nothing; leave it out")
    return pattern


Pattern = Annotated[str, AfterValidator(_compiles)]
Setting = str | int | float | bool


class FlowModel(BaseModel):
    """Base: frozen, unknown keys refused, no coercion of one type into another beyond the obvious."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=False)


class PlacedProblems(ValueError):
    """Problems found by a rule over several keys, each with its place below the key that the rule belongs to."""

    def __init__(self, problems: list[tuple[tuple[str | int, ...], str]]) -> None:
        super().__init__("; ".join(text for _, text in problems))
        self.problems = problems
