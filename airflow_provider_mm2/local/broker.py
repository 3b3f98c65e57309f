"""One broker process: its folder, its properties, its start and its end."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.java import DEFAULT_JVM_OPTIONS, run_java
from airflow_provider_mm2.local.properties_file import properties_text, write_atomically

_LOG4J = """\
status=error
appender.console.type=Console
appender.console.name=STDOUT
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d{ISO8601} %p %m (%c)%n
rootLogger.level=info
rootLogger.appenderRef.stdout.ref=STDOUT
"""

_SHORT_LIVED = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""For a program that ends within a second: compile fast, not well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """One broker of a local cluster.

    :param folder: everything of this broker, and the mark its process is found by.
    :param port: where clients reach it.
    :param probe: client settings of the cluster, to ask whether it serves.
    :param format_arguments: what else its storage is formatted with.
    """

    cluster: str
    node: int
    cluster_id: str
    folder: Path
    port: int
    properties: Mapping[str, str]
    probe: Mapping[str, str]
    classpath: str
    jvm_options: Sequence[str] = DEFAULT_JVM_OPTIONS
    format_arguments: Sequence[str] = ()

    @property
    def log_file(self) -> Path:
        """What the broker writes, standard output and error included."""
        return self.folder / "broker.log"

    @property
    def format_log_file(self) -> Path:
        """What the formatting of its storage writes."""
        return self.folder / "format.log"

    @property
    def is_formatted(self) -> bool:
        """Whether its storage was formatted to the end."""
        return self._formatted.exists()

    @property
    def _formatted(self) -> Path:
        return self.folder / "formatted"

    @property
    def _properties_file(self) -> Path:
        return self.folder / "server.properties"

    def running(self) -> list[psutil.Process]:
        """List its living broker processes: none or one."""
        return processes.find_exactly(self.folder)

    def write_files(self) -> None:
        """Write what the process reads at its start."""
        write_atomically(self._properties_file, properties_text(self.properties))
        write_atomically(self.folder / "log4j2.properties", _LOG4J)

    def format(self) -> subprocess.Popen[bytes]:
        """Begin to format the storage, throwing away what an unfinished attempt left."""
        shutil.rmtree(self.folder / "data", ignore_errors=True)
        self.format_log_file.unlink(missing_ok=True)
        arguments = ["format", "-t", self.cluster_id, "-c", str(self._properties_file), *self.format_arguments]
        # Marked apart, or an orphan of a killed start would pass for the broker.
        own = self.folder / "format"
        return self._java("kafka.tools.StorageTool", arguments, own, self.format_log_file, _SHORT_LIVED)

    def format_done(self) -> None:
        """Note that the storage is complete."""
        write_atomically(self._formatted, f"{self.cluster_id}\n")

    def launch(self) -> subprocess.Popen[bytes]:
        """Start the broker process; it is not ready yet."""
        return self._java("kafka.Kafka", [str(self._properties_file)], self.folder, self.log_file, self.jvm_options)

    def end(self, *, grace_s: float) -> None:
        """End its processes: SIGTERM first, SIGKILL after ``grace_s`` seconds, at once for 0."""
        processes.end(self.folder, grace_s=grace_s)

    def _java(
        self,
        main_class: str,
        arguments: Sequence[str],
        folder: Path,
        log_file: Path,
        options: Sequence[str],
    ) -> subprocess.Popen[bytes]:
        log4j = f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}"
        return run_java(
            main_class,
            arguments,
            folder=folder,
            log_file=log_file,
            classpath=self.classpath,
            jvm_options=[*options, log4j],
        )
