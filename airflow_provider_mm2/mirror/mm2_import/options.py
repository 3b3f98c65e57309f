"""MirrorMaker 2's keys of one direction as keys of a flow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_mm2.mirror.flow import DEFAULT_TOPICS_EXCLUDE
from airflow_provider_mm2.mirror.mm2_import import patterns, reasons
from airflow_provider_mm2.mirror.mm2_import.direction import Direction
from airflow_provider_mm2.mirror.mm2_import.findings import Findings, Given
from airflow_provider_mm2.mirror.mm2_import.keys import KEYS, OLD_NAMES, Key, Kind
from airflow_provider_mm2.mirror.mm2_import.naming_keys import naming
from airflow_provider_mm2.mirror.mm2_import.values import is_provided, read_number, read_switch

NEWER_EXCLUDE = (r"mm2.*\.internal", r".*\.replica", r"__.*")
"""Source: MirrorMaker 2 (4.x), ``DefaultTopicFilter.TOPICS_EXCLUDE_DEFAULT``."""

_FACTORS = ("offset-syncs.topic.replication.factor", "checkpoints.topic.replication.factor")


def flow_keys(direction: Direction, findings: Findings) -> dict[str, Any]:
    """The flow's keys but for name and clusters; all else is told."""
    draft = _Draft(options=_with_newer_names(direction.options), findings=findings)
    draft.add_fields()
    draft.keys |= naming(draft.options, findings)
    draft.check_topics()
    draft.add_groups(direction)
    draft.add_factors()
    draft.add_topic_sync()
    for key, given in (*draft.options.items(), *direction.told_only):
        _tell_option(key, given, draft.keys.get("internal_replication_factor"), findings)
    return draft.keys


def _tell_option(key: str, given: Given, internal_factor: int | None, findings: Findings) -> None:
    """Tell of a key that a flow has no place for, unless its value changes nothing."""
    known = KEYS[key]
    factor = "-1" if internal_factor is None else str(internal_factor)
    if key == "heartbeats.topic.replication.factor" and given.value.strip() == factor:
        return
    if known.told is not None and given.value.strip().lower() not in known.same:
        findings.tell(given, *known.told)


def _with_newer_names(options: Mapping[str, Given]) -> dict[str, Given]:
    renamed = {OLD_NAMES[key]: given for key, given in options.items() if key in OLD_NAMES}
    return {**renamed, **{key: given for key, given in options.items() if key not in OLD_NAMES}}


@dataclass(slots=True, kw_only=True)
class _Draft:
    """A flow's keys in the making."""

    options: Mapping[str, Given]
    findings: Findings
    keys: dict[str, Any] = field(default_factory=dict)

    def add_fields(self) -> None:
        """The keys that have a place of their own in a flow."""
        for key, given in self.options.items():
            known = KEYS[key]
            if known.field is None:
                continue
            if is_provided(given.value):
                self.findings.refuse(given, "the value is in a config provider of Kafka Connect; write it in its place")
                continue
            value = self._value(known, given)
            if value is not None:
                self._put(known.field, value)

    def _value(self, known: Key, given: Given) -> object:
        if known.kind is Kind.SWITCH:
            return read_switch(given, self.findings)
        if known.kind is Kind.ALL_OR_NEW:  # MirrorMaker 2 gives a topic that it creates its settings in any case
            is_on = read_switch(given, self.findings)
            return "new" if is_on is False else is_on
        if known.kind is Kind.NUMBER:
            return self._number(given)
        found = patterns.split(given.value)
        for fault in filter(None, map(patterns.fault_of, found)):
            self.findings.refuse(given, fault)
        if patterns.flags_reach_on(found):
            why = "flags such as (?i) count for the patterns behind them, too; here for their own pattern only"
            self.findings.tell(given, why, "begin each pattern that needs them with the flags")
        return found

    def _number(self, given: Given) -> int | None:
        value = read_number(given, self.findings)
        if value is not None and value < 0:
            self.findings.tell(given, "less than 0 asks for an offset sync at every record, as 0 does", "0 is taken")
            return 0
        return value

    def _put(self, field_name: str, value: object) -> None:
        block, dot, name = field_name.rpartition(".")
        (self.keys.setdefault(block, {}) if dot else self.keys)[name] = value

    def check_topics(self) -> None:
        """Patterns that cannot match what they were meant for; topics named in full that are left out."""
        topics: tuple[str, ...] = self.keys.setdefault("topics", (".*",))
        excluded: tuple[str, ...] = self.keys.get("topics_exclude", DEFAULT_TOPICS_EXCLUDE)
        for key in ("topics", "topics.exclude"):
            if key in self.options:
                for pattern in self.keys.get(KEYS[key].field or "", ()):
                    odd = patterns.odd_characters(pattern)
                    if odd is not None:
                        self.findings.refuse(self.options[key], f"{pattern!r} has what no topic's name has: {odd}")
        if excluded == NEWER_EXCLUDE:
            del self.keys["topics_exclude"]
            self.findings.tell(self.options["topics.exclude"], *reasons.NEWER_DEFAULT)
        if self.findings.has_problems:
            return
        for name in patterns.dropped_names(topics, excluded, self.keys.get("separator", ".")):
            why = f"the topic {name!r} is named in full, and excluded: by topics_exclude or as internal by its name"
            instead = "MirrorMaker 2 (before Kafka 4) leaves it out, too; rename it, or change topics_exclude"
            self.findings.tell(self.options["topics"], why, instead)

    def add_groups(self, direction: Direction) -> None:
        """Without checkpoints MirrorMaker 2 commits nothing to groups either."""
        if not direction.has_checkpoints:
            self.keys["emit_checkpoints"] = False
            missing = f"MirrorCheckpointConnector from {direction.source} to {direction.target}"
            self.findings.tell_absent(missing, *reasons.NO_CHECKPOINT_CONNECTOR)
        elif not self.keys.get("emit_checkpoints", True) and self.keys.get("sync_group_offsets"):
            self.keys["sync_group_offsets"] = False
            self.findings.tell(self.options["sync.group.offsets.enabled"], *reasons.GROUPS_WITHOUT_CHECKPOINTS)
        beats = self.options.get("heartbeats.replication.enabled")
        if beats is not None and beats.value.strip().lower() == "true" and not self._mirrors("heartbeats"):
            self.findings.tell(beats, *reasons.HEARTBEATS_MIRRORED)

    def _mirrors(self, topic: str) -> bool:
        return not self.findings.has_problems and patterns.any_matches(self.keys["topics"], topic)

    def add_factors(self) -> None:
        """Replication factors, whose defaults differ."""
        given = self.options.get("replication.factor")
        if given is None:
            self.findings.tell_absent("replication.factor", *reasons.FACTOR_ABSENT)
        else:
            self._put_factor("replication_factor", given)
        internal = [self.options[key] for key in _FACTORS if key in self.options]
        if not internal:
            self.findings.tell_absent(_FACTORS[0], *reasons.INTERNAL_FACTOR_ABSENT)
        elif len({factor.value.strip() for factor in internal}) == 1:
            self._put_factor("internal_replication_factor", internal[0])
        else:
            for factor in internal:
                self.findings.tell(factor, *reasons.INTERNAL_FACTOR)

    def _put_factor(self, field_name: str, given: Given) -> None:
        value = read_number(given, self.findings)
        if value is not None and value != -1:  # -1: the default of the brokers, as without the key
            if value < 1:
                self.findings.refuse(given, "neither a number of replicas nor -1")
            self.keys[field_name] = value

    def add_topic_sync(self) -> None:
        """Access rules and what becomes of settings that the source has only by default."""
        rules, defaults = (self.options.get(key) for key in ("sync.topic.acls.enabled", "use.defaults.from"))
        wanted = None if rules is None else read_switch(rules, self.findings)
        if rules is None:
            self.findings.tell_absent("sync.topic.acls.enabled", *reasons.ACLS_TO_ASK_FOR)
        elif wanted is not None:
            self._put("sync_topics.acls", wanted)
        if defaults is not None:
            side = defaults.value.strip().lower()
            if side in ("source", "target"):
                self._put("sync_topics.use_defaults_from", side)
            else:
                self.findings.tell(defaults, *reasons.DEFAULTS_OF_TARGET)
