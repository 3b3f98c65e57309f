"""How far one partition is compared, as plain values and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from airflow_provider_mm2.mirror.verify.absent import Absences
from airflow_provider_mm2.mirror.verify.apart import Compared
from airflow_provider_mm2.mirror.verify.by_map import MapStand
from airflow_provider_mm2.mirror.verify.digest import Digests
from airflow_provider_mm2.mirror.verify.findings import KEPT, Findings, Kind, Mismatch, Side, Tally
from airflow_provider_mm2.mirror.verify.scope import Part
from airflow_provider_mm2.mirror.verify.strays import Stray, Strays


class TallyRow(TypedDict):
    """What was counted, as plain values."""

    records: int
    target_records: int
    expired: dict[Side, int]
    compacted: dict[Side, int]
    on_record: dict[str, int]


class MismatchRow(TypedDict):
    """A mismatch, as plain values."""

    kind: Kind
    topic: str
    partition: int
    source_offset: int | None
    source_end: int | None
    target_offset: int | None
    target_end: int | None
    records: int
    detail: str


_Span = tuple[int, int] | None
StrayRow = tuple[int, Kind, _Span, _Span, int, str, str | None, str | None, bool]
Chain = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Key = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


class StateRow(TypedDict):
    """What ``state_json`` gives, to hold a file against."""

    source: int
    target: int
    matched: int
    chains: tuple[Chain, Chain]
    tally: TallyRow
    mismatches: list[MismatchRow]
    left_out: int
    target_seen: int
    strays: list[StrayRow]
    stand: MapStand
    absent: dict[Side, dict[Key, tuple[int, int | None, int, bool]]]
    digests: tuple[Chain, Chain] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standpoint:
    """What comes next on each side, and the source offset behind the last record that was the same.

    :param stand: how the target lies to the map.
    """

    source: int
    target: int
    matched: int
    stand: MapStand = field(default_factory=MapStand)


def state_json(compared: Compared, at: Standpoint, ends: tuple[str, str] | None = None) -> dict[str, Any]:
    """A partition at the end of a block; with the final digests where all of it was compared."""
    findings = compared.findings
    return {
        "source": at.source,
        "target": at.target,
        "matched": at.matched,
        "chains": [chain.hex() for chain in compared.digests.chains],
        "tally": compared.tally.to_json(),
        "mismatches": [each.to_json() for each in findings.listed],
        "left_out": findings.left_out,
        "target_seen": compared.target_seen,
        "strays": compared.strays.to_json(),
        "stand": asdict(at.stand),
        "absent": compared.absences.to_json(),
        "digests": None if ends is None else list(ends),
    }


def compared_of(
    part: Part, state: Mapping[str, Any] | None, start_now: Callable[[Side], int], kept: int = KEPT
) -> tuple[Compared, Standpoint]:
    """A partition to go on with, or to begin.

    :param start_now: tells where a log begins by now.
    :param kept: how many mismatches are listed.
    """
    if state is None:
        tally, findings, digests = Tally.empty(), Findings(part.source, kept=kept), Digests()
        strays = Strays(findings)
        at = Standpoint(source=part.start, target=part.target_start, matched=part.start)
    else:
        tally = Tally.from_json(state["tally"])
        listed = [Mismatch.from_json(row) for row in state["mismatches"]]
        findings = Findings(part.source, listed, state["left_out"], kept=kept)
        strays = Strays(findings, [Stray.from_json(row) for row in state["strays"]])
        source, target = (bytes.fromhex(chain) for chain in state["chains"])
        digests = Digests(source, target)
        places = {name: state[name] for name in ("source", "target", "matched")}
        at = Standpoint(**places, stand=MapStand(**state["stand"]))
    absences = Absences(starts=part.starts, compacted=part.compacted, tally=tally, strays=strays, start_now=start_now)
    if state is not None:
        absences.restore(state["absent"])
    compared = Compared(
        tally=tally, findings=findings, strays=strays, digests=digests, absences=absences, starts=part.starts
    )
    compared.target_seen = 0 if state is None else state["target_seen"]
    return compared, at
