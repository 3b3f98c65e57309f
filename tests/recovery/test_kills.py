"""Failovers and failbacks killed with SIGKILL at random moments, and gone on with by whoever comes next."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from typer.testing import CliRunner

from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.local.wait import poll
from tests.cases.snapshot import group_offsets
from tests.conftest import TopicName
from tests.proof.conftest import SOAK
from tests.recovery.applications import (
    LIMIT_S,
    Writer,
    commit_at_beginning,
    make_topic,
    read_all,
    together,
    write_flow,
)

pytestmark = pytest.mark.broker

ROUNDS = 12 if SOAK else 2
KILLS = 3
COMMAND = (sys.executable, "-m", "airflow_provider_mm2.cli.main")


@pytest.fixture
def flow(pair: LocalPair, topic_name: TopicName, tmp_path: Path) -> Path:
    """Give a flow of 100 records and two groups, which has mirrored."""
    topic = topic_name("orders")
    make_topic(pair.addresses["source"], topic, 2, records=50)
    for group in ("a", "b"):
        commit_at_beginning(pair.addresses["source"], f"{group}-{topic}", topic, 2)
    path = write_flow(tmp_path, topic, pair.addresses["source"], pair.addresses["target"])
    assert CliRunner().invoke(app, ["run", str(path)]).exit_code == 0
    return path


def test_killed_at_random_moments(flow: Path, pair: LocalPair) -> None:
    """Forward to the end and taken back as a false alarm, or rolled back: always the same offsets and the same gate."""
    chance = random.Random(6)  # noqa: S311
    expected = {(f"us.{flow.stem}", number): 0 for number in range(2)}
    for _ in range(ROUNDS):
        for _ in range(KILLS):
            killed(flow, chance.uniform(0.8, 6))
        status = call(flow, "--status")
        if status["state"] in ("running", "awaiting approval") and chance.random() < 0.5:
            assert call(flow, "--rollback")["state"] == "rolled back"
            assert offsets(flow, pair) == {}
        if call(flow, "--status")["state"] in ("none", "rolled back", "reopened"):
            call(flow, "--unplanned", "--apply", "--yes")
        elif call(flow, "--status")["state"] != "closed":
            call(flow, "--resume", "--yes")
        closed = call(flow, "--status")
        assert (closed["state"], closed["active_side"], closed["frozen"]) == ("closed", "target", False)
        assert offsets(flow, pair) == expected
        assert call(flow, "--reopen", "--approve", closed["plan_digest"])["active_side"] == "source"
        admin = AdminClient({**pair.addresses["target"]})  # one that nobody holds never answers
        for deleted in admin.delete_consumer_groups([f"{group}-{flow.stem}" for group in ("a", "b")]).values():
            deleted.result(LIMIT_S)


def test_home_after_kills(flow: Path, pair: LocalPair) -> None:
    """Every record is home once, and groups stand where they read on, however often the failback was killed."""
    chance = random.Random(7)  # noqa: S311
    source, target = pair.addresses["source"], pair.addresses["target"]
    expected = read_all(source, flow.stem, 2)
    for number in range(ROUNDS // 2):
        call(flow, "--apply", "--yes", "--quiet", "0")
        added = Writer(target, f"us.{flow.stem}", 2, start=dict.fromkeys(range(2), 1000 * (number + 1))).begin()
        assert poll(lambda some=added: some.count > 100, timeout_s=LIMIT_S)
        expected = together(expected, added.end())
        for _ in range(2 * KILLS):
            killed(flow, chance.uniform(0.8, 8), command="failback", begin=("--apply", "--yes", "--quiet", "0"))
        status = call(flow, "--status", command="failback")
        if status["state"] in ("running", "awaiting approval"):
            call(flow, "--resume", "--yes", command="failback")
        elif status["state"] != "closed" or status["active_side"] != "source":
            call(flow, "--apply", "--yes", "--quiet", "0", command="failback")
        assert call(flow, "--status")["state"] == "failed back"
        assert read_all(source, flow.stem, 2) == read_all(target, f"us.{flow.stem}", 2) == expected


def killed(
    flow: Path,
    seconds: float,
    *,
    command: str = "failover",
    begin: Sequence[str] = ("--unplanned", "--apply", "--yes"),
) -> None:
    """Begin or go on, and be killed after so many seconds, if it is still at it."""
    state = call(flow, "--status", command=command)["state"]
    words = ["--resume", "--yes"] if state in ("running", "awaiting approval") else begin
    if state == "closed":
        return
    process = subprocess.Popen(
        [*COMMAND, command, str(flow), *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def call(flow: Path, *words: str, command: str = "failover") -> dict[str, object]:
    """``mm2 failover``, or another; gives its document."""
    called = CliRunner().invoke(app, [command, str(flow), *words, "--json"])
    assert called.exit_code == 0, (words, called.output)
    document: dict[str, object] = json.loads(called.stdout.splitlines()[-1])
    return document


def offsets(flow: Path, pair: LocalPair) -> dict[tuple[str, int], int]:
    """What both groups have on the target, which is the same."""
    admin = AdminClient({**pair.addresses["target"]})
    first, second = (group_offsets(admin, f"{group}-{flow.stem}") for group in ("a", "b"))
    assert first == second
    return dict(first)
