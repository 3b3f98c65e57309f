"""There and back again on real clusters, with applications at work: everything home once, in order, none read twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from tests.conftest import MakeCluster
from tests.proof.rig import process_of
from tests.recovery.applications import Numbers, Writer, read_all, together
from tests.recovery.stage import PARTITIONS, MakeStage, Stage

pytestmark = pytest.mark.broker

HOME = ".reverse"


def counted(numbers: Numbers) -> int:
    """How many."""
    return sum(map(len, numbers.values()))


def lengths(numbers: Numbers) -> dict[int, int]:
    """The next number of each partition."""
    return {number: len(numbers[number]) for number in range(PARTITIONS)}


class Journey:
    """The applications of a stage, on whichever side is active."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.written: Numbers = {number: [] for number in range(PARTITIONS)}
        self.read: dict[str, Numbers] = {}

    def work(self, side: str, mirror: str) -> None:
        """Write and read on one side, while its records are mirrored to the other one; ends with all groups lagging."""
        stage = self.stage
        address, topic = (stage.source, stage.topic) if side == "us" else (stage.target, stage.remote)
        writer = Writer(address, topic, PARTITIONS, start=lengths(self.written)).begin()
        readers = stage.readers(address, topic)
        for reader in readers.values():
            reader.await_count(300)
        stage.mm2("run", way=mirror)
        for reader in readers.values():
            reader.await_count(600)
        self.written = together(self.written, writer.end())
        for group, reader in readers.items():
            self.read[group] = together(self.read.get(group, {}), reader.end())

    def read_to_the_end(self, side: str) -> None:
        """Every group has read every record once, in order, wherever it lay."""
        stage = self.stage
        address, topic = (stage.source, stage.topic) if side == "us" else (stage.target, stage.remote)
        for group, reader in stage.readers(address, topic).items():
            reader.await_count(counted(self.written) - counted(self.read[group]))
            self.read[group] = together(self.read[group], reader.end())
            assert self.read[group] == self.written, group


@pytest.mark.parametrize("policy", ["default", "identity"])
def test_round_and_round(pair: LocalPair, make_stage: MakeStage, policy: str) -> None:
    """Planned, from us to eu to us to eu to us: 0 lost, 0 read twice, 0 out of order; each record once on each side."""
    stage = make_stage(pair.addresses["source"], pair.addresses["target"], replication_policy=policy)
    stage.begin_groups()
    journey = Journey(stage)
    for number in range(2):
        journey.work("us", mirror="")
        stage.mm2("failover", "--apply", "--yes", "--quiet", "0")
        assert stage.mm2("failback")["state"] == "not prepared"
        stage.mm2("failback", "--prepare")
        journey.work("eu", mirror=HOME)
        held = stage.mm2("failback", "--apply", "--quiet", "0")
        assert (held["state"], [row["reread"] for row in held["groups"]]) == ("awaiting approval", [0] * 2 * PARTITIONS)
        assert all(row["exact"] for row in held["groups"])
        closed = stage.mm2("failback", "--resume", "--approve", held["plan_digest"])
        assert (closed["state"], closed["active_side"]) == ("closed", "source")
        assert read_all(stage.source, stage.topic, PARTITIONS) == journey.written, number
        assert read_all(stage.target, stage.remote, PARTITIONS) == journey.written, number
        assert stage.mm2("run", way=HOME, code=4)["error"]["kind"] == "FlowFrozen"
    assert stage.mm2("run")["records"] == 0
    journey.read_to_the_end("us")
    assert stage.mm2("failover", "--status")["state"] == "failed back"


def test_stranded(pair: LocalPair, make_cluster: MakeCluster, make_stage: MakeStage, tmp_path: Path) -> None:
    """What the dead source had and nobody mirrored is listed, record by record, and goes where a person says."""
    source = make_cluster()
    stage = make_stage(source.client_settings, pair.addresses["target"])
    stage.begin_groups()
    writer = Writer(stage.source, stage.topic, PARTITIONS).begin()
    readers = stage.readers(stage.source, stage.topic)
    for reader in readers.values():
        reader.await_count(300)
    stage.mm2("run")
    for reader in readers.values():
        reader.end()
    written = writer.end()
    process_of(source).kill()
    stage.mm2("failover", "--unplanned", "--apply", "--yes")
    mirrored = read_all(stage.target, stage.remote, PARTITIONS)
    later = Writer(stage.target, stage.remote, PARTITIONS, start=dict.fromkeys(range(PARTITIONS), 100000)).begin()
    source.start()
    seen = stage.mm2("failback", "--list-stranded", str(tmp_path / "stranded.jsonl"), code=1)
    expected = {number: written[number][len(mirrored[number]) :] for number in range(PARTITIONS)}
    assert {row["partition"]: row["records"] for row in seen["failback"]["stranded"]} == lengths(expected)
    listed = [json.loads(line) for line in (tmp_path / "stranded.jsonl").read_text("utf-8").splitlines()]
    assert len(listed) == counted(expected) > 0
    assert all(writer.stamps[row["partition"], number] for row, number in zip(listed, _flat(expected), strict=True))
    refused = stage.mm2("failback", "--apply", code=4)
    assert refused["error"]["kind"] == "StrandedUndecided"
    added = later.end()
    stage.mm2("failback", "--prepare", "--stranded", "copy")
    stage.mm2("failback", "--apply", "--yes", "--quiet", "0")
    together_ = {number: [*written[number], *added[number], *expected[number]] for number in range(PARTITIONS)}
    assert read_all(stage.source, stage.topic, PARTITIONS) == together_
    assert stage.mm2("run")["records"] == 0


def _flat(numbers: Numbers) -> list[int]:
    return [each for number in range(PARTITIONS) for each in numbers[number]]
