"""A drill's page and its JUnit XML, made from a document alone."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from airflow_provider_mm2.mirror.drill.files import earlier_drills
from airflow_provider_mm2.mirror.drill.home import Home
from airflow_provider_mm2.mirror.drill.page import html_page, junit_xml, read_history, shown_number, summary_line
from airflow_provider_mm2.mirror.drill.report import DrillPhase, DrillReport, GroupPlace, Sample
from airflow_provider_mm2.mirror.drill.tally import GroupTally
from airflow_provider_mm2.mirror.drill_settings import DrillSettings
from airflow_provider_mm2.mirror.errors import NotAHistory

ROOT = Path(__file__).parents[3]
BEGAN = 1_700_000_000_000


def report(*, missing: int = 0, repeated: int = 0, mode: str = "planned", **limits: Any) -> DrillReport:
    """A drill of ten seconds, with one group."""
    tally = GroupTally(
        group="<app>", read_before=700, read_after=300, lost=missing, repeated=repeated, skipped=0, reordered=0
    )
    place = GroupPlace(group="<app>", topic="t", partition=0, source_offset=700, target_offset=701, exact=True)
    return DrillReport(
        flow="orders",
        mode=mode,
        started_ms=BEGAN,
        cut_ms=BEGAN + 6000,
        written=1000,
        mirrored=1000 - missing,
        lost_ms=tuple(BEGAN + 5000 + number for number in range(missing)),
        window_ms=BEGAN + 4000,
        loss_window="records stamped at some time or later",
        groups=(tally,),
        places=(place,),
        first_read_ms={"<app>": BEGAN + 8500},
        phases=(
            DrillPhase(name="load", started_ms=BEGAN, ended_ms=BEGAN + 6000),
            DrillPhase(name="failover: freeze", started_ms=BEGAN + 6000, ended_ms=BEGAN + 8250, counts_for_rto=True),
        ),
        samples=tuple(
            Sample(at_ms=BEGAN + 250 * n, written=100 * n, mirrored=90 * n, read={"<app>": 80 * n}) for n in range(11)
        ),
        limits_given=DrillSettings(**limits),
    )


class Numbers(HTMLParser):
    """Every number that a page shows, by its place in the document."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what says where it comes from."""
        given = dict(attrs)
        if given.get("data-path"):
            self.found[str(given["data-path"])] = str(given["data-value"])


def at(document: Any, path: str) -> Any:
    """The value of a path."""
    for step in path.split("."):
        document = document[int(step)] if step.isdigit() else document[step]
    return document


def test_every_number_is_the_documents() -> None:
    """The page shows what the document has; names are text, whatever is in them; nothing is loaded from anywhere."""
    document = report(missing=3, mode="unplanned", rto_s=30).to_json()
    other = {**json.loads(summary_line(document)), "mode": "planned", "drill": "1999-01-01T00:00:00Z"}
    page = html_page(document, [other, *[json.loads(summary_line(document))] * 3])
    assert "1999-01-01" not in page  # a trend is of one mode
    numbers = Numbers()
    numbers.feed(page)
    assert len(numbers.found) > 30
    assert numbers.found == {path: json.dumps(at(document, path)) for path in numbers.found}
    assert "&lt;app&gt;" in page
    assert "<app>" not in page
    assert "<script" not in page
    assert not [part for part in ("src=", 'href="http', "@import", "url(http") if part in page]
    assert page.count("<figure") == 6


def test_the_published_schema() -> None:
    """The document is as its schema says, whatever came of the drill."""
    schema = json.loads((ROOT / "docs" / "schemas" / "drill-1.json").read_text("utf-8"))
    for made in (report(), report(missing=3, mode="unplanned", rto_s=1, rpo_s=0.1, lost=1)):
        jsonschema.validate(json.loads(json.dumps(made.to_json())), schema)


def test_limits_as_test_cases() -> None:
    """One test case a limit, failed where it was passed, and one for the groups."""
    document = report(repeated=4, rto_s=1).to_json()
    assert document["passed"] is False
    root = ElementTree.fromstring(junit_xml(document))  # noqa: S314 - our own
    cases = {case.get("name"): case.find("failure") is not None for case in root.iter("testcase")}
    assert cases["lost"] is False
    assert cases["repeated"] is True
    assert cases["rto_s"] is True
    assert cases["every group is at work on the target"] is False
    (suite,) = root.iter("testsuite")
    assert (suite.get("failures"), suite.get("tests"), suite.get("time")) == ("2", str(len(cases)), "8.25")


class Rows(HTMLParser):
    """How many cells each row has, by table, the heading first."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[int]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count."""
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append(0)
        elif tag in ("td", "th"):
            self.tables[-1][-1] += 1


@pytest.mark.parametrize("mode", ["planned", "game-day"])
def test_rows_are_as_wide_as_their_headings(mode: str) -> None:
    """A position of which nothing could be read has a cell under each heading, too."""
    made = report(mode=mode).to_json()
    rows = Rows()
    rows.feed(html_page(made, [json.loads(summary_line(made))] * 2))
    assert len(rows.tables) == 5
    assert all(len(set(table)) == 1 for table in rows.tables), rows.tables


def failures(document: dict[str, Any]) -> dict[str, str]:
    """Each failed test case of the JUnit file, and why."""
    root = ElementTree.fromstring(junit_xml(document))  # noqa: S314 - our own
    cases = ((str(case.get("name")), case.find("failure")) for case in root.iter("testcase"))
    return {name: str(found.get("message")) for name, found in cases if found is not None}


def test_what_came_home() -> None:
    """Records and positions are counted in every report, and are test cases that fail where one is wrong."""
    home = Home(records=60, records_wrong=0, positions=12, positions_wrong=2, told=("group a: no position at home",))
    made = replace(report(), home=home)
    document = made.to_json()
    assert document["failback"] == {"records": 60, "records_wrong": 0, "positions": 12, "positions_wrong": 2}
    assert json.loads(summary_line(document))["failback"] == document["failback"]
    assert failures(document) == {"group positions wrong at home": "2 found, at most 0 allowed"}
    assert "records not home once" in junit_xml(document)
    assert not made.passed
    jsonschema.validate(
        json.loads(json.dumps(document)), json.loads((ROOT / "docs" / "schemas" / "drill-1.json").read_text("utf-8"))
    )
    page = html_page(document)
    assert "planned, and home again" in page
    assert 'data-path="failback.positions_wrong" data-value="2"' in page


def test_what_is_left_behind_is_named() -> None:
    """On the page and in the JUnit file, by name."""
    document = replace(report(), left_behind=("topic t on us", "group g on eu")).to_json()
    assert failures(document) == {"left behind": "2 found, at most 0 allowed: topic t on us, group g on eu"}
    assert "<li>topic t on us</li><li>group g on eu</li>" in html_page(document)


def test_an_rto_that_never_came() -> None:
    """It is told in words, not as None."""
    document = replace(report(rto_s=3), first_read_ms={"<app>": None}).to_json()
    told = failures(document)
    assert told["rto_s"] == "it never came about, at most 3.0 allowed: a group never read a record on the target"
    assert told["every group is at work on the target"] == "a group never read a record there"


@pytest.mark.parametrize(
    ("made", "passed"),
    [
        (report(), True),
        (report(missing=1), False),
        (report(missing=1, mode="unplanned"), True),
        (report(missing=1, mode="unplanned", lost=0), False),
        (report(missing=3, mode="unplanned", rpo_s=0.5), False),
        (report(missing=3, mode="unplanned", rpo_s=1.5), True),
        (report(rto_s=2), False),
        (report(rto_s=3), True),
        (report(repeated=1), False),
    ],
)
def test_passed_or_not(made: DrillReport, passed: bool) -> None:
    """A planned drill loses nothing; an unplanned one what lies in the window; limits say the rest."""
    assert made.passed is passed


def test_numbers_and_history() -> None:
    """Numbers as people read them; a line of a history that is none is told."""
    assert [shown_number(value) for value in (1234, 0.5, 12.0, None)] == ["1,234", "0.5", "12", "-"]
    line = summary_line(report().to_json())
    old = json.dumps({name: value for name, value in json.loads(line).items() if name != "failback"})
    assert [each["failback"] for each in read_history([old], "orders")] == [None]
    assert [each["flow"] for each in read_history([line, "", line], "orders")] == ["orders", "orders"]
    assert read_history([line], "users") == []
    with pytest.raises(ValueError, match="line 1 is not the summary"):
        read_history(['{"flow": "orders"}'], "orders")
    with pytest.raises(ValueError, match="line 2 is not the summary"):
        read_history([line, "flights"], "orders")


@pytest.mark.parametrize("content", [b"# Notes\n", b"[1]\n", b"\xff\xfe\x00"])
def test_a_history_that_is_none(tmp_path: Path, content: bytes) -> None:
    """A file that drills did not write is refused as what it is, and stays as it is."""
    file = tmp_path / "notes.md"
    file.write_bytes(content)
    with pytest.raises(NotAHistory, match="is not a history of drills"):
        earlier_drills(file, "orders")
    assert file.read_bytes() == content
