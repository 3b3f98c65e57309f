"""Connectors of MirrorMaker 2 on a Connect cluster: a flow for each MirrorSourceConnector.

The MirrorCheckpointConnector between the same two clusters says what becomes of consumer groups.

Source: MirrorMaker 2, ``MirrorSourceConfig``, ``MirrorCheckpointConfig``, ``MirrorHeartbeatConfig``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_mm2.mirror.mm2_import import naming_keys, reasons
from airflow_provider_mm2.mirror.mm2_import.direction import ConnectorKeys, Direction
from airflow_provider_mm2.mirror.mm2_import.documents import Connector
from airflow_provider_mm2.mirror.mm2_import.findings import Findings, Given
from airflow_provider_mm2.mirror.mm2_import.keys import KEYS, OLD_NAMES, Reader

_CLASSES = {
    "MirrorSourceConnector": Reader.SOURCE,
    "MirrorSource": Reader.SOURCE,
    "MirrorCheckpointConnector": Reader.CHECKPOINT,
    "MirrorCheckpoint": Reader.CHECKPOINT,
    "MirrorHeartbeatConnector": Reader.HEARTBEAT,
    "MirrorHeartbeat": Reader.HEARTBEAT,
}
_DEFAULT_TARGET = "target"
_CLASS_IN_NAME = re.compile(r"[.\-_]?Mirror(Source|Checkpoint|Heartbeat)Connector$")
_AGREED = {
    naming_keys.POLICY: "org.apache.kafka.connect.mirror.DefaultReplicationPolicy",
    naming_keys.SEPARATOR: ".",
}
"""Without the same names a checkpoint is of a topic that does not exist; with MirrorMaker 2's defaults."""

_IDENTITY = ("name", "connector.class", "enabled", "source.cluster.alias", "target.cluster.alias")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mirror:
    """A connector of MirrorMaker 2's."""

    connector: Connector
    reader: Reader
    source: str
    target: str
    keys: ConnectorKeys


_Route = tuple[str, str] | frozenset[str]


def read_connectors(connectors: Sequence[Connector], findings: Findings) -> Iterator[Direction]:
    """The directions of connectors, which may come from several files; all keys that are for none are told."""
    mirrors = [mirror for mirror in (_mirror(each, findings) for each in connectors) if mirror is not None]
    copies = [mirror for mirror in mirrors if mirror.reader is Reader.SOURCE and not _is_off(mirror, findings)]
    copied = {route for copy in copies for route in ((copy.source, copy.target), _both_ways(copy))}
    beside: dict[_Route, list[_Mirror]] = {}
    said: dict[tuple[str, str], Reader] = {}
    for mirror in mirrors:
        if mirror.reader is not Reader.SOURCE:
            beside.setdefault(_route(mirror), []).append(mirror)
        for key, given in mirror.keys.options.items():
            said[key, given.value.strip()] = said.get((key, given.value.strip()), Reader(0)) | mirror.reader
    for mirror in mirrors:
        _tell_misplaced(mirror, said, findings)
        if mirror.reader is not Reader.SOURCE and _route(mirror) not in copied:
            why = f"there is no MirrorSourceConnector from {mirror.source} to {mirror.target} that is switched on"
            findings.tell(mirror.connector.entries["connector.class"], why, "give its configuration, too")
            findings.no_flow.append(f"{mirror.connector.where}: {why}")
    for copy in copies:
        near = [*beside.get((copy.source, copy.target), ()), *beside.get(_both_ways(copy), ())]
        yield _direction(copy, near, findings)


def _mirror(connector: Connector, findings: Findings) -> _Mirror | None:
    kind = connector.entries.get("connector.class")
    if kind is None:
        findings.problem(f"{connector.where}: there is no connector.class; it tells which connector this is")
        return None
    reader = _CLASSES.get(kind.value.strip().rpartition(".")[2])
    if reader is None:
        findings.tell(kind, "none of MirrorMaker 2's connectors", "leave it out of the import")
        return None
    source = connector.entries.get("source.cluster.alias")
    if source is None:
        findings.problem(f"{connector.where}: there is no source.cluster.alias, which MirrorMaker 2 wants, too")
        return None
    target = connector.entries.get("target.cluster.alias")
    keys = ConnectorKeys.of(connector.entries)
    keys.tell_others(findings)
    return _Mirror(
        connector=connector,
        reader=reader,
        source=source.value.strip(),
        target=_DEFAULT_TARGET if target is None else target.value.strip(),
        keys=keys,
    )


def _is_off(mirror: _Mirror, findings: Findings) -> bool:
    given = mirror.connector.entries.get("enabled")
    if given is None or given.value.strip().lower() == "true":
        return False
    why = "the connector is switched off, so nothing is made of it"
    findings.tell(given, why, "set it to true")
    findings.no_flow.append(f"{given.where}: {given.key}: {why}")
    return True


def _both_ways(mirror: _Mirror) -> frozenset[str]:
    return frozenset({mirror.source, mirror.target})


def _route(mirror: _Mirror) -> _Route:
    """What a connector has in common with the ones that copy: heartbeats of a direction may be of its way back."""
    return _both_ways(mirror) if mirror.reader is Reader.HEARTBEAT else (mirror.source, mirror.target)


def _direction(copy: _Mirror, beside: Sequence[_Mirror], findings: Findings) -> Direction:
    options = {key: given for key, given in copy.keys.options.items() if Reader.SOURCE in KEYS[key].read_by}
    told_only: list[tuple[str, Given]] = []
    checkpoint: _Mirror | None = None
    for mirror in beside:
        if mirror.reader is Reader.CHECKPOINT:
            if checkpoint is not None:
                why = f"a second MirrorCheckpointConnector from {copy.source} to {copy.target}; the first one counts"
                findings.tell(mirror.connector.entries["connector.class"], why, "give one of them")
                continue
            if _is_off(mirror, findings):
                continue
            checkpoint = mirror
            _refuse_other_names(copy, checkpoint, findings)
            options |= {key: given for key, given in mirror.keys.options.items() if _is_checkpoints(key)}
        told_only += _said_otherwise(copy, mirror, findings)
        _tell_second_connection(copy, mirror, findings)
    named = copy.connector.entries.get("mm2.flow", copy.connector.name)
    return Direction(
        name=f"{copy.source}-{copy.target}" if named is None else _CLASS_IN_NAME.sub("", named.value),
        named=named,
        source=copy.source,
        target=copy.target,
        options=options,
        source_client={**copy.keys.both, **copy.keys.source},
        target_client={**copy.keys.both, **copy.keys.target, **copy.keys.record_writer},
        told_only=tuple(told_only),
        has_checkpoints=checkpoint is not None,
    )


def _is_checkpoints(key: str) -> bool:
    """Whether it is the MirrorCheckpointConnector's word that counts."""
    return Reader.CHECKPOINT in KEYS[key].read_by and Reader.SOURCE not in KEYS[key].read_by


def _refuse_other_names(copy: _Mirror, checkpoint: _Mirror, findings: Findings) -> None:
    """One policy names topics and checkpoints: otherwise groups are carried over to topics that do not exist."""
    for key in _AGREED:
        values = [_value(mirror, key) for mirror in (copy, checkpoint)]
        if values[0] != values[1]:
            place = checkpoint.keys.options.get(key) or copy.keys.options[key]
            others = f"{values[0]!r} for the topics and {values[1]!r} for their checkpoints"
            findings.refuse(place, f"{others}: a flow has one, so that groups are carried over to topics that exist")


def _said_otherwise(copy: _Mirror, mirror: _Mirror, findings: Findings) -> Iterator[tuple[str, Given]]:
    """Keys of a connector beside the one that copies, unless both say the same, or its word counts."""
    for key, given in mirror.keys.options.items():
        is_counted = mirror.reader is Reader.CHECKPOINT and _is_checkpoints(key)
        if mirror.reader not in KEYS[key].read_by or is_counted or _same(copy.keys.options.get(key), given):
            continue
        if OLD_NAMES.get(key, key) in ("topics", "topics.exclude"):
            why = "a flow has one list of topics, that of the MirrorSourceConnector"
            findings.tell(given, why, "make two flows where groups shall be carried over for other topics")
        elif KEYS[key].told is None and key not in _IDENTITY:
            if _value(copy, key) != _value(mirror, key):
                why = "a flow says it once, for topics and positions alike: the MirrorSourceConnector's word counts"
                findings.tell(given, why, "say the same in both connectors")
        else:
            yield key, given


def _value(mirror: _Mirror, key: str) -> str | None:
    given = mirror.keys.options.get(key)
    return _AGREED.get(key) if given is None else given.value.strip()


def _same(one: Given | None, other: Given) -> bool:
    return one is not None and one.value.strip() == other.value.strip()


def _tell_second_connection(copy: _Mirror, mirror: _Mirror, findings: Findings) -> None:
    """Client keys of a connector beside the one that copies, unless they say the same of the same cluster."""
    known = {copy.source: copy.keys.source, copy.target: copy.keys.target}
    sides = ((known[mirror.source], mirror.keys.source), (known[mirror.target], mirror.keys.target))
    common = ((copy.keys.both, mirror.keys.both), (copy.keys.record_writer, mirror.keys.record_writer))
    for ours, theirs in (*sides, *common):
        for key, given in theirs.items():
            if not _same(ours.get(key), given):
                findings.tell(given, *reasons.SECOND_CONNECTION)


def _tell_misplaced(mirror: _Mirror, said: Mapping[tuple[str, str], Reader], findings: Findings) -> None:
    """Keys of another connector, which MirrorMaker 2 does not read here, unless that one has them, too.

    :param said: the connectors that have a key with a value.
    """
    for key, given in mirror.keys.options.items():
        readers = KEYS[key].read_by
        is_there = bool(said[key, given.value.strip()] & readers)
        if mirror.reader not in readers and not is_there:
            owner = next(name for name, reader in _CLASSES.items() if reader in readers)
            why = f"this connector does not read it; the {owner} does"
            findings.tell(given, why, f"put it into the configuration of the {owner}, if it shall count")
