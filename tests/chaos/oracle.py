"""What every reader must see: the judgement of one topic and of the groups that read it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from airflow_provider_mm2.mirror.model import TopicPartition
from tests.proof.eyes import Record


@dataclass(slots=True)
class Tally:
    """What readers of the mirror got, and what they did not.

    :param seen: records that were compared.
    :param positions: positions of groups that were compared.
    :param lost: records that are not on the other side.
    :param repeated: records that are there more often than once, or that a group would read again.
    :param skipped: records that a group would never read.
    :param foreign: records that nobody wrote, or that were changed.
    :param reordered: partitions with all records in another order.
    """

    seen: int = 0
    positions: int = 0
    lost: int = 0
    repeated: int = 0
    skipped: int = 0
    foreign: int = 0
    reordered: int = 0

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.lost or self.repeated or self.skipped or self.foreign or self.reordered)

    def add(self, other: Tally) -> None:
        """Count another one in."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def __str__(self) -> str:
        """In one line."""
        return ", ".join(f"{getattr(self, each.name)} {each.name}" for each in fields(self))


def compare(found: Sequence[Record], wanted: Sequence[Record]) -> Tally:
    """Judge what a reader of one partition gets against what it must get, in order."""
    here, there = Counter(wanted), Counter(found)
    surplus = there - here
    return Tally(
        seen=len(wanted),
        lost=sum((here - there).values()),
        repeated=sum(count for record, count in surplus.items() if record in here),
        foreign=sum(count for record, count in surplus.items() if record not in here),
        reordered=int(here == there and list(found) != list(wanted)),
    )


def compare_positions(
    where: Mapping[TopicPartition, int],
    translated: Mapping[TopicPartition, int],
    offsets: Mapping[TopicPartition, Sequence[int]],
    mirrored: Mapping[TopicPartition, Sequence[int]],
) -> Tally:
    """Judge where a group stands on the other side: before it as many records as on its own side.

    :param where: its positions, by partition of its own side.
    :param translated: its positions on the other side, by the same partitions; one that is missing reads all again.
    :param offsets: of the records that can be read, in order, on its own side.
    :param mirrored: the same on the other side: a prefix, as long as all has not been copied.
    """
    tally = Tally()
    for part, position in where.items():
        wanted = min(bisect_left(offsets[part], position), len(mirrored[part]))
        found = bisect_left(mirrored[part], translated.get(part, 0))
        tally.positions += 1
        tally.repeated += max(0, wanted - found)
        tally.skipped += max(0, found - wanted)
    return tally
