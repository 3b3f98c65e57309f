"""An application reads on the target where it stopped on the source: in Python by our translation, in Java by MM2's.

The way of a published article on MirrorMaker 2: translate a group's offsets, assign its partitions, seek, read on.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.group_report import GroupsReport
from airflow_provider_mm2.mirror.offsets.positions import target_offsets
from tests.article.mirrored import PARTITIONS, MirroredTopics, Values, read_from, read_some
from tests.cases.scenario import records
from tests.java.program import JavaProgram

pytestmark = pytest.mark.broker

Positions = dict[TopicPartition, int]


def positions_of(mirrored: MirroredTopics, report: GroupsReport, name: str) -> Positions:
    """Where a group goes on, by target partition."""
    return target_offsets(report.positions[mirrored.stage.group(name)])


def test_a_python_application(mirrored: MirroredTopics) -> None:
    """It goes on at exactly the next unread record of each partition, by assigning or as a member of its group.

    A partition that it had not come to yet begins at its start, as ``auto.offset.reset=earliest`` says on the source.
    """
    stage, addresses = mirrored.stage, mirrored.stage.scenario.addresses
    before = read_some(addresses["source"], stage.group("app"), mirrored.topics, 130)
    stage.scenario.run(sync_group_offsets=True, uncommitted="earliest")
    mirrored.look()
    after = read_from(addresses["target"], positions_of(mirrored, stage.locate("app", uncommitted="earliest"), "app"))
    for part in mirrored.partitions:
        read = before.get(part, []) + after[mirrored.target(part)]
        assert read == list(mirrored.both[part].source.values())
    unread = sorted(value for values in after.values() for value in values)
    targets = [mirrored.target(part).topic for part in mirrored.partitions]
    assert sorted(stage.read_on("app", sorted({*targets}), len(unread))) == unread


def test_a_java_application(mirrored: MirroredTopics, remote_clusters: JavaProgram) -> None:
    """K71: MirrorMaker 2's client finds both upstream clusters, and reads our positions, the same for every partition.

    From each it is given exactly what the group has not read; markers, aborted records and holes are between.
    """
    stage, scenario = mirrored.stage, mirrored.stage.scenario
    first = f"first-{scenario.flow}"
    scenario.create(topic=f"{first}.heartbeats")
    scenario.produce(*records(1), topic=f"{first}.heartbeats")
    topics = (*scenario.topics, f"{first}.heartbeats")
    scenario.run(topics=topics)
    mirrored.look()
    committed = {f"app-{seed}": mirrored.commit_randomly(f"app-{seed}", seed) for seed in range(4)}
    scenario.run(topics=topics)
    said = Said(
        remote_clusters.run(
            scenario.addresses["target"]["bootstrap.servers"], scenario.alias, *map(stage.group, committed)
        )
    )
    assert {scenario.alias, first} <= {*said.one("upstream")}
    assert {tuple(hop) for hop in said.all("hops")} >= {(scenario.alias, "1"), (first, "2"), ("nowhere", "-1")}
    assert f"{scenario.alias}.checkpoints.internal" in said.one("checkpoints")
    assert {f"{scenario.alias}.heartbeats", f"{scenario.alias}.{first}.heartbeats"} <= {*said.one("heartbeats")}
    heartbeats = [f"{scenario.alias}.heartbeats", f"{scenario.alias}.{first}.heartbeats"]
    assert said.one("remote") == sorted([*(scenario.target(0, topic).topic for topic in scenario.topics), *heartbeats])
    report = stage.locate(topics=topics)
    for name, offsets in committed.items():
        translated = positions_of(mirrored, report, name)
        assert said.positions(stage.group(name)) == translated
        assert len(translated) == len(scenario.topics) * PARTITIONS
        given = said.records(stage.group(name))
        for part, offset in offsets.items():
            source = mirrored.both[part].source
            assert given.get(mirrored.target(part), []) == [source[at] for at in source if at >= offset]


class Said:
    """What the Java application printed."""

    def __init__(self, lines: list[str]) -> None:
        self._facts = [line.split("\t") for line in lines]

    def all(self, kind: str) -> Iterator[list[str]]:
        """Fields of every line of a kind."""
        return (fields for found, *fields in self._facts if found == kind)

    def one(self, kind: str) -> list[str]:
        """Fields of the only line of a kind."""
        (fields,) = self.all(kind)
        return fields

    def positions(self, group: str) -> Positions:
        """Translated offsets of a group."""
        rows = [fields for fields in self.all("offset") if fields[0] == group]
        return {TopicPartition(topic, int(number)): int(offset) for _, topic, number, offset, _ in rows}

    def records(self, group: str) -> Values:
        """Values that a group was given, by target partition."""
        values: Values = {}
        for found, topic, number, _, value in self.all("record"):
            if found == group:
                values.setdefault(TopicPartition(topic, int(number)), []).append(value.encode())
        return values
