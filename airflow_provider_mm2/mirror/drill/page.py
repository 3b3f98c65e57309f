"""A drill's report for people (one HTML page) and for a CI (JUnit XML); both from the document alone. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from airflow_provider_mm2.mirror.drill.report import GAME_DAY

HISTORY_KEPT = 30
RESUMED = "every group is at work on the target"
GAME_RESUMED = "every copy that has something to read has read of it"
LATER_KEYS = ("failback",)
"""What the lines of earlier versions lack."""

HISTORY_KEYS = ("drill", "flow", "mode", "passed", "lost", "repeated", "skipped", "reordered", "rpo_s", "rto_s")


def html_page(document: Mapping[str, Any], history: Sequence[Mapping[str, Any]] = ()) -> str:
    """One self-contained page; needs the extra ``drill``.

    :param history: what earlier drills found, this one included, the oldest first; those of another mode are left out.
    """
    # Imported here: whoever wants no page needs no charting library.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from airflow_provider_mm2.mirror.drill import charts

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )
    samples = document["samples"]
    shown = [each for each in history if each["mode"] == document["mode"]][-HISTORY_KEPT:]
    is_game_day = document["mode"] == GAME_DAY
    over_time = {"lags": charts.lags, "throughput": charts.throughput, "progress": charts.progress}
    drawn = {
        "timeline": charts.timeline(document["phases"]),
        "before_and_after": charts.before_and_after(document["groups"], document["mode"]),
        **{name: draw(samples) if samples else "" for name, draw in over_time.items()},
        "trend": charts.trend(shown) if len(shown) > 1 else "",
    }
    template = environment.get_template("page.html.j2")
    return template.render(d=document, charts=drawn, history=shown, shown=shown_number, is_game_day=is_game_day)


def shown_number(value: float | None) -> str:
    """A number as people read it."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}".rstrip("0").rstrip(".")


def junit_xml(document: Mapping[str, Any]) -> str:
    """Each limit as a test case, failed where it was passed; needs the extra ``drill``."""
    from junitparser import Failure, JUnitXml, TestCase, TestSuite

    is_game_day = document["mode"] == GAME_DAY
    kind = "game day" if is_game_day else f"{document['mode']} drill"
    suite = TestSuite(f"{kind} of flow {document['flow']}")
    suite.timestamp = document["drill"]
    for name in ("rpo_records", "rpo_s", "rto_s", "written", "mirrored"):
        suite.add_property(name, str(document[name]))
    for name, value in (document["failback"] or {}).items():
        suite.add_property(f"home: {name}", str(value))
    for number, warning in enumerate(document["warnings"], 1):
        suite.add_property(f"warning {number}", warning)
    for limit in document["limits"]:
        case = TestCase(limit["name"], classname=f"mm2.drill.{document['flow']}")
        if not limit["passed"]:
            case.result = [Failure(_failure(document, limit), "limit")]
        suite.add_testcase(case)
    resumed = TestCase(GAME_RESUMED if is_game_day else RESUMED, classname=f"mm2.drill.{document['flow']}")
    if document["rto_s"] is None:
        resumed.result = [Failure("a group never read a record there", "rto")]
    suite.add_testcase(resumed)
    suite.time = round(max(phase["begin"] + phase["seconds"] for phase in document["phases"]), 3)  # each case sets it
    xml = JUnitXml()
    xml.add_testsuite(suite)
    text: bytes = xml.tostring()  # type: ignore[no-untyped-call] # the library's own
    return text.decode()


def _failure(document: Mapping[str, Any], limit: Mapping[str, Any]) -> str:
    allowed = f"at most {limit['limit']} allowed"
    if limit["value"] is None:
        return f"it never came about, {allowed}: a group never read a record on the target"
    names = f": {', '.join(document['left_behind'])}" if limit["name"] == "left behind" else ""
    return f"{limit['value']} found, {allowed}{names}"


def summary_line(document: Mapping[str, Any]) -> str:
    """What is kept of a drill for the trend, as one line of JSON."""
    return json.dumps({key: document[key] for key in (*HISTORY_KEYS, *LATER_KEYS)})


def read_history(lines: Iterable[str], flow: str) -> list[dict[str, Any]]:
    """Earlier drills of a flow, the oldest first.

    :raises ValueError: a line is not one that a drill wrote.
    """
    found: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except ValueError:
            document = None
        if not isinstance(document, dict) or not set(HISTORY_KEYS) <= document.keys():
            raise ValueError(f"line {number} is not the summary of a drill")
        if document["flow"] == flow:
            found.append({**dict.fromkeys(LATER_KEYS), **document})
    return found
