"""JSON from elsewhere: whatever is wrong with it is a ValueError. Pure."""

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
