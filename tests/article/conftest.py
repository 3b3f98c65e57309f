"""Topics that are mirrored, and the Java application."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.article.mirrored import MirroredTopics
from tests.cases.conftest import MakeStage, make_scenario, make_stage
from tests.java.program import JavaProgram, compile_java

__all__ = ["make_scenario", "make_stage"]

PROGRAM = Path(__file__).parents[1] / "java" / "RemoteClusters.java"


@pytest.fixture(scope="session")
def remote_clusters(_guarded: Path) -> JavaProgram:
    """Give the application, compiled once for all workers."""
    return compile_java(PROGRAM, _guarded / "java")


@pytest.fixture
def mirrored(make_stage: MakeStage) -> MirroredTopics:
    """Give a topic of each shape under an alias of its own, not mirrored yet."""
    stage = make_stage(partitions=0)
    stage.scenario.alias = f"us-{stage.scenario.flow}"
    return MirroredTopics.make(stage)
