"""An application reads on the target where it stopped on the source: in Python by our translation, in Java by MM2's.

The way of a published article on MirrorMaker 2: translate a group's offsets, assign its partitions, seek, read on.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaPartition

from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.group_report import GroupsReport
from airflow_provider_mm2.mirror.offsets.positions import target_offsets
from tests.article.mirrored import PARTITIONS, MirroredTopics, Values, read_from, read_some
from tests.cases.conftest import MakeStage
from tests.cases.group_stage import GroupStage
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
    """MirrorMaker 2's client reads our positions: the same for each group and partition, K69's names and notes too.

    From each position it is given exactly what the group has not read, over markers, aborted records and holes.
    """
    stage, scenario = mirrored.stage, mirrored.stage.scenario
    scenario.run()
    mirrored.look()
    committed = {name: mirrored.commit_randomly(name, seed) for seed, name in enumerate(("app", "b.c", "группа", "d"))}
    noted = mirrored.partitions[3]
    commit_with_note(mirrored, "группа", noted, committed["группа"][noted], "заметка")
    report = scenario.run().groups
    said = Said(ask(remote_clusters, stage, *committed))
    for name, offsets in committed.items():
        translated = positions_of(mirrored, report, name)
        assert said.positions(stage.group(name)) == translated
        assert len(translated) == len(scenario.topics) * PARTITIONS
        given = said.records(stage.group(name))
        for part, offset in offsets.items():
            source = mirrored.both[part].source
            assert given.get(mirrored.target(part), []) == [source[at] for at in source if at >= offset]
    assert said.notes() == {(stage.group("группа"), mirrored.target(noted)): "заметка"}


def test_a_java_application_finds_its_clusters(make_stage: MakeStage, remote_clusters: JavaProgram) -> None:
    """K71: MirrorMaker 2's client finds the source, and what is behind it, by heartbeats; and the topics from there."""
    stage = make_stage()
    scenario, first = stage.scenario, f"first-{stage.scenario.flow}"
    scenario.alias = f"us-{scenario.flow}"
    scenario.create(topic=f"{first}.heartbeats")
    scenario.produce(*records(1), topic=f"{first}.heartbeats")
    scenario.run(topics=(*scenario.topics, f"{first}.heartbeats"))
    said = Said(ask(remote_clusters, stage))
    heartbeats = {f"{scenario.alias}.heartbeats", f"{scenario.alias}.{first}.heartbeats"}
    assert {scenario.alias, first} <= {*said.one("upstream")}
    assert {tuple(hops) for hops in said.all("hops")} >= {(scenario.alias, "1"), (first, "2"), ("nowhere", "-1")}
    assert f"{scenario.alias}.checkpoints.internal" in said.one("checkpoints")
    assert heartbeats <= {*said.one("heartbeats")}
    assert {*said.one("remote")} == {scenario.target().topic} | heartbeats


def commit_with_note(mirrored: MirroredTopics, name: str, part: TopicPartition, offset: int, note: str) -> None:
    """Commit as an application does that writes something beside its offset."""
    source, group = mirrored.stage.scenario.addresses["source"], mirrored.stage.group(name)
    consumer = Consumer({**source, "group.id": group, "enable.auto.commit": False})
    consumer.commit(offsets=[KafkaPartition(*part, offset, note)], asynchronous=False)
    consumer.close()


def ask(program: JavaProgram, stage: GroupStage, *names: str) -> list[str]:
    """What the Java application finds on the target."""
    address = stage.scenario.addresses["target"]["bootstrap.servers"]
    return program.run(address, stage.scenario.alias, lines=[stage.group(name) for name in names])


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

    def notes(self) -> dict[tuple[str, TopicPartition], str]:
        """What stands beside offsets, where something does."""
        rows = [fields for fields in self.all("offset") if fields[-1]]
        return {(group, TopicPartition(topic, int(number))): note for group, topic, number, _, note in rows}

    def records(self, group: str) -> Values:
        """Values that a group was given, by target partition."""
        values: Values = {}
        for found, topic, number, _, value in self.all("record"):
            if found == group:
                values.setdefault(TopicPartition(topic, int(number)), []).append(value.encode())
        return values
