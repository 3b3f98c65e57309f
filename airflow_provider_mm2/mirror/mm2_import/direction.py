"""One direction of mirroring, however it was configured: what both kinds of file come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_mm2.mirror.mm2_import import reasons
from airflow_provider_mm2.mirror.mm2_import.client_keys import CLIENT_KEYS
from airflow_provider_mm2.mirror.mm2_import.findings import Findings, Given
from airflow_provider_mm2.mirror.mm2_import.keys import KEYS, family_reason
from airflow_provider_mm2.mirror.mm2_import.suggest import unknown_key
from airflow_provider_mm2.mirror.mm2_import.worker_keys import tell_worker_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """From one cluster to another.

    :param name: what the flow is to be called, as far as its characters allow; ``named`` is the key that says so.
    :param options: MirrorMaker 2's keys, each the one that counts.
    :param source_client: Java's client keys for the source, with a role in front where they have one; ``target_client``
        likewise.
    :param told_only: further keys, of connectors beside the one that copies.
    :param has_checkpoints: whether MirrorMaker 2 would write checkpoints at all.
    """

    name: str
    source: str
    target: str
    options: Mapping[str, Given]
    source_client: Mapping[str, Given]
    target_client: Mapping[str, Given]
    told_only: tuple[tuple[str, Given], ...] = ()
    has_checkpoints: bool = True
    named: Given | None = None


@dataclass(slots=True, kw_only=True)
class ConnectorKeys:
    """A connector's keys by what they are for.

    :param options: MirrorMaker 2's and Kafka Connect's own.
    :param both: Java's client keys for either side, ``source`` and ``target`` for one; each with its role in front.
    :param record_writer: of the client that writes records to the target.
    :param others: all else.
    """

    options: dict[str, Given] = field(default_factory=dict)
    both: dict[str, Given] = field(default_factory=dict)
    source: dict[str, Given] = field(default_factory=dict)
    target: dict[str, Given] = field(default_factory=dict)
    record_writer: dict[str, Given] = field(default_factory=dict)
    others: dict[str, Given] = field(default_factory=dict)

    @classmethod
    def of(cls, keys: Mapping[str, Given]) -> ConnectorKeys:
        """Sort the keys of one connector, without anything in front of them."""
        sorted_keys = cls()
        for key, given in keys.items():
            place, name = sorted_keys._place(key)
            place[name] = given
        return sorted_keys

    def _place(self, key: str) -> tuple[dict[str, Given], str]:
        if key in KEYS:
            return self.options, key
        for head, place in (
            ("source.cluster.", self.source),
            ("target.cluster.", self.target),
            ("source.", self.source),
            ("target.", self.target),
        ):
            rest = key.removeprefix(head)
            if rest != key and (head.endswith("cluster.") or rest.startswith(ROLES)):
                return place, rest
        if key.startswith("producer.override."):
            return self.record_writer, f"producer.{key.removeprefix('producer.override.')}"
        return (self.both, key) if key.startswith(ROLES) and family_reason(key) is None else (self.others, key)

    def tell_others(self, findings: Findings) -> None:
        """Tell of what is neither an option nor a client's key that a direction uses."""
        for key, given in self.others.items():
            reason = family_reason(key)
            if reason is not None:
                findings.tell_unknown(given, *reason)
            elif key in CLIENT_KEYS:
                findings.tell(given, *reasons.NO_ROLE)
            elif not tell_worker_key(key, given, findings):
                unknown_key(given, key, findings)


ROLES = ("consumer.", "producer.", "admin.")
