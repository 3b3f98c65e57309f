"""The stage of the scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import TopicName
from tests.recovery.applications import make_topic, write_flow
from tests.recovery.stage import PARTITIONS, MakeStage, Stage


@pytest.fixture
def make_stage(tmp_path: Path, topic_name: TopicName) -> MakeStage:
    """Make a topic on the source and a flow that mirrors it, with its groups."""

    def make(source: dict[str, Any], target: dict[str, Any], **options: Any) -> Stage:
        topic = topic_name("orders")
        make_topic(source, topic, PARTITIONS)
        path = write_flow(tmp_path, topic, source, target, **{"chunk": {"seconds": 1}, **options})
        return Stage(source, target, topic, path)

    return make
