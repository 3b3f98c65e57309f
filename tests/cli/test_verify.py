"""``mm2 verify`` as a shell sees it: document, table, progress and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from airflow_provider_mm2.cli import verify
from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.verify import comparison
from tests.mirror.verify.verify_world import VerifyWorld

Run = Callable[..., Any]


@pytest.fixture
def world() -> VerifyWorld:
    """Give 100 mirrored records."""
    return VerifyWorld().mirrored(40, 60)


@pytest.fixture
def run(world: VerifyWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give ``mm2 verify`` on that pair."""

    @contextmanager
    def clusters(flow: MirrorFlow) -> Iterator[Any]:
        yield world.pair

    monkeypatch.setattr(verify, "clusters", clusters)
    path = tmp_path / "flow.yaml"
    path.write_text(json.dumps(world.flow.model_dump(mode="json", exclude_defaults=True)))  # JSON is YAML
    return lambda *arguments: CliRunner().invoke(app, ["verify", str(path), *arguments])


KEYS = {
    *("topic", "partition", "target_topic", "start", "end", "target_start", "target_end", "records", "target_records"),
    *("digest", "target_digest", "mismatches", "expired_source", "expired_target", "compacted_source"),
    *("compacted_target", "on_record"),
}


def test_clean(run: Run) -> None:
    """A clean mirror ends with 0; the one document has every key, people read a table."""
    told = run("--json")
    assert told.exit_code == 0, told.output
    (line,) = told.stdout.splitlines()
    document = json.loads(line)
    assert (document["flow"], document["records"], document["mismatches"], document["sampled"]) == ("f", 100, [], None)
    assert document["partitions"][0].keys() == KEYS
    told = run()
    assert "100 records compared in" in told.stdout
    assert "no mismatch" in told.stdout


def test_a_fault(run: Run, world: VerifyWorld) -> None:
    """A fault ends with 1, and is told with its offsets."""
    world.edit_at(51, value=b"secret")
    world.pair.us.advance_log_start("orders", 0, 5)
    told = run("--json")
    assert told.exit_code == 1
    (row,) = json.loads(told.stdout)["mismatches"]
    detail = row.pop("detail")
    assert row == {
        **{"kind": "changed", "topic": "orders", "partition": 0, "records": 1},
        **{"source_offset": 50, "source_end": 51, "target_offset": 51, "target_end": 52},
    }
    assert detail.startswith("value 3 bytes (sha256 ")
    told = run()
    assert told.exit_code == 1
    assert "1 mismatch(es)" in told.stdout
    assert "expired source" in told.stdout
    assert "secret" not in told.output


def test_many_faults(run: Run, world: VerifyWorld) -> None:
    """Of very many the table has the first ones, and the number of the others."""
    for entry in list(world.target_log.entries):
        if entry.message is not None:
            world.edit_at(entry.offset, value=b"x")
    assert "and 50 more; --json lists the first of them" in run().stdout


def test_a_sample(run: Run) -> None:
    """What a sample proves is told with the seed that draws it again."""
    told = run("--sample", "3", "--seed", "9")
    assert told.exit_code == 0, told.output
    assert "1 windows of 1, drawn with --seed 9" in told.stdout
    assert "with 95 % confidence at most 0 of 1 windows differ" in told.stdout
    assert run("--sample", "0").exit_code == 2


def test_progress(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """How far it is goes to standard error, so that the document stays alone."""
    monkeypatch.setattr(comparison, "REPORT_S", 0)
    told = run("--json")
    assert "orders-0: at " in told.stderr
    assert len(told.stdout.splitlines()) == 1


def test_gone_on_with(run: Run, tmp_path: Path) -> None:
    """A file that is there is gone on from; one of another range is refused as a setting."""
    file = str(tmp_path / "state.json")
    first = json.loads(run("--resume", file, "--json").stdout)
    again = json.loads(run("--resume", file, "--json").stdout)
    assert {**first, "seconds": 0} == {**again, "seconds": 0}
    told = run("--resume", file, "--from", "3", "--json")
    assert (told.exit_code, json.loads(told.stdout)["error"]["kind"]) == (2, "ResumeRefused")


def test_exit_codes(run: Run, world: VerifyWorld) -> None:
    """Settings end with 2, a cluster that is away with 3, a topic that was made anew with 4."""
    codes = [run(*arguments).exit_code for arguments in (("--from", "soon"), ("--topic", "other"), ("--to", "0"))]
    assert codes == [2, 2, 2]
    assert run("--by-order", "--from", "3").exit_code == 2
    world.pair.us.reachable = False
    assert run().exit_code == 3
    world.pair.us.reachable = True
    world.pair.us.delete_topic("orders")
    world.pair.us.create_topic("orders")
    assert run().exit_code == 4


def test_a_place_that_is_none(run: Run) -> None:
    """Where to begin is an offset or a time, and both are named when it is neither."""
    told = run("--from", "start", "--json")
    assert told.exit_code == 2
    assert json.loads(told.stdout)["error"]["kind"] == "PlaceRefused"
    assert "source offset such as 4711, or a time with a zone" in told.output
