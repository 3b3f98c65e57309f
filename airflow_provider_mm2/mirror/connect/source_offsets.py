"""The offsets of a flow's MirrorSourceConnector while it is stopped: read for good, and set.

In Connect they stand as the last record that was copied; here, as everywhere, as the next one to copy. Only a connector
that is stopped stands still, and a task of its that froze may still wake up: setting its offsets to what they are makes
the workers fence it, and what is read after that is the truth.

Source: KIP-875 (offsets of stopped connectors), KIP-618 (zombie fencing); MirrorMaker 2, ``MirrorUtils.wrapPartition``,
``MirrorSourceConnector.alterOffsets``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.connect.connectors import Connector, Part, name_of
from airflow_provider_mm2.mirror.connect.flow_connectors import Action, FlowConnectors
from airflow_provider_mm2.mirror.connect.report import MISSING, progress_of
from airflow_provider_mm2.mirror.errors import ConnectOffsetsMoved, ConnectorMissing
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import TopicPartition

ENABLED, OFF = "enabled", "false"
"""Key of a connector's configuration, and the value with which it does nothing."""

Progress = Mapping[TopicPartition, int]
"""The next source offset to copy, by source partition."""


@dataclass(frozen=True, kw_only=True)
class SourceOffsets:
    """Offsets of one flow's MirrorSourceConnector."""

    connectors: FlowConnectors

    @property
    def flow(self) -> MirrorFlow:
        """Whose connector it is."""
        return self.connectors.flow

    @property
    def name(self) -> str:
        """What the connector is called."""
        return name_of(self.flow, Part.SOURCE)

    def read(self, tick: Tick) -> dict[TopicPartition, int]:
        """As they are; empty where there is no connector.

        :raises ConnectorNotOurs: its name belongs to somebody else.
        """
        if self.name not in self.connectors.there(tick):
            return {}
        return progress_of(self.connectors.rest.offsets(self.name, tick), self.flow.source.alias)

    def stop(self, tick: Tick) -> None:
        """Stop the flow's connectors that are there, and wait until none of their tasks is left.

        :raises EndpointTooSlow: they do not stop within the limit.
        """
        if self.connectors.there(tick):
            self.connectors.act(Action.STOP, missing_ok=True, tick=tick)

    def stand_still(self, tick: Tick) -> dict[TopicPartition, int]:
        """Where the stopped connector stands for good: nothing of its may write any more.

        :raises ConnectorMissing: it is not there, so nobody can say how far it has copied.
        :raises ConnectOffsetsMoved: somebody changed them meanwhile.
        :raises EndpointRefused: it is not stopped.
        """
        self.see_there(tick)
        before = self.read(tick)
        self._write(before, (), tick)
        after = self.read(tick)
        if before != after:
            self._raise_moved(before, after)
        return after

    def see_there(self, tick: Tick) -> None:
        """See that there is such a connector.

        :raises ConnectorMissing: there is none: deleted, or on another Connect cluster.
        """
        if self.name not in self.connectors.there(tick):
            where = self.connectors.rest.web.url
            raise ConnectorMissing(flow=self.flow.name, where=where, names=(self.name,))

    def disable(self, tick: Tick) -> None:
        """Let the stopped connector copy nothing even if somebody resumes it; putting it makes it what it was.

        A request to resume it may be on its way, from a process that nobody can stop any more.

        Source: MirrorMaker 2, ``MirrorSourceConnector.start``: with ``enabled=false`` it has no task.
        """
        config = self.connectors.there(tick).get(self.name)
        if config is not None and config.get(ENABLED) != OFF:
            disabled = {**config, ENABLED: OFF}
            self.connectors.rest.change("PUT", self.name, "config", disabled, disabled, tick)

    def is_running(self, tick: Tick) -> bool:
        """Whether it is to copy: its offsets do not stand still then."""
        return self.connectors.state_of(self.name, tick) not in (MISSING, "STOPPED", "PAUSED")

    def keep_stopped(self, connector: Connector, tick: Tick) -> None:
        """Let the connector be there, with its configuration, and stopped."""
        there = self.connectors.there(tick)
        if self.name not in there:
            self.connectors.rest.create_stopped(self.name, connector.config, tick)
        self.connectors.act(Action.STOP, missing_ok=True, tick=tick)

    def set(self, progress: Progress, tick: Tick) -> None:
        """Let the stopped connector go on there, and have no other offset.

        A partition that is at its beginning has none in Connect.

        :raises ConnectOffsetsMoved: they are not what was set.
        """
        known = self.read(tick)
        wanted = {part: offset for part, offset in progress.items() if offset}
        self._write(wanted, known.keys() - wanted.keys(), tick)
        found = self.read(tick)
        if found != wanted:
            self._raise_moved(wanted, found)

    def _write(self, progress: Progress, forgotten: Collection[TopicPartition], tick: Tick) -> None:
        every = {**dict.fromkeys(forgotten, 0), **progress}
        rows = [_row(self.flow.source.alias, part, offset) for part, offset in sorted(every.items())]
        if rows:
            self.connectors.rest.alter_offsets(self.name, rows, tick)
        else:
            self.connectors.rest.forget_offsets(self.name, tick)

    def _raise_moved(self, wanted: Progress, found: Progress) -> None:
        parts = sorted(part for part in {*wanted, *found} if wanted.get(part) != found.get(part))
        changed = tuple(f"{part}: {wanted.get(part)} was to be there, {found.get(part)} is" for part in parts[:10])
        raise ConnectOffsetsMoved(connector=self.name, where=self.connectors.rest.web.url, changed=changed)


def _row(alias: str, part: TopicPartition, offset: int) -> dict[str, Any]:
    place = {"cluster": alias, "partition": part.partition, "topic": part.topic}
    return {"partition": place, "offset": {"offset": offset - 1} if offset else None}
