"""What pydantic found wrong with a flow, in the words of this project and without any value."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from types import UnionType
from typing import Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.yaml_lines import Place

_WORDS = {
    "missing": "this key is missing",
    "too_short": "give at least one",
    "model_type": "give a mapping of keys to values",
    "dict_type": "give a mapping of keys to values",
    "tuple_type": "give a list",
    "string_type": "give text; put it in quotes",
}
"""Texts for the kinds of problems that pydantic words for programmers."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")


def describe(error: ValidationError) -> list[tuple[Place, str]]:
    """One (place, text) for each problem; several about one place count once, and so do those that follow from it."""
    found: dict[Place, str] = {}
    details = error.errors(include_url=False, include_input=False)
    places = [_place(detail) for detail in details]
    for detail, place in zip(details, places, strict=True):
        follows = detail["type"] == "too_short" and any(other[: len(place)] == place != other for other in places)
        if not follows:
            found.setdefault(place, _text(detail, place))
    return list(found.items())


def place_name(place: Place) -> str:
    """A place as ``topics.0`` or ``source.settings.acks``; of a key that is no name only its beginning is shown."""
    return ".".join(_shown(part) for part in place)


def _shown(part: str | int) -> str:
    """A key as far as it is a name: ``sasl.password:x`` (a missing space) must not show its x."""
    text = str(part)
    match = _NAME.match(text)
    if match is None:
        return "..."
    return text if match.end() == len(text) else f"{match.group(0)}..."


def _place(detail: ErrorDetails) -> Place:
    """The location without what pydantic adds for the kinds of a union, and ``[key]`` for a key."""
    parts: list[str | int] = []
    model: object = MirrorFlow
    for part in detail["loc"]:
        if model is None:
            break
        parts.append(part)
        model = _below(model, part)
    return tuple(parts)


def _below(model: object, part: str | int) -> object:
    """The type at ``part`` inside ``model``; None when nothing lies below."""
    if isinstance(model, type) and issubclass(model, BaseModel):
        known = model.model_fields.get(str(part))
        return None if known is None else _container(known.annotation)
    kinds = [kind for kind in get_args(model) if kind is not Ellipsis]
    return _container(kinds[-1]) if kinds else None


def _container(annotation: object) -> object:
    """The model, mapping or sequence type of an annotation; None for a plain value."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        found: Iterable[object] = (_container(kind) for kind in get_args(annotation))
        return next((kind for kind in found if kind is not None), None)
    return annotation if origin in (dict, tuple, list) else None


def _text(detail: ErrorDetails, place: Place) -> str:
    kind = detail["type"]
    if kind == "extra_forbidden":
        return _unknown(place)
    if place[-2:-1] == ("settings",) and kind != "value_error":
        return "give text, a number, true or false"
    if kind == "value_error":
        return str(detail.get("ctx", {}).get("error", detail["msg"]))
    return _WORDS.get(kind, detail["msg"][:1].lower() + detail["msg"][1:])


def _unknown(place: Place) -> str:
    known = _known_keys(place[:-1])
    nearest = difflib.get_close_matches(str(place[-1]), known, n=1, cutoff=0.5)
    if nearest:
        return f"unknown key; did you mean {nearest[0]!r}?"
    return f"unknown key; there are {', '.join(sorted(known))}"


def _known_keys(place: Place) -> list[str]:
    model: object = MirrorFlow
    for part in place:
        model = _below(model, part)
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []
