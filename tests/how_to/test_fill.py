"""docs/how-to/first-mirror.md: filling the local pair, by the page's own text."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.contract.lab import Side
from tests.contract.real_lab import RealLab

pytestmark = pytest.mark.broker


def test_the_local_pair_is_filled(pair: LocalPair) -> None:
    """What the page shows runs as it stands: a hundred records, and a group that has read forty of them."""
    lab, admin = RealLab(pair.addresses), AdminClient(dict(pair.addresses["target"]))
    try:
        page = (Path(__file__).parents[2] / "docs" / "how-to" / "first-mirror.md").read_text("utf-8")
        (code,) = re.findall(r"<!-- from tests/how_to/fill.py -->\n```python\n(.*?)```", page, flags=re.DOTALL)
        given = {**os.environ, "MM2_SOURCE": str(pair.addresses["target"]["bootstrap.servers"])}
        subprocess.run([sys.executable, "-c", code], env=given, check=True, timeout=60)
        parts = [TopicPartition("flights", number) for number in range(4)]
        assert sum(len(lab.visible(Side.TARGET, part)) for part in parts) == 100
        group = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("billing")])["billing"].result()
        assert sum(max(0, each.offset) for each in group.topic_partitions) == 40
        admin.delete_consumer_groups(["billing"])["billing"].result()
    finally:
        admin.delete_topics(["flights"])["flights"].result()
        lab.close()
