"""Asking MirrorMaker 2's state for what the map has no answer of; read only where there is such a position."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from airflow_provider_mm2.mirror.errors import NotAuthorized
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.group_model import GroupOffsets
from airflow_provider_mm2.mirror.offsets.mm2_positions import Mm2State, locate_by_mm2
from airflow_provider_mm2.mirror.offsets.positions import GroupPosition, Mirror
from airflow_provider_mm2.mirror.offsets.refine_reading import Refiner
from airflow_provider_mm2.mirror.offsets.taken_over import for_mm2, is_for_mm2, merged
from airflow_provider_mm2.mirror.offsets.translate import Policy

Positions = Mapping[str, tuple[GroupPosition, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """Positions by the map, those that it has not by MirrorMaker 2's state; ``warnings``: what is worth knowing."""

    positions: Positions
    warnings: tuple[str, ...] = ()


def completed_by_mm2(
    flow: MirrorFlow,
    committed: Mapping[str, GroupOffsets],
    ours: Positions,
    mirror: Mirror,
    read: Callable[[], Mm2State | None],
    *,
    refiner: Callable[[Mm2State], Refiner] | None = None,
) -> Completed:
    """The positions of groups, as far as the map goes, and behind and beyond it as MirrorMaker 2's state has them.

    :param committed: what each group has committed on the source.
    :param read: reads MirrorMaker 2's state.
    :param refiner: finds the record itself where that gives no exact position; None: it is not looked for.
    :raises MirrorError: a topic of MirrorMaker 2's is there and cannot be read to its end; where only the right to read
        it is missing, that is a warning, and the positions are as the map has them.
    """
    names = [name for name, found in ours.items() if any(is_for_mm2(each, mirror.engine) for each in found)]
    if not names:
        return Completed(positions=ours)
    try:
        state = read()
    except NotAuthorized as error:
        text = f"{len(names)} group(s) have positions that only MirrorMaker 2's state could tell: {error.first_line}"
        return Completed(positions=ours, warnings=(text,))
    if state is None:
        return Completed(positions=ours)
    policy, looking = Policy.of(flow), None if refiner is None else refiner(state)
    positions = dict(ours)
    for name in names:
        theirs = for_mm2(ours[name], locate_by_mm2(name, committed[name], state, policy), mirror)
        positions[name] = merged(ours[name], theirs if looking is None else looking.refine(theirs), mirror.maps)
    return Completed(positions=positions, warnings=state.warnings)
