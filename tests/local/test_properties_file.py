"""Files that Java reads back as they were meant, written all or not at all."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from airflow_provider_mm2.local.properties_file import properties_text, write_atomically


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("a", "b", "a=b"),
        ("path", "C:\\x", "path=C:\\\\x"),
        ("login", 'user="x\\"y";', 'login=user="x\\\\"y";'),
        ("two", "one\ntwo\tthree", "two=one\\ntwo\\tthree"),
        ("space", " kept", "space=\\ kept"),
        ("a key:b=c", "v", "a\\ key\\:b\\=c=v"),
        ("accent", "é", "accent=\\u00e9"),
        ("beyond", "😀", "beyond=\\ud83d\\ude00"),
    ],
)
def test_escapes(name: str, value: str, line: str) -> None:
    """Whatever Java gives a meaning to is escaped, in names and in values."""
    assert properties_text({name: value}) == f"{line}\n"


def test_replaces_in_one_step_and_privately(tmp_path: Path) -> None:
    """A file is replaced whole, nothing is left beside it and only its owner may read it."""
    path = tmp_path / "folder" / "file.json"
    write_atomically(path, "old")
    write_atomically(path, "new")
    assert path.read_text() == "new"
    assert [each.name for each in path.parent.iterdir()] == ["file.json"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
