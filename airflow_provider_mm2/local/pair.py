"""A source and a target cluster in one folder, safe to start and stop from several processes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.cluster import LocalCluster
from airflow_provider_mm2.local.errors import FolderNotOurs, PairDiffers
from airflow_provider_mm2.local.jars import Report, silent
from airflow_provider_mm2.local.java import DEFAULT_JVM_OPTIONS
from airflow_provider_mm2.local.lock import locked
from airflow_provider_mm2.local.properties_file import write_atomically
from airflow_provider_mm2.local.spec import Security
from airflow_provider_mm2.local.startup import start_brokers

_PAIR_FILE = "pair.json"
_LOCK = "pair.lock"
_SETTINGS = frozenset({"brokers", "security", "users", "source_properties", "target_properties"})


class LocalPair:
    """Two Kafka clusters of this machine, ``source`` and ``target``.

    ``start`` may be called by any number of processes: one starts what is missing, all get the same addresses.
    Brokers outlive the process that started them, until ``stop`` (or a guard, see ``guard.py``).

    :param folder: everything of the pair; kept by ``stop``.
    :param brokers: of each cluster.
    :param users: name to password for the two SASL kinds; clients get the first.
    :param source_properties: broker properties of the source that win over the ones chosen here.
    :param target_properties: the same for the target.
    :param jvm_options: options of each broker's JVM, heap size included.
    """

    def __init__(
        self,
        folder: Path,
        *,
        brokers: int = 1,
        security: Security | str = Security.PLAINTEXT,
        users: Mapping[str, str] | None = None,
        source_properties: Mapping[str, str] | None = None,
        target_properties: Mapping[str, str] | None = None,
        jvm_options: Sequence[str] = DEFAULT_JVM_OPTIONS,
    ) -> None:
        self.folder = folder.resolve()
        self.source, self.target = (
            LocalCluster(
                self.folder / name,
                name=name,
                brokers=brokers,
                security=security,
                users=users,
                properties=properties,
                jvm_options=jvm_options,
            )
            for name, properties in (("source", source_properties), ("target", target_properties))
        )

    @property
    def clusters(self) -> tuple[LocalCluster, LocalCluster]:
        """Source and target."""
        return self.source, self.target

    @property
    def addresses(self) -> dict[str, dict[str, str]]:
        """The librdkafka settings of both clusters; empty while the folder holds no pair that was started."""
        return {cluster.spec.name: cluster.client_settings for cluster in self.clusters if cluster.has_addresses}

    def running(self) -> dict[str, list[int]]:
        """Give the numbers of the brokers whose process is there, for each cluster."""
        return {
            cluster.spec.name: [node for node in range(cluster.spec.brokers) if cluster.is_running(node)]
            for cluster in self.clusters
        }

    def start(self, *, timeout_s: float = 120.0, report: Report = silent) -> LocalPair:
        """Start the brokers that do not run, all at the same time; return when every one serves clients.

        :param timeout_s: seconds from the launch on; a first download of Kafka is not counted.
        :param report: told what is going on.
        :raises FolderNotOurs: the folder holds files that no pair made.
        :raises PairDiffers: the folder's pair runs with other settings, or has another number of brokers.
        :raises MirrorError: see ``start_brokers`` and ``resolve_jars``; what this call started has been ended.
        """
        self._check_ours()
        with self._lock():
            self._check_same()
            write_atomically(self._pair_file, json.dumps(self._settings(), indent=2))
            brokers = [broker for cluster in self.clusters for broker in cluster.prepare(report=report)]
            start_brokers(brokers, timeout_s=timeout_s, report=report)
        return self

    def stop(self, *, grace_s: float = 20.0) -> list[int]:
        """End every process of the folder, SIGKILL after ``grace_s`` seconds; folder and records stay.

        :returns: the pids that were ended.
        """
        if not self.folder.exists():
            return processes.end(self.folder, grace_s=grace_s)
        self._check_ours()
        with self._lock():
            return processes.end(self.folder, grace_s=grace_s)

    def delete(self) -> None:
        """Stop the pair and delete its folder's content, records included, all but the lock.

        :raises FolderNotOurs: the folder holds files that no pair made; nothing is deleted.
        """
        self.stop()
        if self.folder.exists():
            with self._lock():
                self._pair_file.unlink(missing_ok=True)
                for cluster in self.clusters:
                    shutil.rmtree(cluster.folder, ignore_errors=True)

    @classmethod
    def open(cls, folder: Path, **changes: Any) -> LocalPair:
        """Give the pair of a folder as it was last started, or a new one when it holds none.

        A pair file that is cut or unreadable counts as none; ``start`` writes it again.

        :param changes: arguments of ``LocalPair`` that win over the present settings.
        """
        return cls(folder, **{**(_read(folder / _PAIR_FILE) or {}), **changes})

    @property
    def _pair_file(self) -> Path:
        return self.folder / _PAIR_FILE

    def _lock(self) -> AbstractContextManager[None]:
        return locked(self.folder / _LOCK)

    def _check_ours(self) -> None:
        """Refuse a folder with other files in it: ``delete`` would take them."""
        try:
            names = {each.name for each in self.folder.iterdir()}
        except FileNotFoundError:
            return
        if names and not names & {_LOCK, _PAIR_FILE}:
            raise FolderNotOurs(directory=str(self.folder), example=min(names))

    def _settings(self) -> dict[str, object]:
        return {
            "brokers": self.source.spec.brokers,
            "security": self.source.spec.security.value,
            "users": dict(self.source.spec.users),
            "source_properties": dict(self.source.spec.properties),
            "target_properties": dict(self.target.spec.properties),
        }

    def _check_same(self) -> None:
        """Refuse settings that the folder's pair does not have and that a start cannot give it."""
        present = _read(self._pair_file)
        if present is None:
            return
        asked = self._settings()
        fixed = set(asked) if processes.find(self.folder) else {"brokers"}
        for setting in sorted(fixed):
            if present[setting] != asked[setting]:
                raise PairDiffers(
                    directory=str(self.folder),
                    setting=setting,
                    present=str(present[setting]),
                    asked=str(asked[setting]),
                )

    def __enter__(self) -> LocalPair:
        """Start it."""
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()


def _read(pair_file: Path) -> dict[str, Any] | None:
    """Read a pair file; ``None`` when it is absent, cut or not one of ours."""
    try:
        settings = json.loads(pair_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return settings if isinstance(settings, dict) and settings.keys() == _SETTINGS else None
