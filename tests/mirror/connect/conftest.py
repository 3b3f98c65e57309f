"""Stages on the session's Connect worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from tests.mirror.connect.stage import ConnectStage, stage_of


@pytest.fixture
def stage(pair: LocalPair, connect_url: str, tmp_path: Path) -> Iterator[ConnectStage]:
    """Give a stage whose connectors are not put yet."""
    with stage_of(pair, connect_url, tmp_path) as made:
        yield made
