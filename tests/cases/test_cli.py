"""``mm2 run`` as a shell sees it: exit codes, one JSON document on standard output, all else on standard error."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from tests.cases.scenario import Scenario, records
from tests.contract.real_lab import until

pytestmark = pytest.mark.broker

KEYS = {"flow", "until", "records", "bytes", "transactions", "seconds", "already_complete", "partitions"}
PARTITION_KEYS = {
    "topic",
    "partition",
    "start",
    "end",
    "records",
    "target_topic",
    "target_start",
    "target_end",
}


@dataclass
class Shell:
    """A flow file of a scenario, and the command in this process."""

    scenario: Scenario
    path: Path

    def write(self, **changes: Any) -> None:
        """Write the flow file; a value of ``None`` takes the key out. JSON is YAML."""
        flow: dict[str, Any] = {
            "name": self.scenario.flow,
            "source": {"alias": "us", "settings": dict(self.scenario.addresses["source"])},
            "target": {"alias": "eu", "settings": dict(self.scenario.addresses["target"])},
            "topics": list(self.scenario.topics),
            **changes,
        }
        self.path.write_text(json.dumps({key: value for key, value in flow.items() if value is not None}, indent=2))

    def run(self, *arguments: str) -> Any:
        """``mm2 run`` with the flow file."""
        return CliRunner().invoke(app, ["run", str(self.path), *arguments])

    def refuses(self, code: int, *arguments: str) -> dict[str, Any]:
        """Run, and give the error's document; the exit code is this, and nothing has changed on either cluster."""
        before = self.scenario.snapshot()
        told = self.run("--json", *arguments)
        assert told.exit_code == code, told.output
        (line,) = told.stdout.splitlines()
        error: dict[str, Any] = json.loads(line)["error"]
        assert error["message"].splitlines()[-2].startswith("  Likely cause: ")
        assert error["message"].splitlines()[-1].startswith("  Next move: ")
        assert error["message"] in told.stderr
        assert self.scenario.snapshot() == before
        return error


@pytest.fixture
def shell(scenario: Scenario, tmp_path: Path) -> Shell:
    """Give a flow file for three records on the source."""
    scenario.produce(*records(3))
    made = Shell(scenario, tmp_path / "flow.yaml")
    made.write()
    return made


def test_done(shell: Shell) -> None:
    """Exit code 0 and one document with the keys that are promised; a second run finds it complete."""
    told = shell.run("--json", "--until", "2024-01-02T00:00:00Z")
    assert told.exit_code == 0, told.output
    (line,) = told.stdout.splitlines()
    document = json.loads(line)
    assert document.keys() >= KEYS
    assert (document["records"], document["already_complete"]) == (3, False)
    assert document["until"] == "2024-01-02T00:00:00+00:00"
    (partition,) = document["partitions"]
    assert partition.keys() >= PARTITION_KEYS
    assert (partition["start"], partition["end"], partition["target_start"]) == (0, 3, 0)
    again = json.loads(shell.run("--json").stdout)
    assert (again["records"], again["already_complete"]) == (0, True)


def test_without_json_people_read_it(shell: Shell) -> None:
    """Without --json the result is text for people."""
    told = shell.run()
    assert told.exit_code == 0
    assert "3 records" in told.stdout
    assert "1 transaction(s)" in told.stdout
    assert "delivery exactly_once: readers on the target need isolation.level=read_committed" in told.stdout
    assert shell.scenario.topic in told.stdout
    assert "already complete" in shell.run().stdout


def test_people_are_told_what_a_way_of_delivery_costs(shell: Shell) -> None:
    """Plan, run and status of a flow without transactions say what its readers have to put up with."""
    shell.write(delivery="at_least_once")
    for command in ("plan", "run", "status"):
        told = CliRunner().invoke(app, [command, str(shell.path)])
        assert told.exit_code == 0, told.output
        assert "delivery at_least_once: records of a chunk can be on the target twice after a failure" in told.stdout
        assert ("1 chunk(s)" in told.stdout) is (command == "run")


def test_a_process_of_its_own(shell: Shell) -> None:
    """As a process: standard output is one JSON document also when the log has something to say."""
    command = [sys.executable, "-m", "airflow_provider_mm2.cli.main", "run", str(shell.path), "--json"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["records"] == 3
    shell.write(topics=["no-such-topic"], name="never-run")
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 4
    assert json.loads(told.stdout)["error"]["kind"] == "TopicMissing"
    assert "Next move" in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize(
    ("changes", "kind", "word"),
    [
        pytest.param({"topic": ["x"]}, "FlowInvalid", "topic", id="unknown-key"),
        pytest.param({"chunk": {"second": 1}}, "FlowInvalid", "second", id="unknown-inner-key"),
        pytest.param({"shards": "many"}, "FlowInvalid", "shards", id="wrong-type"),
        pytest.param({"strict": "perhaps"}, "FlowInvalid", "strict", id="wrong-bool"),
        pytest.param({"shards": 0}, "FlowInvalid", "shards", id="out-of-range"),
        pytest.param({"topics": ["orders-("]}, "FlowInvalid", "topics", id="bad-regex"),
        pytest.param({"topics": []}, "FlowInvalid", "topics", id="no-topics"),
        pytest.param({"topics": "orders"}, "FlowInvalid", "topics", id="topics-as-text"),
        pytest.param({"name": None}, "FlowInvalid", "name", id="no-name"),
        pytest.param({"name": "orders.dr\n"}, "FlowInvalid", "name", id="odd-name"),
        pytest.param({"source": {"alias": "us"}}, "FlowInvalid", "source", id="no-way-to-connect"),
        pytest.param({"replication_policy": "no.such.Policy"}, "PolicyNotUsable", "no.such", id="no-such-policy"),
        pytest.param(
            {"source": {"alias": "us", "settings": {"bootstrap.servers": "${MM2_NOT_SET_ANYWHERE}"}}},
            "VariableMissing",
            "MM2_NOT_SET_ANYWHERE",
            id="missing-variable",
        ),
        pytest.param(
            {"source": {"alias": "us", "connection": "not_there"}},
            "ConnectionMissing",
            "AIRFLOW_CONN_NOT_THERE",
            id="missing-connection",
        ),
    ],
)
def test_bad_settings_are_exit_code_2(shell: Shell, changes: dict[str, Any], kind: str, word: str) -> None:
    """Bad settings end with 2 and name the key, and nothing is contacted or written."""
    shell.write(**changes)
    error = shell.refuses(2)
    assert error["kind"] == kind
    assert word in error["message"]
    assert error["retriable"] is False


@pytest.mark.parametrize("text", ["", "[1, 2]", "name: [", "name: a\nname: b\n", "\tname: a"])
def test_a_file_that_is_no_flow(shell: Shell, text: str) -> None:
    """A file that is empty, no mapping or no YAML ends with 2, and gives the line."""
    shell.path.write_text(text)
    assert "flow.yaml:" in shell.refuses(2)["message"]


def test_a_file_that_is_not_there(shell: Shell) -> None:
    """A path without a file ends with 2."""
    shell.path.unlink()
    assert shell.refuses(2)["kind"] == "FlowNotFound"


@pytest.mark.parametrize(
    "until",
    [
        "2024-01-02T00:00:00",
        "2024-01-02",
        "yesterday",
        "",
        "-1",
        "12",
        "2999-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "2024-13-01T00:00:00Z",
        "2024-01-01T00:00:00Z/2024-01-02T00:00:00Z",
        "now",
    ],
)
def test_an_end_that_cannot_be_meant(shell: Shell, until: str) -> None:
    """A naive, future, pre-1970 or unreadable --until ends with 2."""
    assert shell.refuses(2, f"--until={until}")["kind"] == "BoundRefused"


@pytest.mark.parametrize("until", ["2024-01-02T00:00:00Z", "2024-01-02T05:30:00+05:30", "2024-01-01T19:00:00-05"])
def test_an_end_with_a_zone(shell: Shell, until: str) -> None:
    """Any form of zone that ISO 8601 has is taken."""
    told = shell.run("--json", "--until", until)
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["until"] == "2024-01-02T00:00:00+00:00"


@pytest.mark.parametrize("arguments", [("--no-such-option",), ("--until",), ("another", "argument")])
def test_bad_usage_is_exit_code_2(shell: Shell, arguments: tuple[str, ...]) -> None:
    """What the command does not take ends with 2, and nothing is run."""
    before = shell.scenario.snapshot()
    assert shell.run(*arguments).exit_code == 2
    assert shell.scenario.snapshot() == before


def test_worth_a_retry_is_exit_code_3(shell: Shell) -> None:
    """A shard that another run holds ends with 3."""
    shell.write(lease_wait_s=1)
    assert shell.run().exit_code == 0
    pair = connect(shell.scenario.mirror_flow())
    flow = shell.scenario.flow
    holder = pair.target.membership(f"mm2.{flow}.0.lease", f"mm2-flow.{flow}.internal", "holder", 6)

    def is_held() -> bool:
        holder.poll(0.1)
        return holder.held

    try:
        until(is_held, "the lease")
        error = shell.refuses(3)
        assert (error["kind"], error["retriable"]) == ("LeaseHeld", True)
    finally:
        holder.leave()
        pair.close()


def test_failed_for_good_is_exit_code_4(shell: Shell) -> None:
    """A gap on the source ends with 4, with its offsets as facts."""
    assert shell.run().exit_code == 0
    shell.scenario.produce(*records(6, first=3))
    shell.scenario.retain_from(5)
    error = shell.refuses(4)
    assert error["kind"] == "SourceGap"
    assert (error["facts"]["start"], error["facts"]["end"]) == (3, 5)


def test_a_connection_from_the_environment(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flow that names a connection takes it from AIRFLOW_CONN_<ID>."""
    extra = {"conn_type": "kafka", "extra": dict(shell.scenario.addresses["source"])}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_US", json.dumps(extra))
    shell.write(source={"alias": "us", "connection": "kafka_us"})
    assert json.loads(shell.run("--json").stdout)["records"] == 3
