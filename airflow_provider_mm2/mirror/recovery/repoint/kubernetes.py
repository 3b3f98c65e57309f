"""Keys of a ConfigMap, and the workloads that read it: rolled out anew, scaled to 0 and back.

Every write names the resourceVersion that was read, so that the API server refuses it where somebody was faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import EndpointTooSlow, RepointChangedMeanwhile
from airflow_provider_mm2.mirror.recovery.repoint.kubernetes_api import KubernetesApi
from airflow_provider_mm2.mirror.recovery.repoint.places import Wanted
from airflow_provider_mm2.mirror.recovery.repoint.ports import Move
from airflow_provider_mm2.mirror.recovery.repoint.store import Entry, StorePlaces
from airflow_provider_mm2.mirror.recovery.repoint.values import Held, Present, near, same, value_for
from airflow_provider_mm2.mirror.web.waiting import wait_until

ANNOTATION = "airflow-provider-mm2/repointed"
"""On the pods' template: the side and a number that grows, so that each move rolls out, and the same one only once."""

ROLLOUT = "rollout of "


@dataclass(frozen=True, kw_only=True)
class ConfigMapStore:
    """The keys of one ConfigMap."""

    api: KubernetesApi
    name: str

    def where(self, name: str) -> str:
        """The key and the ConfigMap."""
        return f"{name} in ConfigMap {self.api.namespace}/{self.name}"

    def get(self, name: str, tick: Tick) -> Entry:
        """The text, with the ConfigMap's version."""
        found = self.api.config_map(self.name, tick)
        return Entry((found.data or {}).get(name), found.metadata.resource_version)

    def near(self, name: str, tick: Tick) -> str:
        """Keys of the ConfigMap."""
        return near(name, self.api.config_map(self.name, tick).data or {})

    def put(self, name: str, text: str | None, seen: Entry, tick: Tick) -> bool:
        """Set the key, or take it out."""
        body = {"metadata": {"resourceVersion": seen.version}, "data": {name: text}}
        return self.api.patch_config_map(self.name, body, tick)


@dataclass(frozen=True, kw_only=True)
class KubernetesPlaces:
    """Values in a ConfigMap, and the annotation that has workloads rolled out (``rollout of <kind>/<name>``)."""

    texts: StorePlaces
    api: KubernetesApi
    wait_s: float

    def where(self, key: str) -> str:
        """The value, or the rollout."""
        return f"{key} in {self.api.namespace}" if key.startswith(ROLLOUT) else self.texts.where(key)

    def read(self, key: str, tick: Tick) -> Present:
        """A value, or which move the workload was rolled out for last."""
        if not key.startswith(ROLLOUT):
            return self.texts.read(key, tick)
        annotations = self.api.workload(key[len(ROLLOUT) :], tick).spec.template.metadata.annotations or {}
        return Held(annotations[ANNOTATION]) if ANNOTATION in annotations else None

    def write(self, key: str, before: Present, after: Present, tick: Tick) -> None:
        """Set a value; or start a rollout and wait for its end."""
        if not key.startswith(ROLLOUT):
            self.texts.write(key, before, after, tick)
            return
        workload = key[len(ROLLOUT) :]
        version = self.api.workload(workload, tick).metadata.resource_version
        if not same(self.read(key, tick), before):
            raise RepointChangedMeanwhile(where=self.where(key), now="of another version", expected="as it was read")
        template = {"metadata": {"annotations": {ANNOTATION: None if after is None else after.value}}}
        body = {"metadata": {"resourceVersion": version}, "spec": {"template": template}}
        if not self.api.patch_workload(workload, body, tick):
            raise RepointChangedMeanwhile(where=self.where(key), now="of another version", expected="as it was read")
        await_workload(self.api, workload, is_rolled_out, self.wait_s, self.where(key), tick)


def await_workload(
    api: KubernetesApi, workload: str, is_so: Callable[[Any], bool], limit_s: float, where: str, tick: Tick
) -> None:
    """Wait for a workload, within a limit.

    :raises EndpointTooSlow: it did not come about.
    """
    if not wait_until(lambda: is_so(api.workload(workload, tick)), tick, limit_s=limit_s):
        status = api.workload(workload, tick).status
        problem = f"{status.ready_replicas or 0} of {status.replicas or 0} pods are ready"
        raise EndpointTooSlow(where=where, seconds=limit_s, problem=problem)


def is_rolled_out(found: Any) -> bool:
    """Whether every pod is of the newest template and ready. Source: ``kubectl rollout status``."""
    status, wanted = found.status, found.spec.replicas or 0
    is_seen = (status.observed_generation or 0) >= found.metadata.generation
    counts = [status.updated_replicas or 0, status.replicas or 0]
    return is_seen and counts == [wanted, wanted] and (status.ready_replicas or 0) >= wanted


@dataclass(frozen=True, kw_only=True)
class KubernetesWishes:
    """The values, and a rollout of each workload where one of them changes."""

    places: KubernetesPlaces
    values: tuple[Wanted, ...]
    workloads: tuple[str, ...]

    def wanted(self, move: Move, tick: Tick) -> Sequence[Wanted]:
        """Rollouts last; one that was for this side is in place while all values are."""
        in_place = all(self._in_place(one, move, tick) for one in self.values) if self.workloads else True
        rollouts = [self._rollout(workload, move.to_alias, tick, in_place=in_place) for workload in self.workloads]
        return [*self.values, *rollouts]

    def _in_place(self, wanted: Wanted, move: Move, tick: Tick) -> bool:
        where = self.places.where(wanted.key)
        return same(self.places.read(wanted.key, tick), Held(value_for(wanted.value, move, move.to_alias, where)))

    def _rollout(self, workload: str, side: str, tick: Tick, *, in_place: bool) -> Wanted:
        key = f"{ROLLOUT}{workload}"
        now = self.places.read(key, tick)
        last, _, number = ("", "", "0") if now is None else str(now.value).partition("/")
        count = int(number) if number.isdigit() else 0
        value = f"{side}/{count if in_place and last == side else count + 1}"
        return Wanted(key=key, value=value, may_create=True)


@dataclass(frozen=True, kw_only=True)
class ReplicaPlaces:
    """How many replicas workloads are to have, by ``<kind>/<name>``."""

    api: KubernetesApi
    wait_s: float

    def where(self, key: str) -> str:
        """The workload."""
        return f"replicas of {key} in {self.api.namespace}"

    def read(self, key: str, tick: Tick) -> Present:
        """How many there are to be."""
        return Held(self.api.workload(key, tick).spec.replicas)

    def write(self, key: str, before: Present, after: Present, tick: Tick) -> None:
        """Scale, and wait until as many pods are ready, or all are gone."""
        found = self.api.workload(key, tick)
        replicas = 0 if after is None else after.value
        body: Mapping[str, Any] = {
            "metadata": {"resourceVersion": found.metadata.resource_version},
            "spec": {"replicas": replicas},
        }
        if not same(Held(found.spec.replicas), before) or not self.api.patch_workload(key, body, tick):
            raise RepointChangedMeanwhile(where=self.where(key), now="of another version", expected="as it was read")

        def has_them(now: Any) -> bool:
            is_seen = (now.status.observed_generation or 0) >= now.metadata.generation
            return is_seen and (now.status.replicas or 0) == replicas == (now.status.ready_replicas or 0)

        await_workload(self.api, key, has_them, self.wait_s, self.where(key), tick)
