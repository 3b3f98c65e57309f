"""What commands print for people: warnings and causes once."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from airflow_provider_mm2.cli.output import WARNINGS, print_left_out, print_warnings, problem_lines
from airflow_provider_mm2.mirror.errors import MirrorError, SourceTopicRecreated, TargetTopicGone


@pytest.fixture(autouse=True)
def _listening() -> Iterator[None]:
    WARNINGS.begin()
    yield
    logging.getLogger("airflow_provider_mm2").removeHandler(WARNINGS)


def test_a_warning_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """A warning that was logged while a run was at work is not told again with its report; a new command forgets."""
    log = logging.getLogger("airflow_provider_mm2.mirror.interval.topics")
    log.warning("topic %r is gone", "a")
    log.info("not for people")
    print_warnings(["topic 'a' is gone", "another"])
    assert capsys.readouterr().err == "warning: topic 'a' is gone\nwarning: another\n"
    WARNINGS.begin()
    print_warnings(["another"])
    assert capsys.readouterr().err == "warning: another\n"


def test_a_cause_is_told_once() -> None:
    """Six partitions with one fault: six lines, and below them once what it comes from; another fault has its own."""
    gone = [
        TargetTopicGone(topic="orders", target_topic=f"us.orders-{number}", recorded_id="x", records=5)
        for number in range(6)
    ]
    other = SourceTopicRecreated(topic="bills", recorded_id="a", found_id="b", progress=4)
    problems: list[MirrorError] = [*gone[:3], other, *gone[3:]]
    lines = problem_lines([{"message": str(problem)} for problem in problems])
    assert [line.split("\n")[0] for line in lines] == [problem.first_line for problem in (*gone, other)]
    assert ["Likely cause" in line for line in lines] == [False] * 5 + [True, True]
    assert lines[5] == str(gone[5])
    assert problem_lines([{"message": "plain"}]) == ["plain"]


@pytest.mark.parametrize(
    ("count", "title"), [(10, "groups out\n"), (11, "groups out, 10 names of a rule at most: --json")]
)
def test_where_names_are_cut_off(capsys: pytest.CaptureFixture[str], count: int, title: str) -> None:
    """A table that has not all names says where they are."""
    print_left_out([{"group": f"g{number}", "rule": "not in groups"} for number in range(count)], "group")
    assert title.rstrip() in capsys.readouterr().out.splitlines()[0].rstrip()
    print_left_out([], "group")
    assert capsys.readouterr().out == ""
