"""The FLOW argument of commands: the flow, its two clusters and the times given."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import pendulum
import typer

from airflow_provider_mm2.cli.connections import connection_settings
from airflow_provider_mm2.mirror.errors import BoundRefused
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.flow_file import flow_folder
from airflow_provider_mm2.mirror.reverse_flow import find_any_flow

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.clusters.confluent.client import ConfluentPair

Flow = Annotated[str, typer.Argument(metavar="FLOW", help="A flow's YAML file, or its name in the folder of flows.")]

_ZONE = re.compile(r"[T ].*(Z|[+-]\d{2}(:?\d{2})?)$", re.IGNORECASE)


def load(name_or_path: str) -> MirrorFlow:
    """The flow of an argument: a path, or a name in ``$MM2_FLOWS`` or in ``flows`` here.

    :raises SettingsError: there is none, or it is not valid.
    """
    here = Path.cwd()
    return find_any_flow(name_or_path, flow_folder(here / "flows"), relative_to=here)


@contextmanager
def clusters(flow: MirrorFlow, *, target_only: bool = False) -> Iterator[ConfluentPair]:
    """The clusters of a flow, its connections read from the environment; closed at the end.

    :param target_only: the source is not to be spoken to; nothing that it needs is asked for.
    :raises SettingsError: a connection or variable is missing, or a setting is refused.
    """
    from airflow_provider_mm2.mirror.clusters.confluent.client import connect

    settings = {
        cluster.alias: connection_settings(cluster.connection)
        for cluster in ((flow.target,) if target_only else (flow.source, flow.target))
        if cluster.connection is not None
    }
    pair = connect(flow, settings=settings, target_only=target_only)
    try:
        yield pair
    finally:
        pair.close()


def parse_time(option: str, text: str | None) -> datetime | None:
    """A time given on the command line.

    :raises BoundRefused: it is not a time, or has no zone.
    """
    if text is None:
        return None
    try:
        moment = pendulum.parse(text)
    except (OverflowError, ValueError) as error:
        raise BoundRefused(bound=f"{option} {text}", problem="it is not a time") from error
    if not isinstance(moment, pendulum.DateTime):
        raise BoundRefused(bound=f"{option} {text}", problem="it is not a moment in time")
    if not _ZONE.search(text):
        raise BoundRefused(bound=f"{option} {text}", problem="it has no time zone")
    try:
        return datetime.fromtimestamp(moment.timestamp(), tz=timezone.utc)
    except (OverflowError, ValueError) as error:
        raise BoundRefused(bound=f"{option} {text}", problem="it is beyond the calendar") from error


@contextmanager
def stop_on_signals() -> Iterator[Event]:
    """An event that Ctrl-C and SIGTERM set, so that a run aborts its transaction and leaves."""
    stop = Event()

    def ask(signum: int, frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
