"""The archive of classes: nobody but Java notices it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from airflow_provider_mm2.local.jars import kafka_classpath
from airflow_provider_mm2.local.java import java_path
from tests.java.class_archive import quick_java

pytestmark = pytest.mark.broker


@pytest.mark.parametrize("before", ["", "other-classes"])
def test_a_program_says_what_it_always_says(kafka_folder: Path, before: str) -> None:
    """A program writes its own output and nothing of the archive, whether that fits its class path or not."""
    variables = quick_java(kafka_folder / "never made")
    assert all(os.environ[name] == value for name, value in variables.items())
    classpath = os.pathsep.join(filter(None, [before and str(kafka_folder / before), kafka_classpath()]))
    command = [java_path(), "-cp", classpath, "kafka.tools.StorageTool", "random-uuid"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(done.stdout.split()) == 1, done.stdout
    assert not (kafka_folder / "never made").exists()
