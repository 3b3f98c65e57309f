"""What a failover changes in applications' configuration: the ``repoint:`` list of a flow.

A value may differ by side: by a placeholder (``{bootstrap.servers}``), or given plainly for each alias.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictBool, model_validator

from airflow_provider_mm2.mirror.flow_values import FlowModel, Setting
from airflow_provider_mm2.mirror.repoint_values import (
    KUBERNETES_NAME,
    AbsolutePath,
    Document,
    DocumentFormat,
    OverHttp,
    Repoint,
    Value,
    Values,
    Workload,
    check_documents,
    format_of,
    is_a_list,
)
from airflow_provider_mm2.mirror.web_settings import Address


class FileRepoint(Repoint):
    """Keys of a file; ``create`` adds those that are missing (never the file)."""

    kind: Literal["file"]
    path: AbsolutePath
    format: DocumentFormat | None = None
    set: Values = Field(min_length=1)
    create: StrictBool = False

    @property
    def subject(self) -> str:
        """The file."""
        return self.path

    @model_validator(mode="after")
    def _has_a_format(self) -> FileRepoint:
        if self.format is None and format_of(self.path) is None:
            raise ValueError("the name does not tell the format; give 'format': properties, env, yaml or json")
        return self


class HttpRepoint(OverHttp):
    """A document, or a whole body, that an endpoint gives and takes."""

    kind: Literal["http"]
    url: Address | None = None
    connection: str | None = None
    path: str = ""
    write_path: str | None = None
    method: Literal["PUT", "POST", "PATCH"] = "PUT"
    set: Values = Field(default={})
    body: Value | None = Field(default=None, repr=False)
    content_type: str | None = None
    create: StrictBool = False

    @property
    def subject(self) -> str:
        """Where it is."""
        return f"{self.url or self.connection}{self.path}"

    @model_validator(mode="after")
    def _is_whole(self) -> HttpRepoint:
        if (self.url is None) == (self.connection is None):
            raise ValueError("give either 'url' or 'connection' (id of an Airflow http connection)")
        if bool(self.set) == (self.body is not None):
            raise ValueError("give either 'set' (JSON pointers and values) or 'body'")
        return self


class KeyValueStore(OverHttp):
    """Keys of a store: whole values (``set``), or values of documents that keys hold (``documents``)."""

    url: Address
    set: Values = Field(default={})
    documents: dict[str, Document] = Field(default={})
    create: StrictBool = False

    @property
    def subject(self) -> str:
        """The store and its first key."""
        return f"{self.url} {next(iter([*self.set, *self.documents]), '')}"

    @model_validator(mode="after")
    def _sets_something(self) -> KeyValueStore:
        check_documents(self.set, self.documents)
        return self


class ConsulRepoint(KeyValueStore):
    """Keys of Consul's KV store."""

    kind: Literal["consul"]
    datacenter: str | None = None


class EtcdRepoint(KeyValueStore):
    """Keys of etcd, over the JSON gateway of its version 3."""

    kind: Literal["etcd"]


CONNECT_SET: dict[str, Setting] = {
    "consumer.override.bootstrap.servers": "{bootstrap.servers}",
    "admin.override.bootstrap.servers": "{bootstrap.servers}",
}
"""The second one is what Connect's REST interface reads and sets a sink's offsets by."""


class ConnectRepoint(OverHttp):
    """Sink connectors of a Kafka Connect cluster.

    :param topics: name in ``topics`` what the topics are called on the other side.
    :param offsets: set the group's offsets on the other side, while the connector is stopped.
    :param wait_s: longest wait for a state, or for a rebalance to end.
    """

    kind: Literal["connect"]
    url: Address
    connectors: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(is_a_list)] = Field(
        min_length=1
    )
    set: Values = CONNECT_SET
    topics: StrictBool = True
    offsets: StrictBool = True
    stop: Literal["stop", "pause", "leave"] = "stop"
    wait_s: float = Field(default=120, gt=0, le=3600)

    @property
    def subject(self) -> str:
        """The cluster and its connectors."""
        return f"{self.url} {', '.join(self.connectors)}"

    @model_validator(mode="after")
    def _can_set_offsets(self) -> ConnectRepoint:
        if self.offsets and self.stop == "pause":
            raise ValueError("offsets are set only while a connector is stopped; give 'offsets: false', or no 'stop'")
        return self


class KubernetesRepoint(Repoint):
    """Keys of a ConfigMap, then a rollout of the workloads that read it.

    :param stop: whether the workloads are scaled to 0 before the groups move, and back afterwards.
    :param kubeconfig: path of the file; by default that of the pod's service account, else ``~/.kube/config``.
    """

    kind: Literal["kubernetes"]
    namespace: str = Field(pattern=rf"^{KUBERNETES_NAME}\z")
    config_map: str = Field(pattern=rf"^{KUBERNETES_NAME}\z")
    set: Values = Field(default={})
    documents: dict[str, Document] = Field(default={})
    create: StrictBool = False
    workloads: Annotated[tuple[Workload, ...], BeforeValidator(is_a_list)] = ()
    stop: StrictBool = True
    kubeconfig: str | None = None
    context: str | None = None
    timeout_s: float = Field(default=10, gt=0, le=300)
    wait_s: float = Field(default=300, gt=0, le=3600)

    @property
    def subject(self) -> str:
        """The ConfigMap."""
        return f"{self.namespace}/{self.config_map}"

    @model_validator(mode="after")
    def _sets_something(self) -> KubernetesRepoint:
        check_documents(self.set, self.documents)
        return self


class VariableRepoint(Repoint):
    """An Airflow Variable: as a whole (``value``), or values in its JSON (``set``)."""

    kind: Literal["variable"]
    key: str = Field(min_length=1)
    value: Value | None = Field(default=None, repr=False)
    set: Values = Field(default={})
    create: StrictBool = False

    @property
    def subject(self) -> str:
        """The variable."""
        return self.key

    @model_validator(mode="after")
    def _is_whole(self) -> VariableRepoint:
        if bool(self.set) == (self.value is not None):
            raise ValueError("give either 'value' (the whole variable) or 'set' (paths in its JSON and values)")
        return self


class ConnectionRepoint(Repoint):
    """An Airflow Connection: ``host``, ``port``, ``schema``, ``login``, ``extra.<key>``.

    :param api: id of an http connection to Airflow's own API, which alone can change a connection.
    """

    kind: Literal["connection"]
    connection: str = Field(min_length=1)
    set: Values = Field(min_length=1)
    api: str = "airflow_api"
    create: StrictBool = False

    @property
    def subject(self) -> str:
        """The connection."""
        return self.connection

    @model_validator(mode="after")
    def _are_fields(self) -> ConnectionRepoint:
        odd = [key for key in self.set if key not in CONNECTION_FIELDS and not key.startswith("extra.")]
        if odd:
            raise ValueError(f"'set' takes {', '.join(CONNECTION_FIELDS)} and extra.<key>; {len(odd)} is none of these")
        return self


CONNECTION_FIELDS = ("host", "port", "schema", "login")


class PythonRepoint(Repoint):
    """Values that code of your own reads and writes.

    :param callable: ``package.module:function``; called with ``arguments``, it gives an object with
        ``read()`` (a mapping) and ``write(key, before, after)``.
    """

    kind: Literal["python"]
    callable: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*\z")
    arguments: dict[str, Any] = Field(default={}, repr=False)
    set: Values = Field(min_length=1)
    create: StrictBool = False

    @property
    def subject(self) -> str:
        """The function."""
        return self.callable


RepointSettings = Annotated[
    FileRepoint
    | HttpRepoint
    | ConsulRepoint
    | EtcdRepoint
    | ConnectRepoint
    | KubernetesRepoint
    | VariableRepoint
    | ConnectionRepoint
    | PythonRepoint,
    Field(discriminator="kind"),
]


def repoint_models() -> Mapping[str, type[FlowModel]]:
    """The model of each kind."""
    return _MODELS


_MODELS: dict[str, type[FlowModel]] = {
    "file": FileRepoint,
    "http": HttpRepoint,
    "consul": ConsulRepoint,
    "etcd": EtcdRepoint,
    "connect": ConnectRepoint,
    "kubernetes": KubernetesRepoint,
    "variable": VariableRepoint,
    "connection": ConnectionRepoint,
    "python": PythonRepoint,
}
