"""What a failover needs of those that change applications' configuration, as Protocols and plain values.

All values are frozen and go through JSON, since they are recorded on the target between processes. No secret is in any
of them, neither in a text nor in ``recorded``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Protocol, runtime_checkable

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.web.endpoint import HttpAccess

Json = Any
"""What JSON can carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Groups that move from one cluster to the other; a failback is one with the sides swapped.

    :param bootstrap: addresses of both clusters, by alias.
    :param topics: name on each side by alias, by source topic.
    :param offsets: where groups go on, by partition of the new side; for those whose offsets a repointer sets itself.
    """

    flow: str
    from_alias: str
    to_alias: str
    bootstrap: Mapping[str, str]
    topics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    offsets: Mapping[str, Mapping[TopicPartition, int]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """The move as JSON carries it; offsets as ``[topic, partition, offset]``."""
        return {
            "flow": self.flow,
            "from": self.from_alias,
            "to": self.to_alias,
            "bootstrap": dict(self.bootstrap),
            "topics": {topic: dict(names) for topic, names in self.topics.items()},
            "groups": list(self.groups),
            "offsets": {
                group: [[part.topic, part.partition, offset] for part, offset in sorted(offsets.items())]
                for group, offsets in self.offsets.items()
            },
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Move:
        """The move again."""
        return cls(
            flow=value["flow"],
            from_alias=value["from"],
            to_alias=value["to"],
            bootstrap=value["bootstrap"],
            topics=value["topics"],
            groups=tuple(value["groups"]),
            offsets={
                group: {TopicPartition(topic, partition): offset for topic, partition, offset in offsets}
                for group, offsets in value["offsets"].items()
            },
        )

    def without_offsets(self) -> Move:
        """The same, small enough to be recorded with each plan."""
        return replace(self, offsets={})


class ItemState(Enum):
    """What stands where a value is to be changed."""

    TO_CHANGE = "to change"
    IN_PLACE = "in place already"
    UNEXPECTED = "unexpected value"
    IN_AIRFLOW = "to do in Airflow"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing to change, as it is told: ``before`` and ``after`` are texts without secrets."""

    where: str
    before: str
    after: str
    state: ItemState
    detail: str = ""

    def to_json(self) -> dict[str, Json]:
        """The item as JSON carries it."""
        return {
            "where": self.where,
            "before": self.before,
            "after": self.after,
            "state": self.state.value,
            "detail": self.detail,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Item:
        """The item again."""
        return cls(**{**value, "state": ItemState(value["state"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class RepointPlan:
    """What one repointer is to change, has changed or has put back.

    :param recorded: what ``apply``, ``verify`` and ``undo`` need, old values too; nobody else reads it.
    :param detail: why there are no items, where there are none.
    """

    name: str
    kind: str
    items: tuple[Item, ...]
    recorded: Json = None
    detail: str = ""

    def to_json(self) -> dict[str, Json]:
        """The plan as JSON carries it."""
        items = [item.to_json() for item in self.items]
        return {
            "name": self.name,
            "kind": self.kind,
            "items": items,
            "recorded": self.recorded,
            "detail": self.detail,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> RepointPlan:
        """The plan again."""
        return cls(**{**value, "items": tuple(map(Item.from_json, value["items"]))})


Note = Callable[[RepointPlan], None]
"""Puts a plan on record, as far as it is carried out; called before the first change and after each."""


class Repointer(Protocol):
    """One entry of a flow's ``repoint:`` list."""

    @property
    def name(self) -> str:
        """Unique in the flow, the same in every process."""

    def plan(self, move: Move, tick: Tick) -> RepointPlan:
        """What there is to change; only reads.

        What cannot be read is an item with a ``problem``, so that one that is unreachable hides none of the others.
        """

    def apply(self, plan: RepointPlan, note: Note, tick: Tick) -> RepointPlan:
        """Change item by item; those in place are passed, so that it may be called again after it died.

        :raises RepointRefused: an item has a problem; nothing was changed.
        :raises RepointChangedMeanwhile: there stands neither what the plan saw nor what it wants.
        :raises MirrorError: an item could not be changed; the last plan noted tells which were.
        """

    def verify(self, plan: RepointPlan, tick: Tick) -> RepointPlan:
        """The plan with what stands there now."""

    def undo(self, plan: RepointPlan, note: Note, tick: Tick) -> RepointPlan:
        """Put back item by item what was recorded, also after half an ``apply`` or half an ``undo``.

        What somebody changed since is left alone and told as ``unexpected value``.

        :raises MirrorError: an item could not be put back; the last plan noted tells which were.
        """


@runtime_checkable
class Stops(Protocol):
    """Those that can stop the consumers before the groups' positions are translated, and start them afterwards."""

    @property
    def name(self) -> str:
        """As the repointer's."""

    def plan_stop(self, move: Move, tick: Tick) -> RepointPlan:
        """What is to be stopped; only reads."""

    def stop(self, asked: Move | RepointPlan, note: Note, tick: Tick) -> RepointPlan:
        """Stop what runs, recording how it ran; with an earlier record it goes on where that ended.

        :raises MirrorError: as ``Repointer.apply``.
        """

    def start(self, stopped: RepointPlan, note: Note, tick: Tick) -> RepointPlan:
        """Have everything as it was before the stop; what somebody changed since is left alone and told.

        :raises MirrorError: as ``Repointer.undo``.
        """


class AirflowSide(Protocol):
    """What only Airflow can give."""

    def variable(self, key: str) -> str | None:
        """A Variable; None: there is none."""

    def set_variable(self, key: str, value: str | None) -> None:
        """Set a Variable, or delete it."""

    def connection(self, connection: str) -> Mapping[str, Json] | None:
        """A Connection's ``host``, ``port``, ``schema``, ``login`` and ``extra`` (a mapping); None: there is none."""

    def set_connection(self, connection: str, api: str, fields: Mapping[str, Json]) -> None:
        """Change these fields of a Connection, over Airflow's API behind the http connection ``api``."""

    def http_access(self, connection: str) -> HttpAccess:
        """An http connection."""
