"""A local Kafka cluster in a folder: start, stop, kill and restart its brokers."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.broker import Broker
from airflow_provider_mm2.local.certificates import make_certificates
from airflow_provider_mm2.local.errors import FolderUnusable, NotStarted
from airflow_provider_mm2.local.jars import Report, kafka_classpath, silent
from airflow_provider_mm2.local.java import DEFAULT_JVM_OPTIONS
from airflow_provider_mm2.local.ports import is_free, pick_ports
from airflow_provider_mm2.local.properties_file import write_atomically
from airflow_provider_mm2.local.spec import (
    HOST,
    ClusterSpec,
    Ports,
    Security,
    broker_properties,
    client_settings,
    format_arguments,
    java_client_settings,
)
from airflow_provider_mm2.local.startup import start_brokers


class LocalCluster:
    """One Kafka cluster of this machine, kept in a folder; any process may open the same folder.

    Brokers outlive the process that started them, until ``stop`` (or a guard, see ``guard.py``). Addresses are
    known after ``start`` and stay the same while one broker runs. Not locked: one process at a time should start
    or stop a folder (``LocalPair`` locks).

    :param folder: everything of the cluster; kept by ``stop``, so that a later ``start`` has the same records.
    :param brokers: 1 or more; with 3 the internal topics have three replicas.
    :param users: name to password for the two SASL kinds; clients get the first.
    :param properties: broker properties that win over the ones chosen here.
    :param advertised: the port that clients are told in place of each broker's own, for a proxy before it.
    :param jvm_options: options of each broker's JVM, heap size included.
    :raises FolderUnusable: the folder's name has a comma.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str = "kafka",
        brokers: int = 1,
        security: Security | str = Security.PLAINTEXT,
        users: Mapping[str, str] | None = None,
        properties: Mapping[str, str] | None = None,
        advertised: Sequence[int] = (),
        jvm_options: Sequence[str] = DEFAULT_JVM_OPTIONS,
    ) -> None:
        self.folder = folder.resolve()
        if "," in str(self.folder):
            raise FolderUnusable(directory=str(self.folder))
        self.spec = ClusterSpec(
            name=name,
            brokers=brokers,
            security=Security(security),
            users=users or {"mm2": "mm2-secret"},
            properties=properties or {},
            advertised=tuple(advertised),
        )
        self._jvm_options = tuple(jvm_options)

    @property
    def has_addresses(self) -> bool:
        """Whether the cluster was started once, so that its addresses are known."""
        return self._layout() is not None

    @property
    def bootstrap(self) -> str:
        """Comma-separated addresses of all brokers.

        :raises NotStarted: the cluster was never started.
        """
        layout = self._layout()
        if layout is None:
            raise NotStarted(cluster=self.spec.name, directory=str(self.folder))
        return ",".join(f"{HOST}:{ports.client}" for ports in layout[1])

    @property
    def client_settings(self) -> dict[str, str]:
        """The librdkafka settings that reach the cluster as its first user."""
        return client_settings(self.spec, self.bootstrap, tls_folder=self._tls_folder)

    @property
    def java_client_settings(self) -> dict[str, str]:
        """The same for Kafka's Java clients, Connect and MirrorMaker."""
        return java_client_settings(self.client_settings)

    def start(self, *, timeout_s: float = 90.0, report: Report = silent) -> LocalCluster:
        """Start the brokers that do not run and return when every one serves clients.

        :param timeout_s: seconds from the launch on; a first download of Kafka is not counted.
        :param report: told what is going on.
        :raises MirrorError: see ``start_brokers`` and ``resolve_jars``; what this call started has been ended.
        """
        start_brokers(self.prepare(report=report), timeout_s=timeout_s, report=report)
        return self

    def stop(self, *, grace_s: float = 20.0) -> None:
        """End every broker: SIGTERM, SIGKILL after ``grace_s`` seconds. The folder and its records stay."""
        processes.end(self.folder, grace_s=grace_s)

    def kill(self, broker: int = 0) -> None:
        """End one broker with SIGKILL, as a crash does, and return when it is gone."""
        processes.end(self.broker_folder(broker), grace_s=0)

    def stop_broker(self, broker: int = 0, *, grace_s: float = 20.0) -> None:
        """End one broker cleanly."""
        processes.end(self.broker_folder(broker), grace_s=grace_s)

    def start_broker(self, broker: int = 0, *, timeout_s: float = 90.0) -> None:
        """Start one broker again on the same ports and data, unless it runs.

        :raises PortTaken: another process took its port.
        """
        start_brokers([self.prepare()[broker]], timeout_s=timeout_s)

    def is_running(self, broker: int = 0) -> bool:
        """Tell whether a broker's process is there."""
        return bool(processes.find_exactly(self.broker_folder(broker)))

    def broker_folder(self, broker: int = 0) -> Path:
        """Give the folder of one broker: ``broker.log``, ``server.properties``, ``data``."""
        return self.folder / f"broker-{broker}"

    def prepare(self, *, report: Report = silent) -> list[Broker]:
        """Give all brokers, ready to be started; chooses ports when none runs and a port is taken."""
        classpath = kafka_classpath(report)
        cluster_id, ports = self._usable_layout()
        if self.spec.security is Security.SASL_SSL:
            make_certificates(self._tls_folder)
        return [self._broker(node, cluster_id, ports, classpath) for node in range(self.spec.brokers)]

    def _broker(self, node: int, cluster_id: str, ports: Sequence[Ports], classpath: str) -> Broker:
        folder = self.broker_folder(node)
        return Broker(
            cluster=self.spec.name,
            node=node,
            cluster_id=cluster_id,
            folder=folder,
            port=ports[node].client,
            properties=broker_properties(self.spec, node, ports, folder=folder, tls_folder=self._tls_folder),
            probe=self.client_settings,
            classpath=classpath,
            jvm_options=self._jvm_options,
            format_arguments=format_arguments(self.spec),
        )

    @property
    def _tls_folder(self) -> Path:
        return self.folder / "tls"

    @property
    def _layout_file(self) -> Path:
        return self.folder / "cluster.json"

    def _layout(self) -> tuple[str, list[Ports]] | None:
        """Read the cluster's id and ports; ``None`` when it was never started or the file is cut."""
        try:
            read = json.loads(self._layout_file.read_text(encoding="utf-8"))
            return str(read["cluster_id"]), [Ports(**each) for each in read["ports"]]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _usable_layout(self) -> tuple[str, list[Ports]]:
        """Give id and ports to start with: those of the last time as far as they can be used."""
        layout = self._layout()
        if layout is None:
            processes.end(self.folder)  # whatever may still run, nobody can know its address
            layout = self._known_id() or new_cluster_id(), []
        cluster_id, ports = layout
        anyone_runs = bool(processes.find(self.folder))
        all_free = all(is_free(port) for each in ports for port in asdict(each).values())
        if len(ports) != self.spec.brokers or not (anyone_runs or all_free):
            ports = pick_ports(self.spec.brokers)
            text = json.dumps({"cluster_id": cluster_id, "ports": [asdict(each) for each in ports]}, indent=2)
            write_atomically(self._layout_file, text)
        return cluster_id, ports

    def _known_id(self) -> str | None:
        """Find the id the storage was formatted with, so that its records stay usable."""
        for noted in sorted(self.folder.glob("broker-*/formatted")):
            return noted.read_text(encoding="utf-8").strip()
        return None

    def __enter__(self) -> LocalCluster:
        """Start it."""
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()


def new_cluster_id() -> str:
    """Make an id as Kafka does: 16 random bytes in URL-safe base64, not beginning like an option."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text
