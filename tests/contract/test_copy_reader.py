"""Members of copies of groups: they begin where their group stands, and end where they are told to."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from airflow_provider_mm2.local.wait import poll
from airflow_provider_mm2.mirror.clusters.applications import CopyLimit, CopyRead, CopyReader
from airflow_provider_mm2.mirror.group_model import GroupKind
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.contract.lab import Lab, Side, messages
from tests.contract.route import MakeRoute
from tests.fakes.log import Outcome

PLENTY = CopyLimit(records=1000, bytes=1_000_000)
KINDS = [GroupKind.CLASSIC, GroupKind.CONSUMER]


def read(
    lab: Lab, group: str, ends: Mapping[TopicPartition, int], kind: GroupKind, limit: CopyLimit = PLENTY
) -> CopyRead:
    """Let a member read to its ends; it must have been at work by then."""
    reader = lab.copy_readers(Side.TARGET).copy_reader(group, ends, protocol=kind.value, limit=limit)
    reader.start()
    assert poll(lambda: reader.is_done, timeout_s=30), reader.problem
    found = reader.stop()
    assert (reader.problem, reader.at_work_ms is None) == (None, False)
    assert reader.count == sum(len(columns) for each in found.columns.values() for columns in each)
    return found


def numbers(found: CopyRead, part: TopicPartition) -> list[tuple[int, bytes | None]]:
    """Offsets and values that were read."""
    return [
        (columns.start + place, value)
        for columns in found.columns.get(part, ())
        for place, value in enumerate(columns.values)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_up_to_the_ends(lab: Lab, make_route: MakeRoute, kind: GroupKind) -> None:
    """Each partition is read from where the group stands up to its end: what lies behind it and aborted records not."""
    route = make_route(partitions=3)
    first, second, third = (route.target(number) for number in range(3))
    lab.produce(Side.TARGET, first, *messages(3))
    lab.transaction(Side.TARGET, first, *messages(2, first=3), outcome=Outcome.ABORTED)
    lab.transaction(Side.TARGET, first, *messages(2, first=5), outcome=Outcome.COMMITTED)
    lab.produce(Side.TARGET, second, *messages(9))
    group = lab.new_name()
    lab.commit_offsets(Side.TARGET, group, {first: 1, second: 2, third: 0})
    found = read(lab, group, {first: 9, second: 5, third: 0}, kind)
    assert numbers(found, first) == [(1, b"v1"), (2, b"v2"), (6, b"v5"), (7, b"v6")]
    assert numbers(found, second) == [(2, b"v2"), (3, b"v3"), (4, b"v4")]
    assert (numbers(found, third), found.cut) == ([], frozenset())
    rows = [row for columns in found.columns[second] for row in columns.rows()]
    assert rows == [(each.key, each.value, each.timestamp_ms, None) for each in messages(3, first=2)]


def test_limits(lab: Lab, make_route: MakeRoute) -> None:
    """A limit of records ends a partition, one of bytes ends all; what they ended is told."""
    route = make_route(partitions=2)
    first, second = route.target(0), route.target(1)
    lab.produce(Side.TARGET, first, *messages(9))
    lab.produce(Side.TARGET, second, *messages(2))
    for limit, cut in (
        (CopyLimit(records=4, bytes=1_000_000), {first}),
        (CopyLimit(records=1000, bytes=1), {first, second}),
    ):
        group = lab.new_name()
        lab.commit_offsets(Side.TARGET, group, {first: 0, second: 0})
        found = read(lab, group, {first: 9, second: 2}, GroupKind.CLASSIC, limit)
        assert found.cut == cut
        if limit.records == 4:
            assert (len(numbers(found, first)), len(numbers(found, second))) == (4, 2)
        else:
            assert len(numbers(found, first)) + len(numbers(found, second)) == 1


def test_without_an_offset(lab: Lab, make_route: MakeRoute) -> None:
    """It never guesses where to begin: without an offset of its group it ends with a problem."""
    route = make_route()
    lab.produce(Side.TARGET, route.target(), *messages(1))
    limit = CopyLimit(records=10, bytes=1000)
    reader: CopyReader = lab.copy_readers(Side.TARGET).copy_reader(
        lab.new_name(), {route.target(): 1}, protocol="classic", limit=limit
    )
    reader.start()
    assert poll(lambda: reader.problem is not None, timeout_s=30)
    assert "no" in str(reader.problem).lower()
    assert reader.stop().columns == {}
