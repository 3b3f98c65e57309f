"""Every error says what was found, the likely cause and the next move, and whether a retry helps."""

from __future__ import annotations

import inspect
import pickle
import re
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from airflow_provider_mm2.mirror import errors
from airflow_provider_mm2.mirror.errors import MirrorError, RetriableError, SettingsError

BASES = (MirrorError, SettingsError, RetriableError)
KINDS = sorted(
    (
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, MirrorError) and kind not in BASES
    ),
    key=lambda kind: kind.__name__,
)
EXAMPLES: dict[object, object] = {
    str: "example-text",
    int: 4711,
    float: 12.0,
    bool: True,
    tuple[str, ...]: ("first-one", "second-one"),
}


def example(kind: type[MirrorError]) -> MirrorError:
    """An error of this kind with facts made from the types of its fields, each another one."""
    hints = get_type_hints(kind)
    facts: dict[str, object] = {}
    for number, field in enumerate(fields(kind)):
        fact = EXAMPLES[hints[field.name]]
        facts[field.name] = f"{fact}-{number}" if isinstance(fact, str) else fact
    return kind(**facts)


@pytest.mark.parametrize("kind", KINDS)
def test_three_parts(kind: type[MirrorError]) -> None:
    """The text has its three parts on lines of their own, with every blank filled in."""
    text = str(example(kind))
    assert re.fullmatch(r"(?s).+\n  Likely cause: .+\n  Next move: .+", text)
    assert re.search(r"(?<!\$)\{|\{\w*[!:]", text) is None
    assert "  Likely cause" not in text.replace("\n  Likely cause", "")


@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_its_own(kind: type[MirrorError]) -> None:
    """No error falls back to the base's words, and none is the same as another's."""
    for part in ("found", "likely_cause", "next_move"):
        assert getattr(kind, part) != getattr(MirrorError, part)
    assert [other for other in KINDS if other.found == kind.found] == [kind]


@pytest.mark.parametrize("kind", KINDS)
def test_facts_are_told(kind: type[MirrorError]) -> None:
    """Every fact is a field that can be asked for, and shows in the text."""
    error = example(kind)
    text = str(error)
    for field in fields(kind):
        value = getattr(error, field.name)
        assert error.facts[field.name] == value
        for told in value if isinstance(value, tuple) else (value,):
            assert (f"{told:.0f}" if isinstance(told, float) else str(told)) in text, field.name


@pytest.mark.parametrize("kind", KINDS)
def test_retriable_and_exit_code_agree(kind: type[MirrorError]) -> None:
    """Exit code 2 is for settings, 3 for what a retry may mend, 4 for all else."""
    expected = 3 if kind.retriable else 2 if issubclass(kind, SettingsError) else 4
    assert kind.exit_code == expected
    assert kind.retriable == issubclass(kind, RetriableError)


@pytest.mark.parametrize("kind", KINDS)
def test_exception_carries_its_text(kind: type[MirrorError]) -> None:
    """A traceback shows the text, as far as ``Exception`` alone knows it."""
    error = example(kind)
    assert Exception.__str__(error) == str(error)
    with pytest.raises(kind, match="Next move"):
        raise error


@pytest.mark.parametrize("kind", KINDS)
def test_documented(kind: type[MirrorError]) -> None:
    """Each error says in one line when it is raised."""
    first = (kind.__doc__ or "").strip().splitlines()[0]
    assert first.endswith((".", ";"))
    assert not first.startswith(kind.__name__)


def test_errors_cross_processes() -> None:
    """An error keeps its facts and its text when it is pickled."""
    error = errors.TopicMissing(alias="us", topics=("a", "b"))
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (str(again), again.facts) == (str(error), error.facts)


def test_names_are_listed_as_people_write_them() -> None:
    """Several names in a message are separated by commas, without quotes and brackets of the language."""
    assert "has no topic a, b\n" in str(errors.TopicMissing(alias="us", topics=("a", "b")))


@pytest.mark.parametrize(("records", "told"), [(1, "holds 1 record "), (2, "holds 2 records "), (10_000, "at least ")])
def test_one_record(records: int, told: str) -> None:
    """One record is one record."""
    facts: dict[str, Any] = {"target_topic": "us.t", "partition": 0, "records": records, "start": 0, "end": records}
    assert told in str(errors.ProgressUnknown(**facts))
    assert told in str(errors.ForeignWrites(topic="t", **facts))
