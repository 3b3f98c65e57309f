"""Every error says what was found, the likely cause and the next move."""

from __future__ import annotations

import dataclasses

import pytest

from airflow_provider_mm2.local import errors
from airflow_provider_mm2.mirror.errors import MirrorError

CLASSES = [
    each
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, MirrorError) and each.__module__ == errors.__name__
]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_three_parts(kind: type[MirrorError]) -> None:
    """Each message has three lines and shows every fact that it carries."""
    facts = {field.name: _sample(field) for field in dataclasses.fields(kind)}
    text = str(kind(**facts))
    found, cause, move = text.splitlines()
    assert found
    assert cause.startswith("  Likely cause: ")
    assert move.startswith("  Next move: ")
    for name, value in facts.items():
        assert str(value) in text, name


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_facts_are_plain_values(kind: type[MirrorError]) -> None:
    """Facts are texts and numbers, so that the command line can print them as JSON."""
    assert {field.type for field in dataclasses.fields(kind)} <= {"str", "int", "float"}


def _sample(field: dataclasses.Field[object]) -> object:
    return 41 if field.type in ("int", "float") else f"<{field.name}>"


def test_exit_codes() -> None:
    """What may pass by itself ends with 3, wrong settings with 2, the rest with 4."""
    codes = {each.__name__: each.exit_code for each in CLASSES}
    assert codes == {
        "BrokerNotReady": 3,
        "BrokerRefused": 4,
        "DownloadFailed": 3,
        "FolderBusy": 3,
        "FolderNotOurs": 2,
        "FolderUnusable": 2,
        "LocalExtraMissing": 2,
        "NoJava": 2,
        "NotStarted": 2,
        "PairDiffers": 2,
        "PortTaken": 3,
        "StillRunning": 4,
    }
