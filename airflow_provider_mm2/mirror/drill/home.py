"""What came home with a drill's ``--failback``: the records written on the target, and the groups' places. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_mm2.mirror.drill.tally import Numbers, count, tally_group
from airflow_provider_mm2.mirror.model import TopicPartition

Numbered = Mapping[TopicPartition, Sequence[tuple[int, int]]]
"""Offset and number of each record, by partition of the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """What was judged at home.

    :param records: records that applications wrote on the target, each of which was looked for at home.
    :param records_wrong: of these, records that are not there, are there twice or out of order.
    :param positions: places of groups that were judged, one for each group and partition.
    :param positions_wrong: of these, where the group would read at home again what it read on the target, or skip.
    :param told: what is not as it should be, in words.
    """

    records: int
    records_wrong: int
    positions: int
    positions_wrong: int
    told: tuple[str, ...] = ()

    def to_json(self) -> dict[str, int]:
        """The numbers."""
        return {
            "records": self.records,
            "records_wrong": self.records_wrong,
            "positions": self.positions,
            "positions_wrong": self.positions_wrong,
        }


def judge_home(
    later: Numbers,
    home: Numbered,
    read: Mapping[str, Numbers],
    stand: Mapping[str, Mapping[TopicPartition, int]],
) -> Home:
    """Hold what is at home against what was written on the target and what groups read there.

    :param later: numbers that were written on the target.
    :param home: of these, what is at home.
    :param read: what each group read on the target.
    :param stand: where each group stands at home.
    """
    there = {part: [number for _, number in home.get(part, ())] for part in later}
    all_of_it = tally_group("home", later, later, {}, there)
    wrong = list(_wrong(later, home, read, stand))
    told = [f"at home, {part}: {len(there[part])} of {len(numbers)} records" for part, numbers in later.items()]
    return Home(
        records=count(later),
        records_wrong=all_of_it.skipped + all_of_it.repeated + all_of_it.reordered,
        positions=len(read) * len(later),
        positions_wrong=len(wrong),
        told=(*(line for line, part in zip(told, later, strict=True) if there[part] != list(later[part])), *wrong),
    )


def _wrong(
    later: Numbers, home: Numbered, read: Mapping[str, Numbers], stand: Mapping[str, Mapping[TopicPartition, int]]
) -> Iterator[str]:
    for group, parts in read.items():
        for part in later:
            place, seen = stand.get(group, {}).get(part), set(parts.get(part, ()))
            if place is None:
                yield f"group {group}, {part}: no position at home"
                continue
            again = sum(1 for offset, number in home.get(part, ()) if offset >= place and number in seen)
            skipped = sum(1 for offset, number in home.get(part, ()) if offset < place and number not in seen)
            if again or skipped:
                yield f"group {group}, {part}: at home it would read {again:,} again and skip {skipped:,}"
