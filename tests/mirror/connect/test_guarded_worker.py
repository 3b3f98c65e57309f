"""A worker behind TLS and a log-in that does not do exactly once: who is let in, and what is refused."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from airflow_provider_mm2.local.pair import LocalPair
from tests.contract.lab import messages
from tests.contract.real_lab import RealLab
from tests.java.guarded_worker import PASSWORD, USER, guarded_worker
from tests.mirror.connect.stage import ConnectStage

pytestmark = pytest.mark.broker


@pytest.fixture
def stage(pair: LocalPair, kafka_folder: Path, tmp_path: Path) -> Iterator[ConnectStage]:
    """Give a stage on such a worker, with nothing in the flow that opens its door."""
    lab = RealLab(pair.addresses)
    with guarded_worker(kafka_folder / "guarded", pair.target) as (url, authority):
        made = ConnectStage(pair, lab, url, tmp_path)
        made.trust = str(authority)
        yield made
    lab.close()


def test_the_door_and_what_is_behind_it(stage: ConnectStage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without trust, with a wrong password, with the right one: exactly once is refused, at least once is not."""
    monkeypatch.setenv("CONNECT_PASSWORD", "wrong-one")
    assert "CERTIFICATE_VERIFY_FAILED" in stage.mm2("put", "--apply", code=3)
    auth = {"user": USER, "password": "${CONNECT_PASSWORD}"}
    stage.document["connect"] |= {"tls": {"ca": stage.trust}, "auth": auth}
    refused = stage.mm2("put", "--apply", code=4)
    assert ("status 401" in refused, "wrong-one" in refused) == (True, False)
    monkeypatch.setenv("CONNECT_PASSWORD", PASSWORD)
    told = stage.told("put", "--apply", code=4)["error"]
    assert (told["kind"], told["retriable"]) == ("ExactlyOnceOff", False)
    assert "does not have exactly-once source support enabled" in told["message"]
    assert PASSWORD not in str(told)
    assert connectors(stage) == []
    stage.document["delivery"] = "at_least_once"
    stage.mm2("put", "--apply")
    assert stage.await_mirrored(10) == [message.value for message in messages(10)]
    monkeypatch.delenv("CONNECT_PASSWORD")
    assert "there is no such environment variable" in stage.mm2("stop", code=2)
    login = f"https://{USER}:{PASSWORD}@localhost:{httpx.URL(stage.url).port}/https"
    monkeypatch.setenv("AIRFLOW_CONN_CONNECT_EU", login.replace("https://", "http://"))
    stage.document["connect"] = {"connection": "connect_eu", "tls": {"ca": stage.trust}}
    assert stage.told("delete", "--apply")["connectors"][0]["after"] == "MISSING"


def connectors(stage: ConnectStage) -> Any:
    """All connectors of the worker."""
    trust = ssl.create_default_context(cafile=stage.trust)
    options: dict[str, Any] = {"auth": (USER, PASSWORD), "verify": trust, "trust_env": False}
    return httpx.get(f"{stage.url}/connectors", **options).json()
