"""``mm2 import``: examples of MirrorMaker 2's files, each with the flows and the lines that it gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.mirror.clusters.config import plain_secrets
from airflow_provider_mm2.mirror.flow_file import load_flow

EXAMPLES = Path(__file__).parents[1] / "mirror" / "mm2_import" / "examples"
NAMES = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix in {".properties", ".json"})


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in the folder of the examples, so that their paths are short."""
    monkeypatch.chdir(EXAMPLES)


def run(*arguments: str) -> Any:
    """Run ``mm2 import``."""
    return CliRunner().invoke(app, ["import", *arguments])


def test_there_are_examples() -> None:
    """Kafka's own file, both ways, a hub, the two connectors of the article, an operator's, TLS and logins."""
    expected = {"stock", "active", "hub", "article", "operator", "secured"}
    assert {name.partition(".")[0] for name in NAMES} == expected


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", NAMES)
def test_example(name: str) -> None:
    """YAML on standard output, what is not honoured on standard error, as they are kept beside the example."""
    told = run(name)
    assert told.exit_code == 0
    stem = name.partition(".")[0]
    assert told.stdout == (EXAMPLES / f"{stem}.flows.yaml").read_text("utf-8")
    assert told.stderr == (EXAMPLES / f"{stem}.unhonoured.txt").read_text("utf-8")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", NAMES)
def test_files_are_flows(name: str, tmp_path: Path) -> None:
    """Each file that is written is a flow, and none of them holds a secret."""
    told = run(name, "--out", str(tmp_path / "flows"))
    assert told.exit_code == 0, told.output
    written = [Path(line) for line in told.stdout.splitlines()]
    flows = [load_flow(path) for path in written]
    assert [path.name for path in written] == [f"{flow.name}.yaml" for flow in flows]
    assert "---\n".join(path.read_text("utf-8") for path in written) == (
        EXAMPLES / f"{name.partition('.')[0]}.flows.yaml"
    ).read_text("utf-8")
    assert [plain_secrets(cluster) for flow in flows for cluster in (flow.source, flow.target)] == [()] * 2 * len(flows)


@pytest.mark.usefixtures("here")
def test_as_json(tmp_path: Path) -> None:
    """One document with the flows and the list; a secret's value is not in it."""
    told = run("active.properties", "--json")
    document = json.loads(told.stdout)
    assert [flow["name"] for flow in document["flows"]] == ["us-eu", "eu-us"]
    assert document["unhonoured"][0] == {
        "key": "us.sasl.jaas.config",
        "value": None,
        "why": "what counts as a secret is never written into a flow",
        "instead": "set MM2_US_SASL_PASSWORD where runs take place to the password in it, or use connection: in place "
        "of settings:",
        "where": "active.properties:8",
    }
    assert "secret-us" not in told.output
    written = json.loads(run("active.properties", "--json", "--out", str(tmp_path)).stdout)["files"]
    assert written == [str(tmp_path / "us-eu.yaml"), str(tmp_path / "eu-us.yaml")]


@pytest.mark.usefixtures("here")
def test_it_overwrites_nothing(tmp_path: Path) -> None:
    """One file in the way, and none is written."""
    (tmp_path / "B-A.yaml").write_text("mine")
    told = run("stock.properties", "--out", str(tmp_path))
    assert told.exit_code == 2
    assert "B-A.yaml" in told.stderr
    assert "give another --out, or move the files away; nothing was written" in told.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["B-A.yaml"]


@pytest.mark.usefixtures("here")
def test_several_files() -> None:
    """Files are read as one, so names of flows stay unique."""
    document = json.loads(run("stock.properties", "stock.properties", "article.json", "--json").stdout)
    names = [flow["name"] for flow in document["flows"]]
    assert names == ["A-B", "B-A", "A-B-2", "B-A-2", "kafka-source-to-dist"]


def test_what_cannot_be_imported(tmp_path: Path) -> None:
    """Bad settings end with 2, all problems named; a file that is not there, too."""
    file = tmp_path / "mm2.properties"
    file.write_text("clusters = us, eu\nus->eu.enabled = true\nus->eu.topics = orders-[0-9]{1,3}, invoices\n")
    told = run(str(file), "--json")
    assert told.exit_code == 2
    error = json.loads(told.stdout)["error"]
    assert error["kind"] == "ImportRefused"
    assert "mm2.properties:3: us->eu.topics: 'orders-[0-9]{1'" in error["message"]
    gone = run(str(tmp_path / "gone"))
    assert gone.exit_code == 2
    assert f"{tmp_path / 'gone'} cannot be read: No such file" in gone.stderr
    assert "Likely cause: a misspelt path" in gone.stderr
