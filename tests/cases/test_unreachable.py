"""Clusters that cannot be reached, or that refuse the credentials."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from airflow_provider_mm2.mirror.errors import AuthenticationFailed, ClusterUnreachable
from tests.cases.conftest import MakeCluster, MakeScenario
from tests.cases.scenario import Scenario, copied, records

pytestmark = pytest.mark.broker

LIMIT_S = 15
"""How long an unreachable cluster may keep a run, and a little for the rest of it."""


@pytest.fixture
def closed_port() -> str:
    """Give an address where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return f"127.0.0.1:{port}"


@pytest.fixture
def silent_port() -> Iterator[str]:
    """Give an address that takes connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port: int = listening.getsockname()[1]
        yield f"127.0.0.1:{port}"


def test_clusters_that_nobody_answers_for(scenario: Scenario, closed_port: str, silent_port: str) -> None:
    """A closed port, a port that never answers and a name that does not resolve end at the limit, on either side."""
    scenario.produce(*records(3))
    before = scenario.snapshot()
    addresses = {closed_port: "refused", silent_port: "", "no-such-host.invalid:9092": "resolve"}
    found: dict[tuple[str, str], ClusterUnreachable] = {}

    def run(side: str, address: str) -> Callable[[], None]:
        alias = {"source": "us", "target": "eu"}[side]
        unreachable: dict[str, Any] = {side: {"alias": alias, "settings": {"bootstrap.servers": address}}}

        def attempt() -> None:
            found[side, address] = scenario.fails(ClusterUnreachable, **unreachable)

        return attempt

    began = time.monotonic()
    threads = [threading.Thread(target=run(side, address)) for side in ("source", "target") for address in addresses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began < LIMIT_S + 15
    assert len(found) == 6
    for (side, address), error in found.items():
        assert (error.alias, error.servers) == ({"source": "us", "target": "eu"}[side], address)
        assert addresses[address] in error.problem.lower()
        assert error.retriable
    assert scenario.snapshot() == before


def test_a_wrong_password(make_cluster: MakeCluster, make_scenario: MakeScenario) -> None:
    """A refused password ends at once by the cluster's name, and is never shown; plain text ends at the limit."""
    secured = make_cluster(security="sasl_plaintext", users={"mirror": "right-password"})
    shared = make_scenario(partitions=0).addresses
    wrong = {**secured.client_settings, "sasl.password": "planted-wrong-password"}
    for side in ("source", "target"):
        addresses = {**shared, side: secured.client_settings}
        scenario = make_scenario(addresses=addresses)
        scenario.produce(*records(3))
        alias = {"source": "us", "target": "eu"}[side]
        began = time.monotonic()
        refused: dict[str, Any] = {side: {"alias": alias, "settings": wrong}}
        error = scenario.refuses(AuthenticationFailed, **refused)
        assert time.monotonic() - began < LIMIT_S
        assert error.alias == alias
        assert not error.retriable
        assert "planted" not in str(error)
        assert copied(scenario.run()) == 3
    bare = {"alias": "eu", "settings": {"bootstrap.servers": wrong["bootstrap.servers"]}}
    assert "TLS" in str(scenario.refuses(ClusterUnreachable, target=bare))
