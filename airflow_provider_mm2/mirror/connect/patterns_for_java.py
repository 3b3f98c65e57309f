"""Regular expressions of a flow as MirrorMaker 2's lists take them. Pure.

Source: Kafka, ``ConfigDef.parseType`` (LIST: split at every comma, trimmed); MirrorMaker 2,
``MirrorUtils.compilePatternList`` (one Java expression of them all).
"""

from __future__ import annotations

import re

from airflow_provider_mm2.mirror.mm2_import.patterns import flags_reach_on

_PYTHON_ALONE = re.compile(r"(?<!\\)(?:\\\\)*(\(\?P[<=>]|\(\?\(|\(\?#|\\Z)")


def as_list(patterns: tuple[str, ...]) -> str:
    """The patterns as one value."""
    return ",".join(patterns)


def fault_for_java(patterns: tuple[str, ...]) -> str | None:
    """What MirrorMaker 2 would not take, or would take for something else; None where nothing is."""
    for pattern in patterns:
        if "," in pattern:
            return f"{pattern!r} has a comma, at which MirrorMaker 2 splits its list; write it without, as [0-9][0-9]?"
        if pattern != pattern.strip():
            return f"{pattern!r} begins or ends with a blank, which MirrorMaker 2 takes away"
        python = _PYTHON_ALONE.search(pattern)
        if python is not None:
            return f"{pattern!r} has {python[1]!r}, which Java's regular expressions do not know"
    if flags_reach_on(patterns):
        return "flags such as (?i) in a pattern reach the later ones, too, in MirrorMaker 2; put that pattern last"
    return None
