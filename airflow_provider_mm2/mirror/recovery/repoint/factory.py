"""The repointers of a flow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from airflow_provider_mm2.mirror.connect.rest import ConnectRest
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.recovery.repoint.airflow_places import ConnectionPlaces, VariableStore
from airflow_provider_mm2.mirror.recovery.repoint.connect import (
    ConnectPlaces,
    ConnectStates,
    ConnectWishes,
    StateWishes,
)
from airflow_provider_mm2.mirror.recovery.repoint.connect_stopped import StoppedSinks, StoppingSinks
from airflow_provider_mm2.mirror.recovery.repoint.consul import ConsulStore
from airflow_provider_mm2.mirror.recovery.repoint.etcd import EtcdStore
from airflow_provider_mm2.mirror.recovery.repoint.file import FilePlaces
from airflow_provider_mm2.mirror.recovery.repoint.http import BODY, HttpPlaces
from airflow_provider_mm2.mirror.recovery.repoint.in_airflow import ToDoInAirflow
from airflow_provider_mm2.mirror.recovery.repoint.item_by_item import TOLD, ItemByItem
from airflow_provider_mm2.mirror.recovery.repoint.kubernetes import (
    ConfigMapStore,
    KubernetesPlaces,
    KubernetesWishes,
    ReplicaPlaces,
)
from airflow_provider_mm2.mirror.recovery.repoint.kubernetes_api import KubernetesApi
from airflow_provider_mm2.mirror.recovery.repoint.places import FixedWishes, Places, Unusable, Wanted, Wishes, as_text
from airflow_provider_mm2.mirror.recovery.repoint.ports import AirflowSide, Repointer
from airflow_provider_mm2.mirror.recovery.repoint.python import PythonPlaces
from airflow_provider_mm2.mirror.recovery.repoint.stopping import Stopping
from airflow_provider_mm2.mirror.recovery.repoint.store import StorePlaces, document_value, insides, wanted_of
from airflow_provider_mm2.mirror.recovery.repoint.values import with_environment
from airflow_provider_mm2.mirror.repoint_settings import (
    ConnectionRepoint,
    ConnectRepoint,
    ConsulRepoint,
    EtcdRepoint,
    FileRepoint,
    HttpRepoint,
    KubernetesRepoint,
    PythonRepoint,
    RepointSettings,
    VariableRepoint,
)
from airflow_provider_mm2.mirror.repoint_values import Document, OverHttp, format_of
from airflow_provider_mm2.mirror.web.endpoint import Web, web_of

Made = tuple[Places, list[Wanted]]


def make_repointers(flow: MirrorFlow, *, airflow: AirflowSide | None = None) -> list[Repointer]:
    """One for each entry of the flow's ``repoint:``, in its order; nothing is contacted yet.

    :param airflow: what Airflow gives; without it what only Airflow can change is told as to do there.
    One that cannot be made here (an environment variable of its address is not set) has that as its plan.
    """
    return [_make(settings, airflow) for settings in flow.repoint]


def _make(settings: RepointSettings, airflow: AirflowSide | None) -> Repointer:
    wishes: Wishes
    try:
        if isinstance(settings, VariableRepoint | ConnectionRepoint) or getattr(settings, "connection", None):
            if airflow is None:
                return _to_do(settings)
            places, wanted = in_airflow(settings, airflow)
        elif settings.kind in _STOPPING:
            return _STOPPING[settings.kind](settings)
        else:
            places, wanted = _KINDS[settings.kind](settings)
        wishes = FixedWishes(values=tuple(wanted))
    except TOLD as error:
        places, wishes = FilePlaces(path=Path(), format="json"), Unusable(error=error)
    return ItemByItem(**_named(settings), places=places, wishes=wishes)


def _file(settings: FileRepoint) -> Made:
    kind = settings.format or format_of(settings.path)
    assert kind is not None  # noqa: S101 # the settings refuse it
    path = Path(with_environment(settings.path, settings.label))
    wanted = [
        Wanted(key=key, value=document_value(value, kind), may_create=settings.create)
        for key, value in settings.set.items()
    ]
    return FilePlaces(path=path, format=kind, may_create=settings.create), wanted


def http_places(settings: HttpRepoint, web: Web) -> Made:
    """Places behind an endpoint, wherever its address comes from."""
    write_path = settings.path if settings.write_path is None else settings.write_path
    places = HttpPlaces(
        web=web,
        path=settings.path,
        write_path=write_path,
        method=settings.method,
        content_type=settings.content_type,
        may_create=settings.create,
    )
    wanted = [Wanted(key=key, value=value, may_create=settings.create) for key, value in settings.set.items()]
    if settings.body is not None:
        wanted = [Wanted(key=BODY, value=as_text(settings.body))]
    return places, wanted


def in_airflow(settings: Any, airflow: AirflowSide) -> Made:
    """Places that Airflow gives: a Variable, a Connection, or an endpoint that a Connection leads to."""
    if isinstance(settings, VariableRepoint):
        store = VariableStore(airflow=airflow)
        if settings.value is not None:
            whole = {settings.key: settings.value}
            return StorePlaces(store=store, may_create=settings.create), wanted_of(
                whole, {}, may_create=settings.create
            )
        documents = {settings.key: Document(format="json", set=settings.set)}
        wanted = wanted_of({}, documents, may_create=settings.create)
        return StorePlaces(store=store, inside=insides(documents), may_create=settings.create), wanted
    if isinstance(settings, ConnectionRepoint):
        places = ConnectionPlaces(airflow, settings.connection, settings.api, settings.create)
        given = settings.set.items()
        return places, [Wanted(key=key, value=value, may_create=settings.create) for key, value in given]
    access = airflow.http_access(settings.connection)
    return http_places(settings, access.web(settings, lambda text: with_environment(text, settings.label)))


def _web(settings: OverHttp, url: str) -> Web:
    """The endpoint that an item of the flow names.

    :raises RepointValueMissing: there is no such variable.
    """
    return web_of(settings, url, lambda text: with_environment(text, settings.label))


def _http(settings: HttpRepoint) -> Made:
    return http_places(settings, _web(settings, settings.url or ""))


def _consul(settings: ConsulRepoint) -> Made:
    store = ConsulStore(web=_web(settings, settings.url), datacenter=settings.datacenter)
    return _store(settings, store)


def _etcd(settings: EtcdRepoint) -> Made:
    web = _web(settings, settings.url)
    user, password = web.user, web.password
    bare = Web(url=web.url, headers=web.headers, tls=web.tls, timeout_s=web.timeout_s)
    return _store(settings, EtcdStore(web=bare, user=user, password=password))


def _store(settings: ConsulRepoint | EtcdRepoint, store: Any) -> Made:
    places = StorePlaces(store=store, inside=insides(settings.documents), may_create=settings.create)
    return places, wanted_of(settings.set, settings.documents, may_create=settings.create)


def _python(settings: PythonRepoint) -> Made:
    places = PythonPlaces(settings.callable, settings.arguments, settings.create)
    wanted = [Wanted(key=key, value=value, may_create=settings.create) for key, value in settings.set.items()]
    return places, wanted


def _connect(settings: ConnectRepoint) -> Repointer:
    rest = ConnectRest(web=_web(settings, settings.url), wait_s=settings.wait_s)
    wishes = ConnectWishes(
        rest=rest,
        connectors=settings.connectors,
        values=settings.set,
        topics=settings.topics,
        offsets=settings.offsets,
    )
    places = ConnectPlaces(rest=rest)
    if settings.stop == "leave":
        return StoppedSinks(**_named(settings), places=places, wishes=wishes, rest=rest)
    state = "STOPPED" if settings.stop == "stop" else "PAUSED"
    states = StateWishes(rest=rest, connectors=settings.connectors, state=state)
    running = ItemByItem(**_named(settings), places=ConnectStates(rest=rest), wishes=states)
    return StoppingSinks(**_named(settings), places=places, wishes=wishes, running=running, rest=rest)


def _kubernetes(settings: KubernetesRepoint) -> Repointer:
    file = None if settings.kubeconfig is None else with_environment(settings.kubeconfig, settings.label)
    api = KubernetesApi(settings.namespace, file, settings.context, settings.timeout_s)
    store = ConfigMapStore(api=api, name=settings.config_map)
    texts = StorePlaces(store=store, inside=insides(settings.documents), may_create=settings.create)
    places = KubernetesPlaces(texts=texts, api=api, wait_s=settings.wait_s)
    values = tuple(wanted_of(settings.set, settings.documents, may_create=settings.create))
    wishes = KubernetesWishes(places=places, values=values, workloads=settings.workloads)
    if not settings.workloads or not settings.stop:
        return ItemByItem(**_named(settings), places=places, wishes=wishes)
    none = FixedWishes(values=tuple(Wanted(key=workload, value=0) for workload in settings.workloads))
    running = ItemByItem(**_named(settings), places=ReplicaPlaces(api=api, wait_s=settings.wait_s), wishes=none)
    return Stopping(**_named(settings), places=places, wishes=wishes, running=running)


def _named(settings: RepointSettings) -> dict[str, Any]:
    return {"name": settings.label, "kind": settings.kind, "groups": settings.groups}


def _to_do(settings: Any) -> Repointer:
    """What is left for a person where there is no Airflow."""
    if isinstance(settings, VariableRepoint):
        subject = f"Variable {settings.key}"
    else:
        subject = f"Connection {settings.connection}"
    if isinstance(settings, HttpRepoint):
        subject = f"what {subject} leads to{settings.path}"
    whole = getattr(settings, "value", getattr(settings, "body", None))
    values = settings.set if whole is None else {"the whole": whole}
    wanted = tuple(Wanted(key=key, value=value) for key, value in values.items())
    return ToDoInAirflow(**_named(settings), subject=subject, values=wanted)


_STOPPING: dict[str, Callable[[Any], Repointer]] = {"connect": _connect, "kubernetes": _kubernetes}

_KINDS: dict[str, Callable[[Any], Made]] = {
    "file": _file,
    "http": _http,
    "consul": _consul,
    "etcd": _etcd,
    "python": _python,
}
