"""JSON: what others wrote, where whatever is wrong is a ValueError, and our own, always the same bytes. Pure."""

from __future__ import annotations

import json
from typing import Any


def read_json(text: str | bytes) -> Any:
    """The document of a text.

    :raises ValueError: it is no JSON, or is nested deeper than Python reads.
    """
    try:
        return json.loads(text)
    except RecursionError:
        problem = "it is nested too deep"
    raise ValueError(problem)


def json_object(data: bytes | None) -> dict[str, Any]:
    """The JSON object of a key or value; an empty one where it is none, since others may write beside us."""
    try:
        document: Any = json.loads(data or b"")
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def compact_json(document: object) -> bytes:
    """A document without spaces, its keys in order."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
