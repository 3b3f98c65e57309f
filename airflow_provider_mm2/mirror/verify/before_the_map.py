"""Copies on the target that lie before the map: connectors or another tool brought them, and the map proves nothing."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_mm2.mirror.verify.findings import Side
from airflow_provider_mm2.mirror.verify.scope import Part

NAMED = 5


def tell_before(parts: Sequence[Part]) -> tuple[str, ...]:
    """What is to be said of copies on the target that lie before the map: another engine or tool brought them."""
    before = [
        f"{part.source} before {part.start:,}"
        for part in parts
        if part.offset_map is not None
        and part.start == part.offset_map.source_start
        and part.starts[Side.TARGET] < part.target_start
        and part.starts[Side.SOURCE] < part.start
    ]
    if not before:
        return ()
    more = f" and {len(before) - NAMED} more" if len(before) > NAMED else ""
    return (
        f"the map begins later than both logs, and what lies before it was not compared: {', '.join(before[:NAMED])}"
        f"{more}; connectors or another tool brought it, --by-order compares it",
    )
