"""A flow as the text of its file."""

from __future__ import annotations

from io import StringIO
from typing import Any

from ruamel.yaml import YAML

from airflow_provider_mm2.mirror.flow import MirrorFlow

_NO_FOLDING = 1_000_000
"""Columns before a line is broken: a pattern broken in two is hard to search for."""


def flow_document(flow: MirrorFlow) -> dict[str, Any]:
    """What differs from the defaults, as plain values; secrets in it are ``${NAME}``."""
    return flow.model_dump(mode="json", exclude_defaults=True)


def flow_yaml(flow: MirrorFlow) -> str:
    """The flow as YAML that :func:`~airflow_provider_mm2.mirror.flow_file.load_flow` reads back as the same flow."""
    writer = YAML(typ="rt")
    writer.default_flow_style = False
    writer.width = _NO_FOLDING
    writer.indent(mapping=2, sequence=4, offset=2)
    text = StringIO()
    writer.dump(flow_document(flow), text)
    return text.getvalue()
