"""What a way home was opened from, kept beside its flow record."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import TypeAdapter

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterReader, Tick
from airflow_provider_mm2.mirror.state.kinds import kind_record, read_kind
from airflow_provider_mm2.mirror.state_model import StateRecord

KIND = "way home"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What a way home was opened from; kept beside its flow record.

    :param digest: of the forward flow's progress.
    :param owes: whether it was failed over without the side that it left, and the forward flow does not know of it.
    """

    digest: str
    by: str
    at_ms: int
    owes: bool = False


_OPENED = TypeAdapter(Opened)


def read_opened(home: ClusterReader, flow: str, tick: Tick) -> Opened | None:
    """What a way home was last opened from, by its name; None: it never was.

    :raises StateDamaged: the record cannot be believed.
    """
    if not home.describe_topics([naming.gate_topic(flow)]):
        return None
    return next(iter(reversed([*read_kind(home, flow, KIND, _OPENED, tick)])), None)


def owed_hand_over(home: ClusterReader, flow: str, tick: Tick) -> list[StateRecord]:
    """The record that says so, for a way home that is failed over without the side it leaves."""
    known = read_opened(home, flow, tick)
    return [] if known is None else [opened_record(flow, replace(known, owes=True))]


def opened_record(flow: str, opened: Opened) -> StateRecord:
    """The record that keeps it."""
    return kind_record(flow, KIND, {}, opened)
