"""Which settings of a source topic its target topic gets, at its creation and later. Pure.

Source: MirrorMaker 2, ``MirrorSourceConnector.targetConfig`` and ``DefaultConfigPropertyFilter``. There a setting that
only the target's topic overrides is wiped out, and all are written again and again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import TopicSetting
from airflow_provider_mm2.mirror.state.topic_settings import OwnSettings

Settings = Mapping[str, TopicSetting]
"""Effective settings of one topic, by name."""

TIMESTAMP_TYPE = "message.timestamp.type"
"""Always CreateTime on a topic that we make: one that stamps records itself would not keep theirs."""

CARRIED_WHEN_NOT_DEFAULT = {
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807",
}
"""Limits on what a topic takes, with Kafka's own default: where the source's differs, be it by its broker's default,
the target gets it too, else it refuses records that the source took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsPlan:
    """What becomes of one target topic's settings.

    :param changes: name to the value to set on the topic, or None: what is set there is to be removed.
    :param during: what is to be remembered as the mirror's own before anything is altered.
    :param after: the same once all is altered.
    :param unknown: settings that the target's brokers have no such name for.
    """

    changes: Mapping[str, str | None]
    during: OwnSettings
    after: OwnSettings
    unknown: tuple[str, ...]


def carried_settings(flow: MirrorFlow, source: Settings, known: Collection[str] | None = None) -> dict[str, str]:
    """Settings of a new target topic: the source's overrides without the excluded ones, its limits, CreateTime.

    :param known: names that the target's brokers know; None: that cannot be told yet.
    """
    carried = {
        setting.name: str(setting.value)
        for setting in _carried(flow, source)
        if setting.overridden or setting.value != CARRIED_WHEN_NOT_DEFAULT.get(setting.name, setting.value)
    }
    fitting = {name: value for name, value in carried.items() if known is None or name in known}
    return {**fitting, TIMESTAMP_TYPE: "CreateTime"}


def own_from_creation(settings: Mapping[str, str]) -> OwnSettings:
    """What is remembered of a topic that is created with these settings."""
    return {name: (value,) for name, value in settings.items() if name != TIMESTAMP_TYPE}


def plan_settings(flow: MirrorFlow, source: Settings, target: Settings, own: OwnSettings) -> SettingsPlan:
    """What is to be altered on a topic that exists.

    What only the target's topic overrides is left alone. What its source does not override any more is removed if the
    mirror set it and it still has that value.

    :param own: what is remembered as the mirror's own.
    """
    if flow.sync_topics.configs is not True:
        return SettingsPlan(changes={}, during=own, after=own, unknown=())
    wanted = {setting.name: setting for setting in _carried(flow, source)}
    changes: dict[str, str | None] = {}
    for name, setting in wanted.items():
        there = target.get(name)
        is_a_default = not setting.overridden and flow.sync_topics.use_defaults_from == "target"
        is_theirs = is_a_default and there is not None and there.overridden and there.value not in own.get(name, ())
        if there is not None and not is_theirs and not _is_there(setting, there):
            changes[name] = str(setting.value)
    kept = {name: values for name, values in own.items() if _is_excluded(flow, name)}
    for name, values in own.items():
        there = target.get(name)
        is_left = name in wanted or name in kept
        if not is_left and there is not None and there.overridden and there.value in values:
            changes[name] = None
    during, after = _remembered(wanted, changes, own)
    unknown = tuple(sorted(name for name, setting in wanted.items() if name not in target and setting.overridden))
    return SettingsPlan(changes=changes, during={**during, **kept}, after={**after, **kept}, unknown=unknown)


def _carried(flow: MirrorFlow, source: Settings) -> Iterator[TopicSetting]:
    """The settings of a source topic that its target is to have too."""
    takes_defaults = flow.sync_topics.use_defaults_from == "source"
    for name, setting in source.items() if flow.sync_topics.configs else ():
        limit = CARRIED_WHEN_NOT_DEFAULT.get(name)
        wanted = setting.overridden or takes_defaults or (limit is not None and setting.value != limit)
        hidden = setting.sensitive or setting.read_only or setting.value is None
        if wanted and not hidden and not _is_excluded(flow, name):
            yield setting


def _is_excluded(flow: MirrorFlow, name: str) -> bool:
    return name == TIMESTAMP_TYPE or any(re.fullmatch(pattern, name) for pattern in flow.sync_topics.config_exclude)


def _is_there(wanted: TopicSetting, there: TopicSetting) -> bool:
    """An override is to be an override, so that another default of the target's brokers changes nothing."""
    return wanted.value == there.value and (there.overridden or not wanted.overridden)


def _remembered(
    wanted: Settings, changes: Mapping[str, str | None], own: OwnSettings
) -> tuple[OwnSettings, OwnSettings]:
    """What is the mirror's own while the changes are made, and when they are."""
    during: dict[str, tuple[str, ...]] = {name: own[name] for name in own if name in changes}
    after: dict[str, tuple[str, ...]] = {}
    for name, value in changes.items():
        if value is not None:
            during[name] = tuple(dict.fromkeys((*own.get(name, ()), value)))
            after[name] = (value,)
    for name, values in own.items():
        still_ours = name in wanted and name not in changes and wanted[name].value in values
        if still_ours:
            during[name] = after[name] = (str(wanted[name].value),)
    return during, after
