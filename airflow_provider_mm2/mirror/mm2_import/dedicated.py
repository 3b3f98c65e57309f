"""A properties file of MirrorMaker 2's dedicated mode: several clusters, and directions between them.

What is given for one direction counts more than what is given for a cluster, and that more than what is given for all.

Source: MirrorMaker 2, ``MirrorMakerConfig`` (``clusterPairs``, ``clusterProps``, ``connectorBaseConfig``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations

from airflow_provider_mm2.mirror.mm2_import import reasons
from airflow_provider_mm2.mirror.mm2_import.client_keys import CLIENT_KEYS, SECURITY
from airflow_provider_mm2.mirror.mm2_import.direction import ROLES, ConnectorKeys, Direction
from airflow_provider_mm2.mirror.mm2_import.documents import Properties
from airflow_provider_mm2.mirror.mm2_import.findings import Findings, Given
from airflow_provider_mm2.mirror.mm2_import.keys import KEYS, family_reason
from airflow_provider_mm2.mirror.mm2_import.patterns import split
from airflow_provider_mm2.mirror.mm2_import.suggest import OPTIONS, nearest, unknown_key
from airflow_provider_mm2.mirror.mm2_import.worker_keys import tell_worker_key

_NOT_AT_THE_TOP = ("name", "connector.class", "source.cluster.alias", "target.cluster.alias", "use.defaults.from")


@dataclass(slots=True, kw_only=True)
class _Sorted:
    """The keys of a file by what stands in front of them, without it.

    :param clusters: their place in the list of the file.
    :param longest: characters of the longest alias.
    """

    clusters: dict[str, int]
    longest: int
    everywhere: dict[str, Given] = field(default_factory=dict)
    of_cluster: dict[str, dict[str, Given]] = field(default_factory=dict)
    of_pair: dict[tuple[str, str], dict[str, Given]] = field(default_factory=dict)

    def place(self, given: Given) -> None:
        """Put a key where it belongs; a name of MirrorMaker 2's own is never taken for a cluster's."""
        pairs = self._pairs(given.key)
        owners = [] if pairs or given.key in KEYS else self._heads(given.key, 0, ".")
        if pairs:
            source, target = min(pairs, key=lambda pair: (self.clusters[pair[0]], self.clusters[pair[1]]))
            name = given.key.removeprefix(f"{source}->{target}.")
            self.of_pair.setdefault((source, target), {})[name] = given
        elif owners:
            owner = owners[-1]
            self.of_cluster.setdefault(owner, {})[given.key.removeprefix(f"{owner}.")] = given
        else:
            self.everywhere[given.key] = given

    def _pairs(self, key: str) -> list[tuple[str, str]]:
        """The directions that a key begins with: several only where an alias has a dot or an arrow in it."""
        sources = self._heads(key, 0, "->")
        return [
            (source, target)
            for source in sources
            for target in self._heads(key, len(source) + 2, ".")
            if source != target
        ]

    def _heads(self, key: str, start: int, behind: str) -> list[str]:
        """The clusters that stand at a place of a key with this behind them, the shortest first."""
        found: list[str] = []
        at = key.find(behind, start)
        while start <= at <= start + self.longest:
            if key[start:at] in self.clusters:
                found.append(key[start:at])
            at = key.find(behind, at + 1)
        return found


def read_dedicated(document: Properties, findings: Findings) -> Iterator[Direction]:
    """The directions of a file that are switched on; all keys that are for none of them are told."""
    entries = {given.key: given for given in document.entries}
    clusters = tuple(dict.fromkeys(split(entries["clusters"].value))) if "clusters" in entries else ()
    if len(clusters) < 2:
        findings.problem(
            f"{document.label}: 'clusters' names {len(clusters)} cluster(s), and a direction has two; give the "
            "properties file of connect-mirror-maker.sh, or the connectors' configuration as JSON"
        )
        return
    keys = _Sorted(clusters={alias: place for place, alias in enumerate(clusters)}, longest=max(map(len, clusters)))
    for given in document.entries:
        keys.place(given)
    _tell_everywhere(keys, findings)
    switched_on = [pair for pair in permutations(clusters, 2) if _is_on(keys, pair, findings)]
    used = {alias for pair in switched_on for alias in pair}
    for alias, found in keys.of_cluster.items():
        _tell_of_cluster(alias, found, is_used=alias in used, findings=findings)
    for pair in switched_on:
        yield _direction(keys, pair, findings)


def _is_on(keys: _Sorted, pair: tuple[str, str], findings: Findings) -> bool:
    """Whether a direction is switched on; if not, that is told where the file has keys for it.

    ``enabled`` for all directions counts where MirrorMaker 2 makes the direction at all, for its heartbeats.
    """
    own = keys.of_pair.get(pair, {})
    beats = own.get("emit.heartbeats.enabled", keys.everywhere.get("emit.heartbeats.enabled"))
    is_made = beats is None or _is_true(beats)
    given = own.get("enabled", keys.everywhere.get("enabled") if is_made else None)
    if given is not None and _is_true(given):
        return True
    key = f"{'->'.join(pair)}.enabled"
    why = f"there is no flow from {pair[0]} to {pair[1]}"
    instead = f"set {key} = true where it shall be mirrored"
    if given is not None:
        why = f"{why}: it is switched off"
        findings.tell(given, why, instead)
    elif own:
        why = f"{why}: a direction is off by default"
        findings.tell_absent(key, why, instead)
    findings.no_flow.append(f"{key}: {why}")
    return False


def _is_true(given: Given) -> bool:
    return given.value.strip().lower() == "true"


def _direction(keys: _Sorted, pair: tuple[str, str], findings: Findings) -> Direction:
    own = ConnectorKeys.of(keys.of_pair.get(pair, {}))
    own.tell_others(findings)
    everywhere = {key: given for key, given in keys.everywhere.items() if key in KEYS and key not in _NOT_AT_THE_TOP}
    for key in ("name", "connector.class"):
        if key in own.options:
            findings.tell(own.options[key], "MirrorMaker 2 names its connectors by it, a flow has none", "leave it out")
    return Direction(
        name="-".join(pair),
        source=_alias(own, "source.cluster.alias", pair[0]),
        target=_alias(own, "target.cluster.alias", pair[1]),
        options={**everywhere, **own.options},
        source_client=_client(keys, pair[0], own, own.source),
        target_client={**_client(keys, pair[1], own, own.target), **own.record_writer},
    )


def _alias(own: ConnectorKeys, key: str, cluster: str) -> str:
    """What a cluster is called in names of topics: a direction may say otherwise than ``clusters``."""
    return own.options[key].value.strip() if key in own.options else cluster


def _client(keys: _Sorted, alias: str, own: ConnectorKeys, side: dict[str, Given]) -> dict[str, Given]:
    """Client keys of a cluster in one direction, the later counting more."""
    everywhere = {key: given for key, given in keys.everywhere.items() if key in SECURITY}
    cluster = {key: given for key, given in keys.of_cluster.get(alias, {}).items() if _is_a_clients(key)}
    return {**everywhere, **own.both, **cluster, **side}


def _has_arrow(key: str) -> bool:
    """Whether a key begins as one of a direction does, whatever its clusters are called."""
    arrow = key.find("->", 1)
    return arrow > 0 and key.find(".", arrow + 3) > 0


def _is_a_clients(key: str) -> bool:
    return key in CLIENT_KEYS or key.startswith(ROLES)


def _tell_everywhere(keys: _Sorted, findings: Findings) -> None:
    """Keys with nothing in front that are neither options nor client keys that count there."""
    for key, given in keys.everywhere.items():
        family = family_reason(key)
        if key in SECURITY or key == "clusters" or (key in KEYS and key not in _NOT_AT_THE_TOP):
            continue
        if _has_arrow(key):
            why = "a direction between clusters of which 'clusters' does not name both"
            findings.tell_unknown(given, why, f"write clusters = {', '.join(keys.clusters)} and the missing one")
        elif tell_worker_key(key, given, findings):
            continue
        elif key in KEYS or _is_a_clients(key):
            findings.tell(given, *reasons.NOT_AT_THE_TOP)
        elif family is not None:
            findings.tell_unknown(given, *family)
        else:
            unknown_key(given, key, findings)


def _tell_of_cluster(alias: str, found: dict[str, Given], *, is_used: bool, findings: Findings) -> None:
    """Keys of a cluster that are none of its clients', or of a cluster that no flow has."""
    for key, given in found.items():
        if _is_a_clients(key):
            if not is_used:
                findings.tell(given, f"no flow has the cluster {alias}", "leave it out")
        elif tell_worker_key(key, given, findings):
            continue
        elif (near := nearest(key, OPTIONS)) is not None:
            why = "MirrorMaker 2 does not know it either: what stands behind a cluster is for its clients"
            findings.tell_unknown(given, why, f"did you mean {near}, or A->B.{near} for one direction?")
        else:
            unknown_key(given, key, findings)
