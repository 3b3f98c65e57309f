"""A flow between two real clusters, its applications, and the command line for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from airflow_provider_mm2.cli.main import app
from tests.recovery.applications import Reader, commit_at_beginning

PARTITIONS = 3
PROTOCOLS = {"billing": "classic", "audit": "consumer"}


@dataclass(slots=True)
class Stage:
    """A flow between two clusters, and the command line for it."""

    source: dict[str, Any]
    target: dict[str, Any]
    topic: str
    flow: Path

    @property
    def remote(self) -> str:
        """The topic's name on the target."""
        policy = json.loads(self.flow.read_text("utf-8")).get("replication_policy", "default")
        return f"us.{self.topic}" if policy == "default" else self.topic

    def mm2(self, *arguments: str, code: int = 0, way: str = "") -> dict[str, Any]:
        """Call ``mm2``, on the way home with ``way=".reverse"``; gives its document."""
        called = CliRunner().invoke(app, [arguments[0], f"{self.flow}{way}", *arguments[1:], "--json"])
        assert called.exit_code == code, called.output
        document: dict[str, Any] = json.loads(called.stdout.splitlines()[-1])
        return document

    def readers(self, address: dict[str, Any], topic: str) -> dict[str, Reader]:
        """A member of each group, at work."""
        return {
            group: Reader(address, f"{group}-{self.topic}", topic, protocol).begin()
            for group, protocol in PROTOCOLS.items()
        }

    def begin_groups(self) -> None:
        """Let each group stand at the beginning."""
        for group in PROTOCOLS:
            commit_at_beginning(self.source, f"{group}-{self.topic}", self.topic, PARTITIONS)


MakeStage = Callable[..., Stage]
