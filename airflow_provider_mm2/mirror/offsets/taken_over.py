"""Positions of which the map has no answer, since other copies lie there: by what MirrorMaker 2 left. Pure.

The map begins at a take-over. A group that lags behind it is on records that MirrorMaker 2 copied. Where connectors
mirror the flow now, the map ends at the hand-over, too, and what lies beyond its end is theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.offsets.positions import GroupPosition, Mirror, Origin
from airflow_provider_mm2.mirror.offsets.translate import Reason, Translated
from airflow_provider_mm2.mirror.state_model import Engine

Maps = Mapping[TopicPartition, OffsetMap]

OF_CONNECTORS = frozenset({Reason.AHEAD, Reason.NOT_YET, Reason.NOT_MIRRORED, Reason.RECREATED})
"""Why the map has no answer where connectors have gone on behind it."""

BY_POLICY = frozenset({Reason.BEFORE_SYNCS, Reason.NOT_COMMITTED})
"""Reasons of places that the flow's policy gives: MirrorMaker 2 knows nothing there, and the map says it in numbers."""


def is_for_mm2(found: GroupPosition, engine: Engine) -> bool:
    """Whether the map has nothing of a position, and MirrorMaker 2 may have copied what lies there.

    :param engine: what mirrors the flow.
    """
    reason = found.position.reason
    return reason is Reason.BEHIND_START or (engine is Engine.CONNECT and reason in OF_CONNECTORS)


def for_mm2(ours: Sequence[GroupPosition], theirs: Sequence[GroupPosition], mirror: Mirror) -> list[GroupPosition]:
    """MirrorMaker 2's answers of one group, to what the map has none of; partitions that it alone knows among them.

    Beyond the map's end an answer never lies before that end: all below it was read.
    """
    known = {each.source: is_for_mm2(each, mirror.engine) for each in ours}
    wanted = (each for each in theirs if known.get(each.source, mirror.engine is Engine.CONNECT))
    return [_not_before_the_end(each, mirror.maps.get(each.source)) for each in wanted]


def merged(ours: Sequence[GroupPosition], theirs: Sequence[GroupPosition], maps: Maps) -> tuple[GroupPosition, ...]:
    """One group's positions by the map, and MirrorMaker 2's where it has an answer.

    What would lie behind the first record of our map contradicts it and is not taken: records would be skipped.
    """
    found = {each.source: each for each in ours}
    for other in theirs:
        ours_there = found.get(other.source)
        if ours_there is None or _fits(ours_there, other, maps.get(other.source)):
            found[other.source] = other
    return tuple(found[part] for part in sorted(found))


def _fits(found: GroupPosition, other: GroupPosition, offset_map: OffsetMap | None) -> bool:
    is_elsewhere = found.target is not None and other.target != found.target
    is_by_policy = other.position.reason in BY_POLICY
    if is_elsewhere or is_by_policy or not isinstance(other.position, Translated):
        return False
    if offset_map is None or found.position.reason is not Reason.BEHIND_START:
        return True
    if isinstance(found.position, Translated) and other.position.offset <= found.position.offset:
        return False  # the policy's place, as we have published it: ours says in numbers what is not here
    first = offset_map.target_starts[0] if offset_map.counts else offset_map.target_end
    return other.position.offset <= first


def _not_before_the_end(found: GroupPosition, offset_map: OffsetMap | None) -> GroupPosition:
    position = found.position
    is_beyond = offset_map is not None and (found.source_offset or 0) > offset_map.source_end
    if offset_map is None or not is_beyond or not isinstance(position, Translated):
        return found
    end = offset_map.mirrored_end
    if position.offset >= end:
        return found
    return replace(found, position=Translated(offset=end, exact=False, reason=Reason.FROM_SYNCS))


def is_sure(found: GroupPosition) -> bool:
    """Whether a position tells where the group stands, and not only before which place nothing was left unread."""
    is_by_mm2 = found.origin in (Origin.SYNCS_ON_TARGET, Origin.SYNCS_ON_SOURCE, Origin.CHECKPOINTS)
    return not is_by_mm2 or (isinstance(found.position, Translated) and found.position.exact)
