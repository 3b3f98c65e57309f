"""The REST interface of one Connect cluster; a rebalance is waited for, within a bound.

Source: Kafka Connect, ``ConnectorsResource``, ``ConnectorPluginsResource``; KIP-875 (offsets, and stopping). While the
workers rebalance, what changes something is answered by 409, and is asked for again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.connect.scrubbing import scrub, secrets_of
from airflow_provider_mm2.mirror.errors import EndpointRefused, EndpointTooSlow, EndpointUnreachable
from airflow_provider_mm2.mirror.web.endpoint import Web
from airflow_provider_mm2.mirror.web.waiting import wait_until

LONGEST_SAID = 300
DOES = {"STOPPED": "stop", "PAUSED": "pause", "RUNNING": "resume"}
"""What brings a connector into a state."""


@dataclass(frozen=True, kw_only=True)
class ConnectRest:
    """One Connect cluster.

    :param wait_s: longest wait for a rebalance to end, or for a state.
    """

    web: Web
    wait_s: float

    def worker(self, tick: Tick) -> dict[str, str]:
        """The worker that answers: ``version``, and ``kafka_cluster_id`` of the cluster it writes to."""
        found: dict[str, str] = self.web.get("/", tick).json()
        return found

    def names(self, tick: Tick) -> list[str]:
        """Every connector there is."""
        found: list[str] = sorted(self._read("/connectors", tick).json())
        return found

    def config(self, name: str, tick: Tick) -> dict[str, str]:
        """A connector's configuration, secrets and all.

        :raises EndpointRefused: there is no such connector.
        """
        found: dict[str, str] = self._read(f"{_path(name)}/config", tick).json()
        return found

    def configs(self, tick: Tick) -> dict[str, dict[str, str]]:
        """The configuration of every connector, by name, secrets and all."""
        found = self._read("/connectors", tick, params={"expand": "info"}).json()
        return {name: dict(each["info"]["config"]) for name, each in found.items()}

    def status(self, name: str, tick: Tick) -> dict[str, Any]:
        """How a connector and its tasks run.

        :raises EndpointRefused: nothing is known of it.
        """
        found: dict[str, Any] = self._read(f"{_path(name)}/status", tick).json()
        return found

    def status_if_any(self, name: str, tick: Tick) -> dict[str, Any] | None:
        """How it runs; None: nothing is known of it yet, or any more."""
        answer = self._read(f"{_path(name)}/status", tick, taken=(404,))
        return None if answer.status_code == 404 else dict(answer.json())

    def offsets(self, name: str, tick: Tick) -> list[dict[str, Any]]:
        """A connector's offsets: ``partition`` and ``offset``, as the kind of connector has them."""
        where = f"{_path(name)}/offsets"
        found: list[dict[str, Any]] = self._settled("GET", where, {}, {}, tick).json()["offsets"]
        return found

    def plugins(self, tick: Tick) -> frozenset[str]:
        """Classes of connectors that the worker has."""
        return frozenset(each["class"] for each in self.web.get("/connector-plugins", tick).json())

    def validate(self, plugin: str, config: Mapping[str, str], tick: Tick) -> dict[str, list[str]]:
        """What a worker has to say against a configuration, by key, without the configuration's secrets.

        :param plugin: class of the connector; one that the worker has, else it says nothing but status 500.
        """
        where = f"/connector-plugins/{quote(plugin, safe='')}/config/validate"
        answer = self._settled("PUT", where, {"json": dict(config)}, config, tick).json()
        values = (each["value"] for each in answer["configs"])
        return {
            value["name"]: [scrub(str(text), secrets_of(config)) for text in value["errors"]]
            for value in values
            if value["errors"]
        }

    def change(self, method: str, name: str, path: str, body: object, config: Mapping[str, object], tick: Tick) -> None:
        """A change that may be asked for again: while the cluster rebalances it is, up to the limit.

        :param config: whose secrets are taken out of what Connect says.
        :raises EndpointRefused: Connect does not take it.
        :raises EndpointTooSlow: the cluster kept rebalancing.
        """
        given = {} if body is None else {"json": body}
        self._settled(method, f"{_path(name)}/{path}", given, config, tick)

    def create_stopped(self, name: str, config: Mapping[str, str], tick: Tick) -> None:
        """Create a connector that does nothing yet: its offsets can be set before it begins.

        Source: KIP-980 (Kafka 3.7 or newer).

        :raises EndpointRefused: Connect does not take it, or there is one of that name.
        """
        body = {"name": name, "config": dict(config), "initial_state": "STOPPED"}
        self._settled("POST", "/connectors", {"json": body}, config, tick)

    def alter_offsets(self, name: str, offsets: Sequence[Mapping[str, Any]], tick: Tick) -> None:
        """Set offsets of a stopped connector; one that is None is forgotten. What is not named stays.

        Where exactly once is on, the workers fence every task that the connector had before they do it.

        Source: KIP-875.

        :raises EndpointRefused: the connector is not stopped, or does not take them.
        """
        self.change("PATCH", name, "offsets", {"offsets": [dict(each) for each in offsets]}, {}, tick)

    def forget_offsets(self, name: str, tick: Tick) -> None:
        """Forget all offsets of a stopped connector, with the same fence.

        :raises EndpointRefused: the connector is not stopped.
        """
        self.change("DELETE", name, "offsets", None, {}, tick)

    def delete(self, name: str, tick: Tick) -> None:
        """Delete a connector; one that is gone already is fine. Its offsets stay.

        :raises EndpointTooSlow: the cluster kept rebalancing, or the connector is still there.
        """
        self._settled("DELETE", _path(name), {}, {}, tick, taken=(404,))
        if not wait_until(lambda: name not in self.names(tick), tick, limit_s=self.wait_s):
            where = f"connector {name} at {self.web.url}"
            raise EndpointTooSlow(where=where, seconds=self.wait_s, problem="it is still there")

    def _read(self, path: str, tick: Tick, *, taken: tuple[int, ...] = (), **options: Any) -> httpx.Response:
        """What is there, once the workers do not rebalance; anything else that is in the way is told at once."""
        answers: list[httpx.Response] = []

        def is_settled() -> bool:
            answers.append(self.web.get(path, tick, taken=(409, 500, *taken), **options))
            return not is_rebalancing(answers[-1])

        if not wait_until(is_settled, tick, limit_s=self.wait_s):
            where = f"GET {self.web.url}{path}"
            raise EndpointTooSlow(where=where, seconds=self.wait_s, problem="the cluster keeps rebalancing")
        last = answers[-1]
        return self.web.get(path, tick, taken=taken, **options) if last.status_code == 500 else last

    def _settled(
        self,
        method: str,
        path: str,
        given: Mapping[str, Any],
        config: Mapping[str, object],
        tick: Tick,
        *,
        taken: tuple[int, ...] = (),
    ) -> httpx.Response:
        """The answer, once it is another one than to come again later."""
        answers: list[httpx.Response | EndpointUnreachable] = []

        def is_settled() -> bool:
            try:
                answer = self.web.send(method, path, tick, taken=(400, 409, *taken), **given)
            except EndpointUnreachable as error:
                answers.append(error)
                return False
            answers.append(answer)
            return answer.status_code != 409

        where = f"{method} {self.web.url}{path}"
        done = wait_until(is_settled, tick, limit_s=self.wait_s)
        last = answers[-1]
        if isinstance(last, EndpointUnreachable):
            raise last
        if not done:
            raise EndpointTooSlow(where=where, seconds=self.wait_s, problem="the cluster keeps rebalancing")
        if last.status_code == 400:
            raise EndpointRefused(where=where, problem=_said(last, config))
        return last


def is_rebalancing(answer: httpx.Response) -> bool:
    """Whether a worker says that the workers rebalance: reading is then answered by 500, changing by 409.

    Source: Kafka Connect, ``DistributedHerder.checkRebalanceNeeded``, which is seen as 500 where a worker reads.
    """
    return answer.status_code == 409 or (answer.status_code == 500 and "rebalance" in answer.text)


def _path(name: str) -> str:
    return f"/connectors/{quote(name, safe='')}"


def _said(response: httpx.Response, config: Mapping[str, object]) -> str:
    """Connect's own words without the connector's secrets."""
    try:
        text = str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        return "status 400"
    return scrub(text, secrets_of(config)).replace("\n", " ")[:LONGEST_SAID]
