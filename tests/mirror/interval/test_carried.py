"""K78: which settings a target topic gets, keeps and loses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.interval.carried import (
    carried_settings,
    own_from_creation,
    plan_settings,
)
from airflow_provider_mm2.mirror.model import TopicSetting
from tests.mirror.interval.test_plan import flow

DEFAULTS = {
    "retention.ms": "604800000",
    "retention.bytes": "-1",
    "delete.retention.ms": "86400000",
    "min.insync.replicas": "1",
    "max.message.bytes": "1048588",
    "message.timestamp.type": "CreateTime",
}


def topic(defaults: dict[str, str] | None = None, **overrides: str) -> dict[str, TopicSetting]:
    """Effective settings of a topic, ``__`` standing for a dot in the names of those that it overrides."""
    found = {name: TopicSetting(name=name, value=value, overridden=False) for name, value in DEFAULTS.items()}
    for name, value in (defaults or {}).items():
        found[name] = TopicSetting(name=name, value=value, overridden=False)
    for key, value in overrides.items():
        name = key.replace("__", ".")
        found[name] = TopicSetting(name=name, value=value, overridden=True)
    return found


def changes(source: dict[str, TopicSetting], target: dict[str, TopicSetting], **sync: Any) -> dict[str, str | None]:
    """What would be altered while nothing is remembered."""
    return dict(plan_settings(flow(sync_topics=sync), source, target, {}).changes)


def test_an_override_of_the_source_is_set() -> None:
    """Also over another value that the target's topic has, and where it has the same only by default."""
    source = topic(retention__ms="1000")
    assert changes(source, topic()) == {"retention.ms": "1000"}
    assert changes(source, topic(retention__ms="2000")) == {"retention.ms": "1000"}
    assert changes(source, topic({"retention.ms": "1000"})) == {"retention.ms": "1000"}
    assert changes(source, topic(retention__ms="1000")) == {}


def test_what_only_the_target_overrides_is_kept() -> None:
    """30 days set on the target stay, where MirrorMaker 2 resets them."""
    assert changes(topic(), topic(retention__ms="2592000000")) == {}
    assert changes(topic(retention__bytes="7"), topic(retention__ms="2592000000")) == {"retention.bytes": "7"}


def test_excluded_settings_are_left_alone() -> None:
    """By MirrorMaker 2's list or one's own, at creation and later; how records are stamped is never carried over."""
    source = topic(min__insync__replicas="2", message__timestamp__type="LogAppendTime", retention__ms="1000")
    assert changes(source, topic()) == {"retention.ms": "1000"}
    own_list = [r"retention\..*"]
    assert changes(source, topic(), config_exclude=own_list) == {"min.insync.replicas": "2"}
    some = flow(sync_topics={"config_exclude": own_list})
    assert carried_settings(some, source) == {"min.insync.replicas": "2", "message.timestamp.type": "CreateTime"}


def test_limits_are_carried_over_where_they_differ() -> None:
    """What a source takes by its brokers' defaults its target must take too; what it takes anyway is not touched."""
    source = topic({"max.message.bytes": "5000000"})
    assert changes(source, topic()) == {"max.message.bytes": "5000000"}
    assert changes(source, topic({"max.message.bytes": "5000000"})) == {}
    assert changes(topic(), topic(max__message__bytes="9000000")) == {}


def test_a_limit_that_the_target_has_set_itself() -> None:
    """Where the source has a limit only from its brokers, what the target sets stays; the mirror's own follows."""
    source, target = topic({"max.message.bytes": "5000000"}), topic(max__message__bytes="2000000")
    assert changes(source, target) == {}
    own = {"max.message.bytes": ("2000000",)}
    assert plan_settings(flow(), source, target, own).changes == {"max.message.bytes": "5000000"}
    assert changes(source, target, use_defaults_from="source") == {"max.message.bytes": "5000000"}


def test_sync_off() -> None:
    """With configs off nothing is altered, remembered or forgotten."""
    own = {"retention.ms": ("5",)}
    plan = plan_settings(flow(sync_topics={"configs": False}), topic(retention__ms="1"), topic(retention__ms="5"), own)
    assert (plan.changes, plan.during, plan.after) == ({}, own, own)


def test_defaults_of_the_source() -> None:
    """``use_defaults_from: source``: what it does not override has its value on the target too; the excluded not."""
    source = topic({"retention.ms": "1000"})
    target = topic(retention__bytes="2000", delete__retention__ms="2000", min__insync__replicas="3")
    excluded = [r"delete\.retention\..*", r"min\.insync\.replicas"]
    assert changes(source, target, use_defaults_from="source", config_exclude=excluded) == {
        "retention.ms": "1000",
        "retention.bytes": "-1",
    }
    assert changes(source, topic({"retention.ms": "1000"}), use_defaults_from="source") == {}


def test_defaults_are_no_part_of_a_creation() -> None:
    """A new topic is created with overrides alone; defaults that differ are set when its own can be seen."""
    some = flow(sync_topics={"use_defaults_from": "source"})
    assert carried_settings(some, topic()) == {"message.timestamp.type": "CreateTime"}


def test_settings_that_cannot_be_had() -> None:
    """A secret, a read-only or a missing value is not carried over."""
    source = {
        "a": TopicSetting(name="a", value="1", overridden=True, sensitive=True),
        "b": TopicSetting(name="b", value="1", overridden=True, read_only=True),
        "c": TopicSetting(name="c", value=None, overridden=True),
    }
    assert carried_settings(flow(), source) == {"message.timestamp.type": "CreateTime"}


def test_settings_that_the_target_does_not_know() -> None:
    """They are told by name, once known neither set at creation nor later, and hinder no other."""
    source = {**topic(retention__ms="1000"), "new.one": TopicSetting(name="new.one", value="1", overridden=True)}
    plan = plan_settings(flow(), source, topic(), {})
    assert (plan.changes, plan.unknown) == ({"retention.ms": "1000"}, ("new.one",))
    assert carried_settings(flow(), source, known=set(DEFAULTS)) == {
        "retention.ms": "1000",
        "message.timestamp.type": "CreateTime",
    }


@pytest.mark.parametrize(
    ("own", "there", "removed"),
    [
        ({"retention.ms": ("1000",)}, "1000", True),
        ({"retention.ms": ("1000",)}, "9999", False),
        ({"retention.ms": ("1000", "2000")}, "1000", True),
        ({"retention.ms": ("1000", "2000")}, "2000", True),
        ({}, "1000", False),
    ],
)
def test_an_override_that_the_source_has_no_more(own: dict[str, tuple[str, ...]], there: str, removed: bool) -> None:
    """It is removed on the target only if the mirror set it and it still has a value that the mirror gave it."""
    plan = plan_settings(flow(), topic(), topic(retention__ms=there), own)
    assert plan.changes == ({"retention.ms": None} if removed else {})
    assert plan.during == (own if removed else {})
    assert plan.after == {}


def test_what_is_removed_by_hand_is_forgotten() -> None:
    """There is nothing left to own."""
    plan = plan_settings(flow(), topic(), topic(), {"retention.ms": ("1000",)})
    assert (plan.changes, plan.during, plan.after) == ({}, {}, {})


def test_a_setting_excluded_later_stays_and_stays_known() -> None:
    """What is excluded is left alone, also if the mirror once set it."""
    own = {"retention.ms": ("1000",)}
    some = flow(sync_topics={"config_exclude": [r"retention\.ms"]})
    plan = plan_settings(some, topic(), topic(retention__ms="1000"), own)
    assert (plan.changes, plan.during, plan.after) == ({}, own, own)


def test_a_value_that_is_being_replaced() -> None:
    """While it is altered both values are known: a crash leaves one of them there."""
    plan = plan_settings(flow(), topic(retention__ms="2000"), topic(retention__ms="1000"), {"retention.ms": ("1000",)})
    assert plan.changes == {"retention.ms": "2000"}
    assert plan.during == {"retention.ms": ("1000", "2000")}
    assert plan.after == {"retention.ms": ("2000",)}


def test_what_somebody_else_set_is_not_ours() -> None:
    """The same value on both sides, not set by the mirror, is not taken for its own."""
    plan = plan_settings(flow(), topic(retention__ms="1000"), topic(retention__ms="1000"), {})
    assert (plan.changes, plan.after) == ({}, {})
    other = plan_settings(flow(), topic(retention__ms="2"), topic(retention__ms="2"), {"retention.ms": ("1",)})
    assert other.after == {}


NAMES = st.sampled_from(sorted(DEFAULTS))
OVERRIDES = st.dictionaries(NAMES, st.sampled_from(["1", "2"]))


@given(OVERRIDES, OVERRIDES, OVERRIDES, st.sampled_from(["source", "target"]))
def test_a_second_run_changes_nothing(
    source: dict[str, str], target: dict[str, str], remembered: dict[str, str], defaults: str
) -> None:
    """Once what is planned is done and remembered, there is nothing to do and nothing to remember anew."""

    def with_overrides(overrides: dict[str, str | None]) -> dict[str, TopicSetting]:
        return topic(**{name.replace(".", "__"): value for name, value in overrides.items() if value is not None})

    some = flow(sync_topics={"use_defaults_from": defaults})
    own = own_from_creation(remembered)
    plan = plan_settings(some, with_overrides({**source}), with_overrides({**target}), own)
    done = with_overrides({**target, **plan.changes})
    again = plan_settings(some, with_overrides({**source}), done, plan.after)
    assert again.changes == {}
    assert again.after == plan.after
