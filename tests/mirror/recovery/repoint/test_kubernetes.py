"""ConfigMaps and workloads, by the official client against an API server over TLS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.errors import EndpointTooSlow, EndpointUnreachable, RepointChangedMeanwhile
from airflow_provider_mm2.mirror.recovery.repoint.kubernetes import ANNOTATION
from airflow_provider_mm2.mirror.recovery.repoint.ports import Move, Stops
from tests.mirror.recovery.repoint.kubernetes_server import Cluster, kubernetes
from tests.mirror.recovery.repoint.moves import EU, MOVE, US, Noted, die_in, planned, repointer, states
from tests.mirror.recovery.repoint.server import Asked

DOCUMENT = f"# of the team\nbootstrap.servers={US}\n"
BACK = Move.from_json({**MOVE.to_json(), "from": "eu", "to": "us"})


class Stage:
    """A ConfigMap with two keys, and two workloads that read it."""

    def __init__(self, kubeconfig: Path, cluster: Cluster) -> None:
        self.cluster = cluster
        cluster.put("configmaps", "orders-config", {"data": {"TOPIC": "orders", "app.properties": DOCUMENT}})
        cluster.deploy("deployments", "orders", 3)
        cluster.deploy("statefulsets", "orders-state", 2)
        self.item: dict[str, Any] = {
            "kind": "kubernetes",
            "namespace": "orders",
            "config_map": "orders-config",
            "set": {"TOPIC": "{topic:orders}"},
            "documents": {"app.properties": {"set": {"bootstrap.servers": "{bootstrap.servers}"}}},
            "workloads": ["deployment/orders", "statefulset/orders-state"],
            "kubeconfig": str(kubeconfig),
            "wait_s": 10,
        }

    @property
    def data(self) -> dict[str, str]:
        """The ConfigMap's keys."""
        data: dict[str, str] = self.cluster.objects["configmaps", "orders-config"]["data"]
        return data

    @property
    def rolled_out(self) -> list[str | None]:
        """What the workloads' templates say."""
        templates = [found["spec"]["template"] for found in self.cluster.objects.values() if "spec" in found]
        return [template["metadata"].get("annotations", {}).get(ANNOTATION) for template in templates]

    @property
    def replicas(self) -> list[int]:
        """How many there are to be."""
        return [found["spec"]["replicas"] for found in self.cluster.objects.values() if "spec" in found]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Give it, served."""
    cluster = Cluster()
    with kubernetes(cluster, tmp_path) as kubeconfig:
        yield Stage(kubeconfig, cluster)


@pytest.mark.thorough
def test_forth_and_back(stage: Stage) -> None:
    """The values, then a rollout of each workload; undone in the same order, so that the old values are read anew."""
    made, note = repointer(**stage.item), Noted()
    plan = planned(made)
    assert states(plan) == ["to change"] * 4
    assert [item.after for item in plan.items] == ["us.orders", EU, "eu/1", "eu/1"]
    done = made.apply(plan, note, no_tick)
    assert stage.data == {"TOPIC": "us.orders", "app.properties": DOCUMENT.replace(US, EU)}
    assert stage.rolled_out == ["eu/1", "eu/1"]
    assert states(made.verify(done, no_tick)) == states(planned(made)) == ["in place already"] * 4
    made.undo(done, note, no_tick)
    assert stage.data == {"TOPIC": "orders", "app.properties": DOCUMENT}
    assert stage.rolled_out == [None, None]


def test_each_move_rolls_out(stage: Stage) -> None:
    """Forth, back and forth again: the number grows with each."""
    made = repointer(**stage.item)
    for move, expected in ((MOVE, "eu/1"), (BACK, "us/2"), (MOVE, "eu/3")):
        made.apply(planned(made, move), Noted(), no_tick)
        assert stage.rolled_out == [expected] * 2


def test_stop_and_start(stage: Stage) -> None:
    """Scaled to 0 and back to what there was; what somebody scaled since is left alone."""
    made, note = repointer(**stage.item), Noted()
    assert isinstance(made, Stops)
    made.stop(MOVE, note, no_tick)
    assert stage.replicas == [0, 0]
    made.stop(note.last, note, no_tick)
    stage.cluster.objects["deployments", "orders"]["spec"]["replicas"] = 1
    started = made.start(note.last, note, no_tick)
    assert stage.replicas == [1, 2]
    assert states(started) == ["unexpected value", "to change"]
    assert not isinstance(repointer(**{**stage.item, "stop": False}), Stops)


def test_a_middle_item_fails(stage: Stage) -> None:
    """The second value cannot be written: on record, gone on with, or undone."""
    made, note, writes = repointer(**stage.item), Noted(), []

    def second(asked: Asked) -> int | None:
        if asked.method == "PATCH":
            writes.append(asked)
            return 503 if len(writes) == 2 else None
        return None

    stage.cluster.failing = second
    plan = planned(made)
    with pytest.raises(EndpointUnreachable, match="status 503"):
        made.apply(plan, note, no_tick)
    assert states(note.last) == ["in place already", "problem", "to change", "to change"]
    made.undo(note.last, note, no_tick)
    assert stage.data["TOPIC"] == "orders"
    assert states(made.apply(plan, note, no_tick)) == ["in place already"] * 4


def test_a_rollout_that_does_not_end(stage: Stage) -> None:
    """Pods that do not get ready are told with their number, after the limit."""
    stage.cluster.ready = False
    made = repointer(**{**stage.item, "wait_s": 0.5})
    with pytest.raises(EndpointTooSlow, match="0 of 3 pods are ready"):
        made.apply(planned(made), Noted(), no_tick)


def test_somebody_was_faster(stage: Stage) -> None:
    """A change between reading and writing is seen by the API server."""
    made, plan = repointer(**stage.item), planned(repointer(**stage.item))

    def meanwhile(asked: Asked) -> int | None:
        if asked.method == "PATCH":
            stage.cluster.put("configmaps", "orders-config", {"data": {"TOPIC": "mine", "app.properties": DOCUMENT}})
        return None

    stage.cluster.failing = meanwhile
    with pytest.raises(RepointChangedMeanwhile, match="of another version"):
        made.apply(plan, Noted(), no_tick)
    assert stage.data["TOPIC"] == "mine"


@pytest.mark.thorough
@pytest.mark.parametrize("onwards", ["apply", "undo"])
def test_killed_in_the_middle(stage: Stage, onwards: str) -> None:
    """A process that dies behind the first rollout is gone on with, or undone, by the next one."""
    made = repointer(**stage.item)
    recorded = die_in("apply", stage.item, planned(made), writes=3)
    done = getattr(made, onwards)(recorded, Noted(), no_tick)
    assert states(made.verify(done, no_tick)) == ["in place already" if onwards == "apply" else "to change"] * 4
    assert stage.rolled_out == (["eu/1", "eu/1"] if onwards == "apply" else [None, None])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"config_map": "order-config"}, "has none of this name (near it: orders-config)"),
        ({"workloads": ["deployment/order"]}, "has none of this name (near it: orders)"),
        ({"set": {"TOPICS": "x"}, "workloads": []}, "no such key (near it: TOPIC)"),
        ({"kubeconfig": "/nowhere/config"}, "Kubernetes cannot be used: "),
    ],
)
def test_what_is_not_there(stage: Stage, change: dict[str, Any], told: str) -> None:
    """A ConfigMap, a workload, a key, a kubeconfig: told with the names near it."""
    plan = planned(repointer(**{**stage.item, **change}))
    assert any(told in item.detail for item in plan.items), plan


def test_a_log_in_that_is_refused(stage: Stage) -> None:
    """A token that the API server does not take is told by its status, without the token."""
    stage.cluster.token = "another"  # noqa: S105 # no secret
    plan = planned(repointer(**stage.item))
    assert "refused it: status 401" in plan.items[0].detail
    assert "t-1" not in str(plan)
