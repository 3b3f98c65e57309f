"""Options of `mm2 failover` and `mm2 failback` that would be passed over are refused before anything is read."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from airflow_provider_mm2.cli.main import app

RECORDED = (["--group", "app"], ["--topic", "orders"], ["--force"], ["--no-repoint"], ["--quiet", "0"])


@pytest.mark.parametrize("command", ["failover", "failback"])
@pytest.mark.parametrize("act", ["--resume", "--rollback", "--status"])
@pytest.mark.parametrize("words", RECORDED, ids=lambda words: words[0])
def test_what_counts_from_the_beginning_on(command: str, act: str, words: list[str]) -> None:
    """What is recorded when it begins is not taken for a change of it later."""
    called = CliRunner().invoke(app, [command, "no-such-flow", act, *words, "--json"])
    assert called.exit_code == 2
    error = json.loads(called.stdout)["error"]
    assert (error["kind"], error["facts"]["options"]) == ("OptionsDisagree", [words[0], act])
    assert "roll back and begin anew" in error["message"]


@pytest.mark.parametrize("command", ["failover", "failback"])
def test_one_thing_at_a_time(command: str) -> None:
    """Two calls in one are refused, with both."""
    called = CliRunner().invoke(app, [command, "no-such-flow", "--resume", "--rollback", "--json"])
    assert called.exit_code == 2
    assert json.loads(called.stdout)["error"]["facts"]["options"] == ["--resume", "--rollback"]
