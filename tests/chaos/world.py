"""Two clusters whose network and brokers a fault can reach: one source broker, three target brokers, access checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from airflow_provider_mm2.local.cluster import LocalCluster
from airflow_provider_mm2.local.ports import is_free
from airflow_provider_mm2.local.spec import Security
from airflow_provider_mm2.local.startup import start_brokers
from airflow_provider_mm2.local.wait import poll
from tests.chaos.network import Network, Proxy, Weather

LIMIT_S = 60.0
USERS = {"admin": "admin-secret", "mirror": "mirror-secret"}
"""Administrators and applications are the first, the mirror is the second."""

RESOURCES = (
    (ResourceType.TOPIC, "*"),
    (ResourceType.GROUP, "*"),
    (ResourceType.TRANSACTIONAL_ID, "*"),
    (ResourceType.BROKER, "kafka-cluster"),
)
SIDES = ("source", "target")


class World:
    """The clusters, with every client's connections going through proxies.

    :param folder: everything of them; whoever makes a world ties the folder to its life (``guard_folder``).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.network = Network()
        self.proxies: dict[str, list[Proxy]] = {}
        self.source, self.target = self._cluster("source", 1), self._cluster("target", 3)

    def start(self) -> World:
        """Start all brokers; the mirror's user may do everything that nothing denies."""
        brokers = [*self.source.prepare(), *self.target.prepare()]
        start_brokers(brokers, timeout_s=3 * LIMIT_S)
        for side in SIDES:
            allow = AclPermissionType.ALLOW
            self.change_rights(side, [rule(kind, name, AclOperation.ALL, allow) for kind, name in RESOURCES])
        return self

    def stop(self) -> None:
        """End the brokers and the network."""
        for cluster in (self.source, self.target):
            cluster.stop(grace_s=0)
        self.network.close()

    def cluster(self, side: str) -> LocalCluster:
        """One of the two."""
        return {"source": self.source, "target": self.target}[side]

    def settings(self, side: str, user: str = "admin") -> dict[str, str]:
        """What a client of a user needs."""
        return {**self.cluster(side).client_settings, "sasl.username": user, "sasl.password": USERS[user]}

    def change_rights(self, side: str, add: Sequence[AclBinding], remove: Sequence[AclBinding] = ()) -> None:
        """Create rules and delete others."""
        admin = AdminClient({**self.settings(side)})
        for futures in (
            admin.create_acls(list(add), request_timeout=LIMIT_S) if add else {},
            admin.delete_acls([_filter_of(each) for each in remove], request_timeout=LIMIT_S) if remove else {},
        ):
            for future in futures.values():
                future.result(LIMIT_S)

    @contextmanager
    def under(self, side: str, weather: Weather, brokers: Sequence[int] | None = None) -> Iterator[None]:
        """Let all or some brokers of a cluster be reached through such weather."""
        with ExitStack() as stack:
            for number, proxy in enumerate(self.proxies[side]):
                if brokers is None or number in brokers:
                    stack.enter_context(proxy.under(weather))
            yield

    def bring_back(self, side: str) -> None:
        """Start every broker of a cluster that is not there, all at a time: one alone finds no majority.

        A killed process is a zombie while its last threads still hold its ports for some hundred milliseconds.
        """
        cluster = self.cluster(side)
        ports = [int(each.rpartition(":")[2]) for each in cluster.bootstrap.split(",")]
        down = [port for number, port in enumerate(ports) if not cluster.is_running(number)]
        assert poll(lambda: all(map(is_free, down)), timeout_s=LIMIT_S), f"a port of {down} is still taken"
        start_brokers(self.cluster(side).prepare(), timeout_s=3 * LIMIT_S)

    def _cluster(self, side: str, brokers: int) -> LocalCluster:
        def port_of(number: int) -> int:
            return int(self.cluster(side).bootstrap.split(",")[number].rpartition(":")[2])

        proxies = [self.network.proxy(lambda number=number: port_of(number)) for number in range(brokers)]  # type: ignore[misc]
        self.proxies[side] = proxies
        return LocalCluster(
            self.folder / side,
            name=side,
            brokers=brokers,
            security=Security.SASL_SSL,
            users=USERS,
            advertised=[proxy.port for proxy in proxies],
            properties={"min.insync.replicas": str((brokers + 1) // 2)},
        )


def rule(kind: ResourceType, name: str, operation: AclOperation, permission: AclPermissionType) -> AclBinding:
    """A rule for the mirror's user."""
    literal = ResourcePatternType.LITERAL
    return AclBinding(kind, name, literal, f"User:{list(USERS)[1]}", "*", operation, permission)


def _filter_of(binding: AclBinding) -> AclBindingFilter:
    return AclBindingFilter(
        binding.restype,
        binding.name,
        binding.resource_pattern_type,
        binding.principal,
        binding.host,
        binding.operation,
        binding.permission_type,
    )
