"""What the models of ``repoint:`` are made of: values that may differ by side, documents."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from airflow_provider_mm2.mirror.flow_values import FlowModel, Pattern
from airflow_provider_mm2.mirror.web_settings import WebSettings

DocumentFormat = Literal["properties", "env", "yaml", "json"]
_ENDINGS: dict[str, DocumentFormat] = {
    ".properties": "properties",
    ".env": "env",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
}
KUBERNETES_NAME = r"[a-z0-9]([a-z0-9.\-]*[a-z0-9])?"


def _is_value(value: Any) -> Any:
    """Take a plain value, or one for each alias; without showing what was given."""
    plain = value.values() if isinstance(value, Mapping) else [value]
    if not plain or not all(isinstance(one, str | int | float | bool) for one in plain):
        raise ValueError("give text, a number, true or false, or a mapping with one of these for each alias")
    return value


def is_absolute(path: str) -> str:
    if not os.path.isabs(path) and not path.startswith("${"):
        raise ValueError("give an absolute path: workers run in other directories")
    return path


def is_a_list(value: object) -> object:
    if isinstance(value, str):
        raise ValueError("give a list, also of one")
    return value


Value = Annotated[Any, AfterValidator(_is_value)]
Values = Annotated[dict[str, Value], Field(repr=False)]
Patterns = Annotated[tuple[Pattern, ...], BeforeValidator(is_a_list)]
AbsolutePath = Annotated[str, AfterValidator(is_absolute)]
Workload = Annotated[str, Field(pattern=rf"^(deployment|statefulset)/{KUBERNETES_NAME}\z")]


def format_of(name: str) -> DocumentFormat | None:
    """The kind of document by the ending of its name; None where it does not tell."""
    base = name.rsplit("/", 1)[-1].lower()
    return "env" if base == ".env" else next((kind for end, kind in _ENDINGS.items() if base.endswith(end)), None)


class Document(FlowModel):
    """Values inside a document that one key holds; ``format`` where the key's ending does not tell."""

    format: DocumentFormat | None = None
    set: Values = Field(min_length=1)


class Repoint(FlowModel):
    """What all kinds take.

    :param name: what it is called in plans and records; by default the kind and what it changes.
    :param groups: only where one of the groups that move matches; empty: always.
    """

    name: str | None = Field(default=None, min_length=1, max_length=200)
    groups: Patterns = ()

    @property
    def label(self) -> str:
        """The name, given or made; unique in a flow."""
        return self.name or f"{self.model_dump(include={'kind'})['kind']} {self.subject}"

    @property
    def subject(self) -> str:
        """What is changed, as part of a name."""
        raise NotImplementedError


class OverHttp(Repoint, WebSettings):
    """What all kinds that speak HTTP take."""


def check_documents(plain: Mapping[str, object], documents: Mapping[str, Document]) -> None:
    if not plain and not documents:
        raise ValueError("give 'set' (whole values), 'documents' (values inside of them), or both")
    both = sorted(plain.keys() & documents.keys())
    if both:
        raise ValueError(f"{', '.join(map(repr, both))} is in 'set' and in 'documents'")
    unknown = [key for key, document in documents.items() if document.format is None and format_of(key) is None]
    if unknown:
        raise ValueError(f"the name of {unknown[0]!r} does not tell its format; give 'format' there")
