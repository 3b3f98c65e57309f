"""Creating target topics and altering their settings, so that what the mirror set is known whatever happens."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.errors import MirrorError, TopicSettingsRefused
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.carried import SettingsPlan, own_from_creation, plan_settings
from airflow_provider_mm2.mirror.interval.state_topics import record_flow
from airflow_provider_mm2.mirror.interval.survey import Survey
from airflow_provider_mm2.mirror.model import NewTopic, TopicSetting
from airflow_provider_mm2.mirror.state.control import ControlNotes, control_lease
from airflow_provider_mm2.mirror.state.lease import Lease
from airflow_provider_mm2.mirror.state.topic_settings import OwnSettings, read_topic_settings, settings_record

Alterations = Mapping[str, Mapping[str, str | None]]
"""Settings by target topic; None: what is set on the topic is removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What was altered on topics, and what of it brokers refused."""

    altered: Alterations = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def change_topics(
    flow: MirrorFlow,
    pair: ClusterPair,
    survey: Survey,
    *,
    create: Collection[NewTopic],
    plans: Mapping[str, SettingsPlan],
    owner: str,
    tick: Tick,
    lease: Lease | None = None,
) -> Changed:
    """Record the flow, create topics, alter settings; the control lease is taken only when there is something to do.

    :param plans: what is to be altered as things stood when the survey was made.
    :param lease: the control lease, where the caller holds it.
    :raises MirrorError: a topic cannot be created; the others are.
    """
    settles = create or any(_is_due(plan, survey.own_settings.get(topic, {})) for topic, plan in plans.items())
    record = replace(survey.record, delivery=flow.delivery)
    stands = survey.recorded and record == survey.record
    if stands and not settles:
        return Changed(warnings=tuple(unknown_settings(plans)))
    with nullcontext(lease) if lease is not None else control_lease(flow, pair.target, owner, tick) as held:
        if not stands:
            record_flow(flow, pair, record, held, tick)
        notes = ControlNotes(target=pair.target, record=record, lease=held, tick=tick)
        try:
            return _settle(flow, pair, survey, create, notes)
        finally:
            notes.close()


def _settle(
    flow: MirrorFlow, pair: ClusterPair, survey: Survey, create: Collection[NewTopic], notes: ControlNotes
) -> Changed:
    """Remember, then do; what is there is read again, since another run may have been here in between.

    Remembered before it is done, so that a crash in between leaves no setting that nobody owns; and what is removed is
    forgotten after it is gone.
    """
    own = read_topic_settings(pair.target, flow.name, notes.tick)
    if flow.sync_topics.configs:
        born = {topic.name: own_from_creation(topic.settings) for topic in create}
        own = _remember(notes, flow.name, own, born)
    pair.target.create_topics(list(create))
    targets = {*survey.target_topics, *(topic.name for topic in create)}
    plans = plan_topics(flow, survey, pair.target.topic_settings(targets), own)
    own = _remember(notes, flow.name, own, {topic: plan.during for topic, plan in plans.items()})
    done, refused = _alter(pair, plans, notes)
    after = {topic: _after(plan, done.get(topic, {})) for topic, plan in plans.items()}
    _remember(notes, flow.name, own, after)
    told = (f"{error.first_line}; it stays as it is" for error in refused)
    return Changed(altered=done, warnings=(*told, *unknown_settings(plans)))


def plan_topics(
    flow: MirrorFlow,
    survey: Survey,
    settings: Mapping[str, Mapping[str, TopicSetting]],
    own: Mapping[str, OwnSettings],
) -> dict[str, SettingsPlan]:
    """What is to be altered, by target topic.

    :param settings: what the target's topics have.
    :param own: what is remembered of them.
    """
    named = {survey.selection.topics[name]: survey.source_settings.get(name, {}) for name in survey.source_topics}
    return {
        topic: plan_settings(flow, named[topic], found, own.get(topic, {}))
        for topic, found in settings.items()
        if topic in named
    }


def _is_due(plan: SettingsPlan, own: OwnSettings) -> bool:
    return bool(plan.changes) or dict(plan.after) != dict(own)


def _remember(
    notes: ControlNotes, flow: str, own: Mapping[str, OwnSettings], new: Mapping[str, OwnSettings]
) -> dict[str, OwnSettings]:
    """Write what differs from what stands there; gives what then does."""
    differing = {topic: each for topic, each in new.items() if dict(each) != dict(own.get(topic, {}))}
    notes.write([settings_record(flow, topic, each) for topic, each in sorted(differing.items())])
    return {**own, **differing}


def _alter(
    pair: ClusterPair, plans: Mapping[str, SettingsPlan], notes: ControlNotes
) -> tuple[Alterations, list[MirrorError]]:
    """Alter topic by topic, and one that is refused setting by setting, so that one bad setting keeps no other out."""
    wanted = {topic: plan.changes for topic, plan in plans.items() if plan.changes}
    refused = pair.target.alter_topic_settings(wanted, notes.keep) if wanted else {}
    done = {topic: dict(changes) for topic, changes in wanted.items() if topic not in refused}
    final: list[MirrorError] = []
    for topic, error in refused.items():
        alone = len(wanted[topic]) == 1 or not isinstance(error, TopicSettingsRefused)
        if alone:
            final.append(error)
            continue
        for name, value in wanted[topic].items():
            again = pair.target.alter_topic_settings({topic: {name: value}}, notes.keep)
            if again:
                final.append(again[topic])
            else:
                done.setdefault(topic, {})[name] = value
    return done, final


def _after(plan: SettingsPlan, done: Mapping[str, str | None]) -> OwnSettings:
    """What is the mirror's own once some changes are made: of those that were refused, what it may have been before."""
    refused = {name: plan.during[name] for name in plan.changes if name not in done and name in plan.during}
    return {**plan.after, **refused}


def unknown_settings(plans: Mapping[str, SettingsPlan]) -> list[str]:
    """Warnings of settings that the target's brokers have no name for."""
    return [
        f"the target knows no topic setting {name!r}, which the source of {topic!r} has: it is not carried over"
        for topic, plan in plans.items()
        for name in plan.unknown
    ]
