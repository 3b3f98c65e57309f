"""Kafka's jars, fetched once from a Maven repository into a cache on this machine; no Maven, no JDK needed."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tempfile
import traceback
import zipfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_mm2.local.errors import DownloadFailed, LocalExtraMissing
from airflow_provider_mm2.local.folders import cache_folder
from airflow_provider_mm2.local.lock import locked

if TYPE_CHECKING:
    from jgo.maven import Artifact

logger = logging.getLogger(__name__)

KAFKA_VERSION = "4.3.1"
KAFKA_COORDINATES = tuple(
    f"org.apache.kafka:{artifact}:{KAFKA_VERSION}"
    for artifact in ("kafka_2.13", "kafka-tools", "connect-runtime", "connect-mirror")
)

Report = Callable[[str], None]
"""Takes one line on what is going on, for people to read."""


def silent(_line: str) -> None:
    """Report nothing."""


def kafka_classpath(report: Report = silent) -> str:
    """Give the classpath of Kafka's broker, tools, Connect and MirrorMaker, downloading it when needed.

    :raises DownloadFailed: see ``resolve_jars``.
    """
    return f"{resolve_jars(KAFKA_COORDINATES, report=report)}/*"


def resolve_jars(coordinates: Sequence[str], *, report: Report = silent) -> Path:
    """Give a folder with the jars of these coordinates and all they depend on.

    The folder appears by one rename when it is complete, so neither a killed nor a concurrent download can leave
    half of it; only one process downloads the same coordinates at a time, the others wait for it.

    :param coordinates: ``group:artifact:version`` each.
    :param report: told how far the download is.
    :raises DownloadFailed: the repository cannot be reached or lacks a file; its log names each cause.
    :raises LocalExtraMissing: the package jgo is not installed.
    """
    folder = cache_folder() / _folder_name(coordinates)
    if folder.is_dir():
        return folder
    with locked(folder.with_name(f"{folder.name}.lock"), timeout_s=900):
        if not folder.is_dir():
            _download_into(folder, coordinates, report)
    return folder


def _folder_name(coordinates: Sequence[str]) -> str:
    """Name a set of coordinates: the first for people, a digest of all for uniqueness."""
    digest = hashlib.sha256("+".join(coordinates).encode()).hexdigest()[:12]
    _, artifact, version = coordinates[0].split(":")
    return f"{artifact}-{version}-{digest}"


def _download_into(folder: Path, coordinates: Sequence[str], report: Report) -> None:
    log_file = folder.parent / "download.log"
    with tempfile.TemporaryDirectory(prefix=f"{folder.name}.part-", dir=folder.parent) as part:
        try:
            jars = _fetch(coordinates, Path(part) / "repository", report)
        except (OSError, RuntimeError, zipfile.BadZipFile) as error:  # jgo and requests raise these
            log_file.write_text(traceback.format_exc(), encoding="utf-8")
            what = ", ".join(coordinates)
            raise DownloadFailed(what=what, reason=_first_line(error), log_file=str(log_file)) from error
        complete = Path(part) / "complete"
        complete.mkdir()
        for jar in jars:
            shutil.move(jar, complete / jar.name)
        complete.rename(folder)
    logger.info("downloaded %d jars into %s", len(jars), folder)


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:300]


def _fetch(coordinates: Sequence[str], repository: Path, report: Report) -> list[Path]:
    """Download the jars of ``coordinates`` and their dependencies and check that each is whole."""
    report(f"asking the Maven repository what {coordinates[0]} needs")
    artifacts = _artifacts(coordinates, repository)
    jars = []
    with ThreadPoolExecutor(max_workers=4) as pool:
        for number, jar in enumerate(pool.map(lambda artifact: Path(artifact.resolve()), artifacts), start=1):
            report(f"downloading {coordinates[0]}: {number} of {len(artifacts)} jars")
            _check_whole(jar)
            jars.append(jar)
    return jars


def _artifacts(coordinates: Sequence[str], repository: Path) -> list[Artifact]:
    """List what to download, with the bridge that lets Kafka's log calls reach log4j."""
    try:
        from jgo.maven import MavenContext, PythonResolver
    except ImportError as error:
        raise LocalExtraMissing(package="jgo") from error
    url = os.environ.get("MM2_MAVEN_URL")
    context = MavenContext(
        repo_cache=repository,
        resolver=PythonResolver(),
        remote_repos={"chosen": url} if url else None,
        timeout=30,
    )
    parts = [coordinate.split(":") for coordinate in coordinates]
    wanted = [context.create_dependency(f"{group}:{name}:jar:{version}:compile") for group, name, version in parts]
    roots, others = context.resolver.resolve(wanted)
    artifacts = [dependency.artifact for dependency in [*roots, *others]]
    log4j = [found for found in artifacts if found.artifactId == "log4j-core"]
    bridges = [context.project(found.groupId, "log4j-slf4j-impl").at_version(found.version) for found in log4j]
    return [*artifacts, *(bridge.artifact() for bridge in bridges)]


def _check_whole(jar: Path) -> None:
    """Refuse a jar that was cut short or changed on its way: each entry has a checksum."""
    with zipfile.ZipFile(jar) as archive:
        broken = archive.testzip()
    if broken is not None:
        raise zipfile.BadZipFile(f"{jar.name} arrived broken at its entry {broken}")
