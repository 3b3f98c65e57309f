"""What pydantic found wrong with a flow, in the words of this project and without any value."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from types import UnionType
from typing import Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.flow_values import PlacedProblems
from airflow_provider_mm2.mirror.repoint_settings import RepointSettings, repoint_models
from airflow_provider_mm2.mirror.yaml_lines import Place

_TAGGED = object()
"""Stands for an item of which only its ``kind`` tells the model."""

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
        placed = detail.get("ctx", {}).get("error")
        if isinstance(placed, PlacedProblems):
            found.update({(*place, *below): text for below, text in placed.problems})
            continue
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
    place = tuple(part for part, _ in _steps(detail["loc"]))
    return (*place, "kind") if detail["type"].startswith("union_tag") else place


def _steps(location: tuple[str | int, ...]) -> Iterator[tuple[str | int, object]]:
    """Each part of a location that is a place, with the type there; the tag of a union's item is none."""
    model: object = MirrorFlow
    tagged = False
    for part in location:
        if tagged:
            model, tagged = repoint_models().get(str(part)), False
            continue
        if model is None:
            return
        model = _below(model, part)
        tagged = model is _TAGGED
        yield part, model


def _below(model: object, part: str | int) -> object:
    """The type at ``part`` inside ``model``; None when nothing lies below."""
    if isinstance(model, type) and issubclass(model, BaseModel):
        known = model.model_fields.get(str(part))
        return None if known is None else _container(known.annotation)
    kinds = [kind for kind in get_args(model) if kind is not Ellipsis]
    if RepointSettings in kinds:
        return _TAGGED
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
        return _unknown(detail, place)
    if kind == "union_tag_not_found":
        return _WORDS["missing"]
    if kind == "union_tag_invalid":
        return f"there are {', '.join(repoint_models())}"
    if place[-2:-1] == ("settings",) and kind != "value_error":
        return "give text, a number, true or false"
    if kind == "value_error":
        return str(detail.get("ctx", {}).get("error", detail["msg"]))
    return _WORDS.get(kind, detail["msg"][:1].lower() + detail["msg"][1:])


def _unknown(detail: ErrorDetails, place: Place) -> str:
    known = _known_keys(detail["loc"][:-1])
    nearest = difflib.get_close_matches(str(place[-1]), known, n=1, cutoff=0.5)
    if nearest:
        return f"unknown key; did you mean {nearest[0]!r}?"
    return f"unknown key; there are {', '.join(sorted(known))}"


def _known_keys(location: tuple[str | int, ...]) -> list[str]:
    model: object = MirrorFlow
    if location:
        tag = repoint_models().get(str(location[2])) if location[0] == "repoint" and len(location) > 2 else None
        is_item = tag is not None and len(location) == 3
        model = tag if is_item else [model for _, model in _steps(location)][-1]
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []
