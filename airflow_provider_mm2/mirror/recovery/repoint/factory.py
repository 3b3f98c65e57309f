"""The repointers of a flow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from airflow_provider_mm2.mirror.errors import MirrorError
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.recovery.repoint.consul import ConsulStore
from airflow_provider_mm2.mirror.recovery.repoint.etcd import EtcdStore
from airflow_provider_mm2.mirror.recovery.repoint.file import FilePlaces
from airflow_provider_mm2.mirror.recovery.repoint.http import BODY, HttpPlaces
from airflow_provider_mm2.mirror.recovery.repoint.item_by_item import (
    FixedWishes,
    ItemByItem,
    Places,
    Unusable,
    Wanted,
    Wishes,
    as_text,
)
from airflow_provider_mm2.mirror.recovery.repoint.ports import AirflowSide, Repointer
from airflow_provider_mm2.mirror.recovery.repoint.python import PythonPlaces
from airflow_provider_mm2.mirror.recovery.repoint.store import StorePlaces, document_value, insides, wanted_of
from airflow_provider_mm2.mirror.recovery.repoint.values import with_environment
from airflow_provider_mm2.mirror.recovery.repoint.web import Web, web_of
from airflow_provider_mm2.mirror.repoint_settings import (
    ConsulRepoint,
    EtcdRepoint,
    FileRepoint,
    HttpRepoint,
    PythonRepoint,
    RepointSettings,
)
from airflow_provider_mm2.mirror.repoint_values import format_of

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
        places, wanted = _KINDS[settings.kind](settings)
        wishes = FixedWishes(values=tuple(wanted))
    except MirrorError as error:
        places, wishes = FilePlaces(path=Path(), format="json"), Unusable(error=error)
    return ItemByItem(name=settings.label, kind=settings.kind, groups=settings.groups, places=places, wishes=wishes)


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


def _http(settings: HttpRepoint) -> Made:
    return http_places(settings, web_of(settings, settings.url or ""))


def _consul(settings: ConsulRepoint) -> Made:
    store = ConsulStore(web=web_of(settings, settings.url), datacenter=settings.datacenter)
    return _store(settings, store)


def _etcd(settings: EtcdRepoint) -> Made:
    web = web_of(settings, settings.url)
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


_KINDS: dict[str, Callable[[Any], Made]] = {
    "file": _file,
    "http": _http,
    "consul": _consul,
    "etcd": _etcd,
    "python": _python,
}
