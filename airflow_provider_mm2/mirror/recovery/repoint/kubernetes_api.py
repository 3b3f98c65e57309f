"""The few calls to Kubernetes that a repoint needs, by the official client (extra ``kubernetes``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import (
    EndpointRefused,
    EndpointUnreachable,
    MirrorError,
    RepointPlaceMissing,
    RepointUnreadable,
)
from airflow_provider_mm2.mirror.recovery.repoint.values import near
from airflow_provider_mm2.mirror.web.waiting import ticked

_KINDS = {"deployment": "deployment", "statefulset": "stateful_set"}


@dataclass(frozen=True)
class KubernetesApi:
    """One namespace of one cluster; the client is made at the first call.

    :param kubeconfig: path; None: the pod's service account, else ``~/.kube/config``.
    """

    namespace: str
    kubeconfig: str | None
    context: str | None
    timeout_s: float

    def config_map(self, name: str, tick: Tick) -> Any:
        """A ConfigMap."""

        def listed() -> list[str]:
            return [one.metadata.name for one in self._core.list_namespaced_config_map(self.namespace).items]

        return self._called(
            f"ConfigMap {self.namespace}/{name}",
            lambda: self._core.read_namespaced_config_map(name, self.namespace, **self._limit),
            tick,
            lambda: near(name, listed()),
        )

    def patch_config_map(self, name: str, body: Mapping[str, Any], tick: Tick) -> bool:
        """Whether it was still of the version that the body names."""
        return self._patched(
            f"ConfigMap {self.namespace}/{name}",
            lambda: self._core.patch_namespaced_config_map(name, self.namespace, body, **self._limit),
            tick,
        )

    def workload(self, workload: str, tick: Tick) -> Any:
        """A Deployment or a StatefulSet, by ``<kind>/<name>``."""
        kind, _, name = workload.partition("/")

        def listed() -> list[str]:
            return [one.metadata.name for one in self._app(f"list_namespaced_{_KINDS[kind]}")(self.namespace).items]

        return self._called(
            f"{workload} in {self.namespace}",
            lambda: self._app(f"read_namespaced_{_KINDS[kind]}")(name, self.namespace, **self._limit),
            tick,
            lambda: near(name, listed()),
        )

    def patch_workload(self, workload: str, body: Mapping[str, Any], tick: Tick) -> bool:
        """Whether it was still of the version that the body names."""
        kind, _, name = workload.partition("/")
        return self._patched(
            f"{workload} in {self.namespace}",
            lambda: self._app(f"patch_namespaced_{_KINDS[kind]}")(name, self.namespace, body, **self._limit),
            tick,
        )

    @property
    def _limit(self) -> dict[str, float]:
        return {"_request_timeout": self.timeout_s}

    @cached_property
    def _client(self) -> Any:
        try:
            from kubernetes import client, config
        except ImportError:
            problem = "the package 'kubernetes' is not installed; it is the extra 'kubernetes' of this one"
            raise RepointUnreadable(where="Kubernetes", problem=problem) from None
        settings = client.Configuration()
        try:
            self._load(config, settings)
        except config.ConfigException as error:
            raise RepointUnreadable(where="Kubernetes", problem=str(error)) from None
        settings.retries = False
        return client.ApiClient(settings)

    def _load(self, config: Any, settings: Any) -> None:
        if self.kubeconfig is None and self.context is None:
            try:
                config.load_incluster_config(settings)
                return
            except config.ConfigException:
                pass  # not in a pod: the user's own file is next, and its errors are told
        config.load_kube_config(self.kubeconfig, context=self.context, client_configuration=settings)

    @cached_property
    def _core(self) -> Any:
        from kubernetes import client

        return client.CoreV1Api(self._client)

    def _app(self, method: str) -> Any:
        from kubernetes import client

        return getattr(client.AppsV1Api(self._client), method)

    def _patched(self, where: str, call: Callable[[], Any], tick: Tick) -> bool:
        answer = self._called(where, call, tick, conflict=True)
        return answer is not None

    def _called(
        self, where: str, call: Callable[[], Any], tick: Tick, hint: Callable[[], str] = str, *, conflict: bool = False
    ) -> Any:
        """The answer; None: the version was another. No body of an answer is shown."""
        client = self._client
        from kubernetes.client import ApiException
        from urllib3.exceptions import HTTPError

        try:
            return ticked(call, tick)
        except ApiException as error:
            if error.status == 409 and conflict:
                return None
            raise self._told(where, error.status, hint) from None
        except HTTPError as error:
            problem = f"{client.configuration.host}: {type(error).__name__}"
            raise EndpointUnreachable(where=where, problem=problem) from None

    def _told(self, where: str, status: int, hint: Callable[[], str]) -> MirrorError:
        if status == 404:
            return RepointPlaceMissing(where=where, problem=f"the namespace has none of this name{hint()}")
        if status in (429, 500, 502, 503, 504):
            return EndpointUnreachable(where=where, problem=f"status {status}")
        return EndpointRefused(where=where, problem=f"status {status}")
