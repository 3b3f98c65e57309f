"""The judgement of a round: what readers and groups of a flow's topics see on both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from airflow_provider_mm2.mirror.model import TopicPartition
from tests.chaos.lane import Lane
from tests.chaos.oracle import Tally, compare, compare_positions
from tests.proof.eyes import Record
from tests.proof.truth import Truth

Records = Mapping[TopicPartition, Mapping[int, Record]]


def judge(lane: Lane) -> Tally:
    """Compare what readers of both sides see, and let the applications change sides after a failover or failback.

    :raises AssertionError: the applications' own records are not there, or records on the target have changed.
    """
    crossing, lane.crossing = lane.crossing, None
    if crossing is not None and crossing.kind == "failback":
        return _judge_home(lane)
    tally = Tally()
    for truth in (lane.extra, lane.orders):
        here, there = _read(lane, truth)
        if truth is lane.extra:
            _take_replaced(lane, list(there[truth.target_of(truth.source_partitions[0])].values()))
        before = lane.replaced if truth is lane.extra else []
        for part in truth.source_partitions:
            wanted = [*before, *_due(lane, list(here[part].values()))]
            tally.add(compare(list(there[truth.target_of(part)].values()), wanted))
    tally.add(_judge_groups(lane, here, there))
    if crossing is not None:
        lane.go_away(there)
    return tally


def _read(lane: Lane, truth: Truth) -> tuple[Records, Records]:
    here = lane.source.read(truth.source_partitions)
    for part, records in here.items():
        own = compare(list(records.values()), truth.written.get(part.partition, []))
        assert own.clean, f"{part} itself: {own}"
    there = lane.target.read([truth.target_of(part) for part in truth.source_partitions])
    for part, found in there.items():
        changed = [at for at, record in lane.seen.get(part, {}).items() if found.get(at) != record]
        assert not changed, f"{part}: what was read at {changed[:5]} is no longer so"
    lane.seen.update(there)
    return here, there


def _take_replaced(lane: Lane, found: Sequence[Record]) -> None:
    """Of a topic that was deleted while it was copied, a beginning is there: as much as was copied."""
    if lane.old is not None:
        added = found[len(lane.replaced) :]
        same = takewhile(lambda two: two[0] == two[1], zip(added, lane.old, strict=False))
        lane.replaced, lane.old = [*lane.replaced, *(record for record, _ in same)], None


def _due(lane: Lane, records: Sequence[Record]) -> Sequence[Record]:
    """What a run of the interval copies: all before the first record that is stamped behind it."""
    until = lane.until
    if until is None:
        return records
    end_ms = until.timestamp() * 1000
    return list(takewhile(lambda record: record.timestamp_ms < end_ms, records))


def _judge_groups(lane: Lane, here: Records, there: Records) -> Tally:
    tally = Tally()
    places = {part: lane.orders.target_of(part) for part in here}
    mirrored = {part: list(there[place]) for part, place in places.items()}
    for group, positions in lane.positions.items():
        assert lane.source.committed(group, list(positions)) == positions, f"{group} was moved on its own side"
        found = lane.target.committed(group, [places[part] for part in positions])
        translated = {part: found[places[part]] for part in positions if places[part] in found}
        tally.add(compare_positions(positions, translated, {part: list(here[part]) for part in here}, mirrored))
    return tally


def _judge_home(lane: Lane) -> Tally:
    """Compare what readers see after a failback: all is on the source, and the groups are where they were."""
    tally = Tally()
    here = lane.target.read(lane.visitors.source_partitions)
    there = lane.source.read(lane.orders.source_partitions)
    homes = dict(zip(here, there, strict=True))
    for part, home in homes.items():
        written = lane.visitors.written[part.partition]
        own = compare(list(here[part].values()), written)
        assert own.clean, f"{part} itself: {own}"
        tally.add(compare(list(there[home].values()), written))
    mirrored = {part: list(there[home]) for part, home in homes.items()}
    moved: dict[str, dict[TopicPartition, int]] = {}
    for group, positions in lane.positions.items():
        moved[group] = lane.source.committed(group, lane.orders.source_partitions)
        translated = {part: moved[group][homes[part]] for part in positions if homes[part] in moved[group]}
        tally.add(compare_positions(positions, translated, {part: list(here[part]) for part in here}, mirrored))
    lane.seen.update({part: dict(records) for part, records in here.items()})
    lane.come_home(moved)
    return tally
