"""``MirrorFlow``: what is mirrored from where to where, the one object behind operators, command line and tests."""

from __future__ import annotations

import re
from datetime import datetime, time, timezone
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    StrictBool,
    StrictInt,
    ValidationInfo,
    field_validator,
    model_validator,
)

from airflow_provider_mm2.mirror.connect_settings import ConnectSettings
from airflow_provider_mm2.mirror.drill_settings import DrillSettings
from airflow_provider_mm2.mirror.flow_values import NAME_PATTERN, FlowModel, Pattern, PlacedProblems, Setting
from airflow_provider_mm2.mirror.repoint_rules import check_repoint
from airflow_provider_mm2.mirror.repoint_settings import RepointSettings
from airflow_provider_mm2.mirror.setting_text import check_variables
from airflow_provider_mm2.mirror.state_model import Delivery
from airflow_provider_mm2.mirror.topic_names import check_topic_pattern

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.mm2_import.importer import Imported

DEFAULT_TOPICS_EXCLUDE = (r".*[\-\.]internal", r".*\.replica", r"__.*")
"""Source: MirrorMaker 2 (3.x), ``DefaultTopicFilter.TOPICS_EXCLUDE_DEFAULT``."""

DEFAULT_GROUPS_EXCLUDE = (r"console-consumer-.*", r"connect-.*", r"__.*")
"""Source: MirrorMaker 2, ``DefaultGroupFilter.GROUPS_EXCLUDE_DEFAULT``."""

DEFAULT_CONFIG_EXCLUDE = (
    r"follower\.replication\.throttled\.replicas",
    r"leader\.replication\.throttled\.replicas",
    r"message\.timestamp\.difference\.max\.ms",
    r"message\.timestamp\.type",
    r"unclean\.leader\.election\.enable",
    r"min\.insync\.replicas",
)
"""Source: MirrorMaker 2, ``DefaultConfigPropertyFilter.CONFIG_PROPERTIES_EXCLUDE_DEFAULT``."""

TopicPattern = Annotated[Pattern, AfterValidator(check_topic_pattern)]

GivenSetting = Annotated[Setting, AfterValidator(check_variables)]


class Cut(str, Enum):
    """Where a run ends: at the interval's end, or at all there is."""

    INTERVAL = "interval"
    END = "end"


class ClusterSettings(FlowModel):
    """One cluster: an ``alias`` and either librdkafka ``settings`` or the id of an Airflow ``connection``."""

    alias: str = Field(pattern=rf"^{NAME_PATTERN}\z", max_length=100)
    settings: dict[str, GivenSetting] | None = Field(default=None, repr=False)
    connection: str | None = None

    @field_validator("settings")
    @classmethod
    def _are_names(cls, value: dict[str, Setting] | None) -> dict[str, Setting] | None:
        """Refuse keys that are no names; they are not shown, since a value may have run into them."""
        odd = sum(1 for key in value or {} if re.fullmatch(r"[A-Za-z0-9._\-]+", key) is None)
        if odd:
            raise ValueError(f"{odd} of the keys is not the name of a setting; is a space missing behind a ':'?")
        return value

    @model_validator(mode="after")
    def _one_way_to_connect(self) -> ClusterSettings:
        if (self.settings is None) == (self.connection is None):
            raise ValueError("give either 'settings' (librdkafka keys) or 'connection' (an Airflow connection id)")
        if self.settings is not None and not self.settings.get("bootstrap.servers"):
            raise ValueError("'settings' has no 'bootstrap.servers'")
        return self


class Chunk(FlowModel):
    """Limits of one transaction."""

    seconds: float = Field(default=5, gt=0, le=300)
    bytes: StrictInt = Field(default=256 * 1024 * 1024, ge=1024)


class TopicSync(FlowModel):
    """What is carried over of a topic besides its records.

    :param configs: its settings: always, never, or only to a topic that is created (``new``).
    :param use_defaults_from: what a topic on the target has where its source overrides nothing: the target's own, or
        the value that the source has.
    """

    create: StrictBool = True
    grow: StrictBool = True
    configs: StrictBool | Literal["new"] = True
    use_defaults_from: Literal["target", "source"] = "target"
    acls: StrictBool = False
    config_exclude: tuple[Pattern, ...] = DEFAULT_CONFIG_EXCLUDE


CRON_PRESETS = ("@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")
UNTIMED = (None, "@once", "@continuous")
"""Schedules without a cron expression; only the trigger timetable knows what to do with them."""


def _start_of(value: object) -> object:
    """A date as its midnight in UTC; a time must say its zone."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
        except ValueError:
            raise ValueError("give a date or a time with a zone, such as 2024-01-01 or 2024-01-01T00:00:00Z") from None
    if isinstance(value, datetime) and value.tzinfo is None:
        if value.time() != time():
            raise ValueError("a time without a zone; write 2024-01-01T06:00:00Z")
        return value.replace(tzinfo=timezone.utc)
    return value


class DagSettings(FlowModel):
    """The DAG made from the flow's file.

    :param schedule: a cron expression (in UTC), a preset such as ``@hourly``, ``@once``, ``@continuous``, or None.
    :param timetable: ``trigger`` runs at each time and mirrors up to it, ``data_interval`` runs when an interval is
        over and mirrors up to its end.
    :param paused: whether a new DAG begins paused; None leaves it to Airflow's configuration.
    """

    schedule: str | None = "@hourly"
    timetable: Literal["trigger", "data_interval"] = "trigger"
    start_date: Annotated[AwareDatetime, BeforeValidator(_start_of)] = datetime(2024, 1, 1, tzinfo=timezone.utc)
    catchup: StrictBool = False
    tags: tuple[Annotated[str, Field(max_length=100)], ...] = ("mm2",)
    owner: str = "airflow"
    pool: str | None = None
    retries: StrictInt = Field(default=2, ge=0)
    retry_delay_s: StrictInt = Field(default=60, ge=0)
    paused: StrictBool | None = None

    @field_validator("schedule")
    @classmethod
    def _is_a_schedule(cls, value: str | None) -> str | None:
        if value in UNTIMED or value in CRON_PRESETS:
            return value
        if value.startswith("@"):
            known = [schedule for schedule in (*CRON_PRESETS, *UNTIMED) if schedule]
            raise ValueError(f"{value!r} is none of {', '.join(known)}")
        if len(value.split()) != 5:
            raise ValueError(f"{value!r} is not a cron expression of five fields")
        return value

    @model_validator(mode="after")
    def _has_intervals(self) -> DagSettings:
        if self.timetable == "data_interval" and self.schedule in UNTIMED:
            raise ValueError(f"timetable 'data_interval' needs a cron schedule, not {self.schedule!r}")
        return self


class MirrorFlow(FlowModel):
    """A flow: one direction of mirroring between two clusters.

    :param name: unique on the target; part of every internal name (letters, digits, ``_`` and ``-``).
    :param topics: whole-name regular expressions of the topics to mirror; an empty list is refused. One that is named
        in full is mirrored or refused, never left out.
    :param shards: how many transactional copies work side by side; recorded at the first run.
    :param cut: ``interval`` ends a partition before the first record stamped at or after the interval's end,
        ``end`` copies all there is.
    :param strict: refuse a run whose interval does not begin where the last one ended.
    :param delivery: ``exactly_once`` by transactions, ``at_least_once`` where the target has none for us.
    :param engine: ``bounded`` runs of our own, or ``connect``: MirrorMaker 2's connectors on the Connect cluster that
        ``connect`` names, which never end.
    :param repoint: what a failover changes in the applications' configuration.
    :param transaction_timeout_s: the broker's limit on one transaction; a chunk takes a third of it at most.
    """

    name: str = Field(pattern=rf"^{NAME_PATTERN}\z", max_length=100)
    source: ClusterSettings
    target: ClusterSettings
    topics: tuple[TopicPattern, ...]
    topics_exclude: tuple[TopicPattern, ...] = DEFAULT_TOPICS_EXCLUDE
    groups: tuple[Pattern, ...] = (".*",)
    groups_exclude: tuple[Pattern, ...] = DEFAULT_GROUPS_EXCLUDE
    replication_policy: str = "default"
    separator: str = Field(default=".", pattern=r"^[a-zA-Z0-9._\-]{1,10}\z")
    shards: StrictInt = Field(default=1, ge=1, le=64)
    cut: Cut = Cut.INTERVAL
    strict: StrictBool = False
    chunk: Chunk = Chunk()
    delivery: Delivery = Delivery.EXACTLY_ONCE
    engine: Literal["bounded", "connect"] = "bounded"
    connect: ConnectSettings = ConnectSettings()
    on_gap: Literal["stop", "accept"] = "stop"
    on_recreated: Literal["stop", "restart"] = "stop"
    on_foreign_writes: Literal["stop", "warn", "accept"] = "stop"
    uncommitted: Literal["skip", "earliest"] = "skip"
    behind_start: Literal["skip", "earliest"] = "skip"
    ahead: Literal["mirrored_end", "skip"] = "mirrored_end"
    sync_group_offsets: StrictBool = False
    allow_rewind: StrictBool = False
    emit_checkpoints: StrictBool = True
    emit_offset_syncs: StrictBool = True
    emit_heartbeats: StrictBool = True
    offset_lag_max: StrictInt = Field(default=100, ge=0)
    sync_topics: TopicSync = TopicSync()
    replication_factor: StrictInt | None = Field(default=None, ge=1)
    internal_replication_factor: StrictInt | None = Field(default=None, ge=1)
    transaction_timeout_s: StrictInt = Field(default=60, ge=5, le=900)
    lease_session_s: float = Field(default=6, ge=6, le=300)
    lease_wait_s: float = Field(default=60, gt=0)
    silence_limit_s: StrictInt = Field(default=60, ge=5)
    lso_stuck_s: StrictInt = Field(default=900, ge=1)
    repoint: tuple[RepointSettings, ...] = ()
    dag: DagSettings = DagSettings()
    drill: DrillSettings = DrillSettings()

    @field_validator("topics", "topics_exclude", "groups", "groups_exclude", mode="before")
    @classmethod
    def _is_a_list(cls, value: object) -> object:
        if isinstance(value, str):
            raise ValueError(f"give a list of patterns, one each: [{value!r}]")
        return value

    @field_validator("topics")
    @classmethod
    def _select_something(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:  # not by min_length, which also counts patterns that were refused
            raise ValueError("give at least one pattern")
        return value

    @field_validator("replication_policy")
    @classmethod
    def _is_a_policy(cls, value: str) -> str:
        if value not in ("default", "identity") and "." not in value:
            raise ValueError("give 'default', 'identity' or the dotted path of a class")
        return value

    @field_validator("repoint")
    @classmethod
    def _fits_the_flow(cls, value: tuple[RepointSettings, ...], info: ValidationInfo) -> tuple[RepointSettings, ...]:
        known = info.data
        if {"source", "target", "topics", "topics_exclude"} <= known.keys():  # else each has a problem of its own
            aliases = (known["source"].alias, known["target"].alias)
            check_repoint(value, aliases, known["topics"], known["topics_exclude"])
        return value

    @model_validator(mode="after")
    def _two_clusters(self) -> MirrorFlow:
        if self.source.alias == self.target.alias:
            raise ValueError(f"source and target have the same alias {self.source.alias!r}")
        if self.engine == "connect" and not self.connect.is_given:
            problem = "give 'url', or 'connection' (id of an Airflow http connection): engine: connect needs one"
            raise PlacedProblems([(("connect",), problem)])
        return self

    @classmethod
    def from_mm2_properties(cls, properties: bytes, label: str = "mm2.properties") -> Imported:
        """The flows of MirrorMaker 2's properties file, one for each direction that is switched on.

        Connectors' configuration as JSON is taken, too. Each key is honoured or in the list ``unhonoured``; no secret
        is in either.

        :param properties: content of the file.
        :param label: what the file is called in messages.
        :raises ImportRefused: the file cannot be read, has what MirrorMaker 2 would refuse or misunderstand, or there
            is no flow in it.
        """
        from airflow_provider_mm2.mirror.mm2_import.importer import import_files

        return import_files([(label, properties)])

    def serialize(self) -> dict[str, Any]:
        """What may be shown of the flow: all that differs from the defaults, without settings and repoint's values.

        Airflow calls a method of this name for what its pages show of a task's arguments.
        """
        hidden: Any = {"source": {"settings"}, "target": {"settings"}, "repoint": True, "connect": {"auth", "headers"}}
        shown = self.model_dump(mode="json", exclude_defaults=True, exclude=hidden)
        return {**shown, "repoint": [item.label for item in self.repoint]} if self.repoint else shown

    @property
    def chunk_seconds(self) -> float:
        """Longest copy of one chunk, so that flush and commit have two thirds of the transaction's time."""
        return min(self.chunk.seconds, self.transaction_timeout_s / 3)
