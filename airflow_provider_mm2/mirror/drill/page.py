"""A drill's report for people (one HTML page) and for a CI (JUnit XML); both from the document alone. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

HISTORY_KEPT = 30
HISTORY_KEYS = ("drill", "flow", "mode", "passed", "lost", "repeated", "skipped", "reordered", "rpo_s", "rto_s")


def html_page(document: Mapping[str, Any], history: Sequence[Mapping[str, Any]] = ()) -> str:
    """One self-contained page; needs the extra ``drill``.

    :param history: what earlier drills found, this one included, the oldest first.
    """
    # Imported here: whoever wants no page needs no charting library.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from airflow_provider_mm2.mirror.drill import charts

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )
    samples, shown = document["samples"], list(history)[-HISTORY_KEPT:]
    over_time = {"lags": charts.lags, "throughput": charts.throughput, "progress": charts.progress}
    drawn = {
        "timeline": charts.timeline(document["phases"]),
        "before_and_after": charts.before_and_after(document["groups"]),
        **{name: draw(samples) if samples else "" for name, draw in over_time.items()},
        "trend": charts.trend(shown) if len(shown) > 1 else "",
    }
    template = environment.get_template("page.html.j2")
    return template.render(d=document, charts=drawn, history=shown, shown=shown_number)


def shown_number(value: float | None) -> str:
    """A number as people read it."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}".rstrip("0").rstrip(".")


def junit_xml(document: Mapping[str, Any]) -> str:
    """Each limit as a test case, failed where it was passed; needs the extra ``drill``."""
    from junitparser import Failure, JUnitXml, TestCase, TestSuite

    suite = TestSuite(f"drill of flow {document['flow']}, {document['mode']}")
    suite.timestamp = document["drill"]
    for name in ("rpo_records", "rpo_s", "rto_s", "written", "mirrored"):
        suite.add_property(name, str(document[name]))
    for number, warning in enumerate(document["warnings"], 1):
        suite.add_property(f"warning {number}", warning)
    for limit in document["limits"]:
        case = TestCase(limit["name"], classname=f"mm2.drill.{document['flow']}")
        if not limit["passed"]:
            case.result = [Failure(f"{limit['value']} found, at most {limit['limit']} allowed", "limit")]
        suite.add_testcase(case)
    resumed = TestCase("every group is at work on the target", classname=f"mm2.drill.{document['flow']}")
    if document["rto_s"] is None:
        resumed.result = [Failure("a group never read a record there", "rto")]
    suite.add_testcase(resumed)
    suite.time = round(max(phase["begin"] + phase["seconds"] for phase in document["phases"]), 3)  # each case sets it
    xml = JUnitXml()
    xml.add_testsuite(suite)
    text: bytes = xml.tostring()  # type: ignore[no-untyped-call] # the library's own
    return text.decode()


def summary_line(document: Mapping[str, Any]) -> str:
    """What is kept of a drill for the trend, as one line of JSON."""
    return json.dumps({key: document[key] for key in HISTORY_KEYS})


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
            found.append(document)
    return found
