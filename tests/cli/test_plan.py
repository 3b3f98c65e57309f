"""``mm2 plan`` as a shell sees it: what is left out and what would change, for people and as a document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from airflow_provider_mm2.cli import mirror
from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.mirror.flow import MirrorFlow, TopicSync
from airflow_provider_mm2.mirror.model import TopicAcl
from tests.mirror.offsets.group_world import GroupWorld

Run = Callable[..., Any]


@pytest.fixture
def world() -> GroupWorld:
    """Give a mirrored topic whose settings and access rules have changed since, and much that is left out."""
    made = GroupWorld(sync_topics=TopicSync(acls=True))
    cluster = made.pair.us
    cluster.topics["orders"].settings.update({"retention.ms": "1000", "retention.bytes": "1"})
    made.run()
    cluster.topics["orders"].settings = {"retention.bytes": "2"}
    for number in range(12):
        cluster.create_topic(f"stock-{number:02}")
    cluster.create_topic("orders.internal")
    made.commit("console-consumer-1", 0)
    rule = {"principal": "User:app", "host": "*", "permission": "ALLOW"}
    cluster.acls = {TopicAcl(name="orders", prefixed=False, operation="ALL", **rule)}
    cluster.acls |= {TopicAcl(name="ord", prefixed=True, operation="READ", **rule)}
    made.pair.eu.acls = set()
    return made


@pytest.fixture
def run(world: GroupWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give ``mm2 plan`` on that pair."""

    @contextmanager
    def clusters(flow: MirrorFlow) -> Iterator[Any]:
        yield world.pair

    monkeypatch.setattr(mirror, "clusters", clusters)
    monkeypatch.setenv("COLUMNS", "200")
    path = tmp_path / "flow.yaml"
    path.write_text(json.dumps(world.flow.model_dump(mode="json", exclude_defaults=True)))  # JSON is YAML
    return lambda *arguments: CliRunner().invoke(app, ["plan", str(path), *arguments])


def test_for_people(run: Run) -> None:
    """Topics and groups out with their rule, settings and access rules to change, and those that stay out."""
    told = run()
    assert told.exit_code == 0, told.output
    lines = [" ".join(line.replace("│", " ").split()) for line in told.output.splitlines()]
    for line in (
        "not in topics 12 stock-00, stock-01, stock-02, stock-03, stock-04, stock-05, stock-06, stock-07, stock-08, "
        "stock-09, ...",
        r"topics_exclude: .*[\-\.]internal 1 orders.internal",
        "groups_exclude: console-consumer-.* 1 console-consumer-1",
        "us.orders retention.bytes 2",
        "us.orders retention.ms (removed)",
        "us.orders no User:app * ALLOW READ",
    ):
        assert line in lines, told.output
    assert "topics out, 10 names of a rule at most: --json has all" in lines
    assert "groups out" in lines
    assert any(line.startswith("ord yes User:app * ALLOW READ for all topics that begin so") for line in lines)


def test_as_a_document(run: Run) -> None:
    """The document lists all of them one by one."""
    document = json.loads(run("--json").stdout)
    assert len(document["left_out"]) == 13
    assert document["groups_left_out"] == [
        {"group": "console-consumer-1", "rule": "groups_exclude: console-consumer-.*"}
    ]
    assert document["settings"] == [
        {"topic": "us.orders", "setting": "retention.bytes", "value": "2"},
        {"topic": "us.orders", "setting": "retention.ms", "value": None},
    ]
    (rule,) = document["acls"]["create"]
    assert (rule["topic"], rule["operation"]) == ("us.orders", "READ")
    (out,) = document["acls"]["left_out"]
    assert (out["topic"], out["prefixed"]) == ("ord", True)
    assert out["reason"].startswith("for all topics that begin so")
