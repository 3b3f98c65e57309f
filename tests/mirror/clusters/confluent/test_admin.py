"""The admin client where nobody listens: it stops when asked to, and is gone when it is closed."""

from __future__ import annotations

import time
import weakref
from threading import Event

import pytest

from airflow_provider_mm2.local.ports import pick_ports
from airflow_provider_mm2.mirror.clusters.confluent.admin import CALL_LIMIT_S, Admin
from airflow_provider_mm2.mirror.clusters.ports import Tick, no_tick
from airflow_provider_mm2.mirror.errors import ClusterUnreachable, Stopped


def admin(*, limit_s: float = CALL_LIMIT_S, tick: Tick = no_tick) -> Admin:
    """Make a client of a cluster that is not there."""
    settings: dict[str, object] = {"bootstrap.servers": f"127.0.0.1:{pick_ports(1)[0].client}"}
    return Admin(alias="us", settings=settings, limit_s=limit_s, tick=tick)


def test_a_wait_ends_on_request() -> None:
    """Whoever is asked to stop need not sit out the limit of a cluster that is gone."""
    asked: list[int] = []

    def stop_at_the_third() -> None:
        asked.append(1)
        if len(asked) == 3:
            raise Stopped

    made, began = admin(tick=stop_at_the_third), time.monotonic()
    with pytest.raises(Stopped):
        made.cluster_id()
    assert time.monotonic() - began < CALL_LIMIT_S
    made.close()


def test_a_closed_client_is_gone() -> None:
    """K58: close lets it go, although exceptions that are still looked at hold the frames that it was in."""
    made, gone = admin(limit_s=1.5), Event()
    weakref.finalize(made.client, gone.set)
    with pytest.raises(ClusterUnreachable) as caught:
        made.cluster_id()
    assert not gone.is_set()
    made.close()
    assert gone.is_set()
    assert caught.value.__traceback__ is not None
    made.close()
