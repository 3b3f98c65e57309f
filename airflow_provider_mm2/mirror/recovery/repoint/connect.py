"""Sink connectors of Kafka Connect, over its REST interface: configuration, the group's offsets, how they run.

Source: Kafka Connect, ``ConnectorsResource``; KIP-875 (offsets, and stopping). There is no check-and-set: the
configuration is read right before it is written. Which cluster the offsets are of is told by the connector's
``admin.override.bootstrap.servers``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.connect.rest import DOES, ConnectRest
from airflow_provider_mm2.mirror.errors import (
    EndpointTooSlow,
    RepointChangedMeanwhile,
    RepointPlaceMissing,
    RepointUnreadable,
)
from airflow_provider_mm2.mirror.recovery.repoint.places import Wanted, as_text
from airflow_provider_mm2.mirror.recovery.repoint.ports import Move
from airflow_provider_mm2.mirror.recovery.repoint.values import Held, Present, near, same
from airflow_provider_mm2.mirror.web.waiting import wait_until

CONFIG, OFFSETS = "config", "offsets"


def named(rest: ConnectRest, patterns: Sequence[str], tick: Tick) -> list[str]:
    """Connectors that the patterns name; each pattern must name one.

    :raises RepointPlaceMissing: there is none.
    """
    there = rest.names(tick)
    for pattern in patterns:
        if not any(re.fullmatch(pattern, name) for name in there):
            problem = f"no connector matches {pattern!r}{near(pattern, there)}"
            raise RepointPlaceMissing(where=f"{rest.web.url}/connectors", problem=problem)
    return [name for name in there if any(re.fullmatch(pattern, name) for pattern in patterns)]


def sink_offsets(rest: ConnectRest, name: str, tick: Tick) -> dict[tuple[str, int], int]:
    """The offsets of a sink's group."""
    return {
        (one["partition"]["kafka_topic"], one["partition"]["kafka_partition"]): one["offset"]["kafka_offset"]
        for one in rest.offsets(name, tick)
        if one.get("offset")
    }


@dataclass(frozen=True, kw_only=True)
class ConnectPlaces:
    """Keys ``<connector>/config/<key>``, and ``<connector>/offsets/<topic-partition,...>``."""

    rest: ConnectRest

    def where(self, key: str) -> str:
        """What of which connector."""
        name, what, rest = parts_of(key)
        return f"{rest if what == CONFIG else f'offsets of {rest}'} of connector {name} at {self.rest.web.url}"

    def read(self, key: str, tick: Tick) -> Present:
        """A value of the configuration, or the offsets of the partitions that the key names."""
        name, what, rest = parts_of(key)
        if what == CONFIG:
            config = self.rest.config(name, tick)
            return Held(config[rest]) if rest in config else None
        named = rest.split(",")
        found = sorted(sink_offsets(self.rest, name, tick).items())
        return Held([[*part, offset] for part, offset in found if f"{part[0]}-{part[1]}" in named])

    def write(self, key: str, before: Present, after: Present, tick: Tick) -> None:
        """Write the whole configuration with one value changed, or alter the offsets of a stopped connector."""
        name, what, rest = parts_of(key)
        config = self.rest.config(name, tick)
        if what == OFFSETS:
            self._alter(name, after, config, tick)
            return
        if not same(Held(config[rest]) if rest in config else None, before):
            raise RepointChangedMeanwhile(where=self.where(key), now="another value", expected="as it was read")
        changed = {one: value for one, value in config.items() if one != rest}
        if after is not None:
            changed[rest] = after.value
        self.rest.change("PUT", name, "config", changed, {**config, **changed}, tick)
        if not wait_until(lambda: same(self.read(key, tick), after), tick, limit_s=self.rest.wait_s):
            problem = "it was taken, and is not read back"
            raise EndpointTooSlow(where=self.where(key), seconds=self.rest.wait_s, problem=problem)

    def _alter(self, name: str, after: Present, config: Mapping[str, str], tick: Tick) -> None:
        if after is None:
            return
        offsets = [
            {"partition": {"kafka_topic": topic, "kafka_partition": partition}, "offset": {"kafka_offset": offset}}
            for topic, partition, offset in after.value
        ]
        self.rest.change("PATCH", name, "offsets", {"offsets": offsets}, config, tick)


def parts_of(key: str) -> tuple[str, str, str]:
    """The connector, what of it, and the rest of a key."""
    for what in (CONFIG, OFFSETS):
        name, found, rest = key.partition(f"/{what}/")
        if found:
            return name, what, rest
    raise RepointUnreadable(where=key, problem="neither configuration nor offsets")


@dataclass(frozen=True, kw_only=True)
class ConnectWishes:
    """What a move asks of the connectors, by what their configuration is.

    :param values: keys of the configuration.
    """

    rest: ConnectRest
    connectors: tuple[str, ...]
    values: Mapping[str, object]
    topics: bool
    offsets: bool

    def wanted(self, move: Move, tick: Tick) -> Sequence[Wanted]:
        """Configuration first: it tells which cluster the offsets are of."""
        found: list[Wanted] = []
        for name in named(self.rest, self.connectors, tick):
            config = self.rest.config(name, tick)
            values = {**(self._topics(name, config, move) if self.topics else {}), **self.values}
            found += [
                Wanted(key=f"{name}/{CONFIG}/{key}", value=as_text(value), may_create=True)
                for key, value in values.items()
            ]
            offsets = move.offsets.get(config.get("consumer.override.group.id", f"connect-{name}"), {})
            if self.offsets and offsets:
                parts = sorted(offsets)
                key = f"{name}/{OFFSETS}/{','.join(map(str, parts))}"
                found.append(Wanted(key=key, value=[[*part, offsets[part]] for part in parts], one_way=True))
        return found

    def _topics(self, name: str, config: Mapping[str, str], move: Move) -> dict[str, object]:
        """``topics`` with the names of each side; other topics are left as they are."""
        pairs = [(names.get(move.from_alias), names.get(move.to_alias)) for names in move.topics.values()]
        renamed = {one: other for one, other in pairs if one and other and one != other}
        if "topics.regex" in config and renamed and "topics.regex" not in self.values:
            problem = "topics.regex cannot be renamed; give it for each alias in 'set'"
            raise RepointUnreadable(where=f"connector {name} at {self.rest.web.url}", problem=problem)
        if "topics" not in config or "topics" in self.values or not renamed:
            return {}
        named = [topic.strip() for topic in config["topics"].split(",")]
        back = {other: one for one, other in renamed.items()}
        left = ",".join(back.get(topic, topic) for topic in named)
        taken = ",".join(renamed.get(topic, topic) for topic in named)
        return {"topics": {move.from_alias: left, move.to_alias: taken}} if taken != left else {}


@dataclass(frozen=True, kw_only=True)
class ConnectStates:
    """How connectors run, by name: ``RUNNING``, ``PAUSED`` or ``STOPPED``."""

    rest: ConnectRest

    def where(self, key: str) -> str:
        """The connector."""
        return f"connector {key} at {self.rest.web.url}"

    def read(self, key: str, tick: Tick) -> Present:
        """What it is to be; one that failed or is being assigned is to run."""
        state = self.rest.status(key, tick)["connector"]["state"]
        return Held(state if state in ("PAUSED", "STOPPED") else "RUNNING")

    def write(self, key: str, before: Present, after: Present, tick: Tick) -> None:
        """Stop, pause or resume it, and wait until it is so."""
        wanted = "RUNNING" if after is None else after.value
        self.rest.change("PUT", key, DOES[wanted], None, {}, tick)
        if not wait_until(lambda: self._is(key, wanted, tick), tick, limit_s=self.rest.wait_s):
            raise EndpointTooSlow(where=self.where(key), seconds=self.rest.wait_s, problem=f"it is not {wanted}")

    def _is(self, name: str, wanted: str, tick: Tick) -> bool:
        status = self.rest.status(name, tick)
        tasks = [task["state"] for task in status["tasks"]]
        if status["connector"]["state"] != wanted:
            return False
        return not tasks if wanted == "STOPPED" else wanted == "RUNNING" or {*tasks} <= {"PAUSED"}


@dataclass(frozen=True, kw_only=True)
class StateWishes:
    """That every connector is stopped, or paused."""

    rest: ConnectRest
    connectors: tuple[str, ...]
    state: str

    def wanted(self, move: Move, tick: Tick) -> Sequence[Wanted]:
        """One for each connector."""
        return [Wanted(key=name, value=self.state) for name in named(self.rest, self.connectors, tick)]
