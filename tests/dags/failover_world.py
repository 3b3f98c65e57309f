"""A flow on the real pair that has mirrored a topic, with groups of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.recovery.failover import Failover
from airflow_provider_mm2.mirror.recovery.report import FailoverReport
from airflow_provider_mm2.mirror.run import run_mirror
from tests.contract.lab import BASE_MS, Side
from tests.contract.real_lab import RealLab
from tests.fakes.log import Message

RECORDS = 30


@dataclass(slots=True)
class MirroredFlow:
    """30 records that are mirrored; one group stands at 20, one at the end."""

    lab: RealLab
    pair: LocalPair
    name: str = ""
    topic: str = ""
    groups: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Fill the topic, let the groups commit, and mirror."""
        self.name, self.topic = self.lab.new_name(), self.lab.new_name()
        self.groups = {f"billing-{self.topic}": 20, f"audit-{self.topic}": RECORDS}
        self.lab.create_topic(Side.SOURCE, self.topic, settings={"retention.ms": "-1"})
        self.produce(RECORDS)
        for group, offset in self.groups.items():
            self.lab.commit_offsets(Side.SOURCE, group, {TopicPartition(self.topic, 0): offset})
        self.mirror()

    @property
    def document(self) -> dict[str, Any]:
        """The flow as its file holds it."""
        clusters = {
            side: {"alias": alias, "settings": dict(self.pair.addresses[side])}
            for side, alias in (("source", "us"), ("target", "eu"))
        }
        return {"name": self.name, "topics": [self.topic], "groups": [f".*-{self.topic}"], **clusters}

    def write(self, folder: Path) -> None:
        """Write the flow's file; JSON is YAML."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}.yaml").write_text(json.dumps(self.document))

    def produce(self, count: int) -> None:
        """Write records to the source."""
        messages = [Message(key=b"k", value=b"v", timestamp_ms=BASE_MS + number) for number in range(count)]
        self.lab.produce(Side.SOURCE, TopicPartition(self.topic, 0), *messages)

    def mirror(self) -> None:
        """Run the whole mirror."""
        flow = MirrorFlow.model_validate(self.document)
        pair = connect(flow)
        try:
            run_mirror(flow, pair, bounds=RunBounds(until=None, since=None, started=datetime.now(timezone.utc)))
        finally:
            pair.close()

    def offsets(self) -> dict[str, int]:
        """What the groups have on the mirrored topic, by the first part of their names."""
        found = self.lab.pair.target.group_offsets(list(self.groups), lambda: None, stable=False)
        part = TopicPartition(f"us.{self.topic}", 0)
        offsets = {group: getattr(answer, "offsets", {}).get(part) for group, answer in found.items()}
        return {group.partition("-")[0]: offset for group, offset in offsets.items() if offset is not None}

    def failover(self) -> FailoverReport:
        """What is recorded."""
        flow = MirrorFlow.model_validate(self.document)
        pair = connect(flow, target_only=True)
        try:
            return Failover(flow=flow, pair=pair, owner="test", tick=lambda: None).status()
        finally:
            pair.close()
