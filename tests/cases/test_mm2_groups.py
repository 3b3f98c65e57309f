"""Groups of a real pair that another mirror filled, its offset syncs written as MirrorMaker 2 writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.checkpoint import Checkpoint, OffsetSync
from airflow_provider_mm2.mirror.run import locate_groups
from tests.cases.scenario import records
from tests.contract.lab import Side
from tests.contract.real_lab import RealLab
from tests.fakes.log import Message, Outcome

pytestmark = pytest.mark.broker


@dataclass
class Copied:
    """A topic with a copy on the target; the aliases are its own, and so are MirrorMaker 2's topics."""

    lab: RealLab
    pair: ClusterPair
    flow: MirrorFlow
    name: str

    @property
    def source(self) -> TopicPartition:
        """The one partition on the source."""
        return TopicPartition(f"orders-{self.name}", 0)

    @property
    def target(self) -> TopicPartition:
        """The one partition on the target."""
        return TopicPartition(f"us-{self.name}.orders-{self.name}", 0)

    def write(self, side: Side, topic: str, *found: OffsetSync | Checkpoint) -> None:
        """Write records of MirrorMaker 2's."""
        self.lab.create_topic(side, topic, settings={"cleanup.policy": "compact"})
        messages = [Message(key=each.encode_key(), value=each.encode_value(), timestamp_ms=1) for each in found]
        self.lab.produce(side, TopicPartition(topic, 0), *messages)

    def rows(self, *, refine: bool) -> Mapping[str, dict[str, Any]]:
        """What ``mm2 groups`` says of each group."""
        return {row["group"]: row for row in locate_groups(self.flow, self.pair, refine=refine).to_json()["groups"]}


@pytest.fixture
def copied(pair: LocalPair) -> Iterator[Copied]:
    """Give 40 records, of which 10 were aborted, on the source, and on the target 3 others and a copy of all 40."""
    lab = RealLab(pair.addresses)
    name = lab.new_name()
    flow = MirrorFlow.model_validate(
        {
            "name": name,
            "source": {"alias": f"us-{name}", "settings": dict(pair.addresses["source"])},
            "target": {"alias": f"eu-{name}", "settings": dict(pair.addresses["target"])},
            "topics": [f"orders-{name}"],
            "groups": [f"app-{name}-.*"],
        }
    )
    made = Copied(lab, connect(flow), flow, name)
    lab.create_topic(Side.SOURCE, made.source.topic)
    lab.create_topic(Side.TARGET, made.target.topic)
    every = records(40)
    lab.produce(Side.SOURCE, made.source, *every[:20])
    lab.transaction(Side.SOURCE, made.source, *every[20:30], outcome=Outcome.ABORTED)  # its marker is at 30
    lab.transaction(Side.SOURCE, made.source, *every[30:], outcome=Outcome.COMMITTED)  # 31 to 40
    lab.produce(Side.TARGET, made.target, *records(3, first=900))
    lab.transaction(Side.TARGET, made.target, *every, outcome=Outcome.COMMITTED)  # 3 to 42
    yield made
    made.pair.close()
    lab.close()


def test_found_by_reading(copied: Copied) -> None:
    """MirrorMaker 2's rule gives a place from which nothing is missed; reading finds the record itself."""
    syncs = [
        OffsetSync(topic=copied.source.topic, partition=0, source_offset=source, target_offset=target)
        for source, target in ((0, 3), (10, 13))
    ]
    copied.write(Side.SOURCE, f"mm2-offset-syncs.eu-{copied.name}.internal", *syncs)
    saved = Checkpoint(
        group=f"app-{copied.name}-38", topic=copied.target.topic, partition=0, source_offset=36, target_offset=36
    )
    copied.write(Side.TARGET, f"us-{copied.name}.checkpoints.internal", saved)
    places = {0: 3, 10: 13, 15: 18, 20: 23, 31: 33, 38: 40, 42: 43}
    for place in places:
        copied.lab.commit_offsets(Side.SOURCE, f"app-{copied.name}-{place}", {copied.source: place})
    rows = copied.rows(refine=False)
    by_rule = {place: rows[f"app-{copied.name}-{place}"] for place in places}
    assert {place: row["target_offset"] for place, row in by_rule.items()} == {
        0: 3,
        10: 13,
        15: 14,
        20: 14,
        31: 14,
        38: 36,
        42: 14,
    }
    assert [place for place, row in by_rule.items() if row["exact"]] == [0, 10]
    assert by_rule[15]["source"] == "offset syncs on source"
    assert by_rule[38]["source"] == "checkpoints"
    rows = copied.rows(refine=True)
    refined = {place: rows[f"app-{copied.name}-{place}"] for place in places}
    assert {place: row["target_offset"] for place, row in refined.items()} == places
    assert {row["reason"] for row in refined.values()} == {None}
    assert all(row["exact"] for row in refined.values())
