"""`mm2 local` as a shell sees it: documents on standard output, messages on standard error, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.local.ports import pick_ports

pytestmark = pytest.mark.thorough


def mm2_local(*arguments: str | Path, timeout_s: float = 150) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "airflow_provider_mm2.cli.local", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)


def document(*arguments: str | Path) -> dict[str, Any]:
    """Run a command that must succeed and print one JSON document."""
    done = mm2_local(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    parsed = json.loads(done.stdout)
    assert isinstance(parsed, dict)
    return parsed


def test_usage_error() -> None:
    """Zero brokers is bad usage: exit code 2, nothing on standard output."""
    done = mm2_local("up", "--brokers", "0")
    assert (done.returncode, done.stdout) == (2, "")


def test_folder_of_somebody_else(tmp_path: Path) -> None:
    """A folder with other files ends with exit code 2 and a message in three parts."""
    (tmp_path / "thesis.tex").touch()
    done = mm2_local("up", "--dir", tmp_path, "--json")
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert (error["kind"], error["facts"]["example"]) == ("FolderNotOurs", "thesis.tex")
    assert "thesis.tex" in done.stderr
    assert len(done.stderr.splitlines()) == 3


def test_nothing_there(tmp_path: Path) -> None:
    """Status and down of a folder without a pair succeed, and make no folder."""
    folder = tmp_path / "none"
    expected = {"state": "absent", "folder": str(folder), "running": {"source": [], "target": []}}
    assert document("status", "--dir", folder) == {**expected, "source": {}, "target": {}}
    assert document("down", "--dir", folder) == {"ended": [], "deleted": False}
    assert not folder.exists()


def test_unreachable_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the repository and without a cache, up ends with exit code 3 and names the log."""
    monkeypatch.setenv("MM2_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MM2_MAVEN_URL", f"http://127.0.0.1:{pick_ports(1)[0].client}/maven")
    done = mm2_local("up", "--dir", tmp_path / "pair", "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["error"]["retriable"] is True
    assert str(tmp_path / "cache" / "download.log") in done.stderr
    assert done.stderr.count("Next move:") == 1
    assert "Traceback" not in done.stderr


@pytest.fixture
def folder(kafka_folder: Path) -> Iterator[Path]:
    """Give a folder for a pair, and check that `down` leaves no process in it."""
    yield kafka_folder / "pair"
    assert document("down", "--dir", kafka_folder / "pair", "--delete")["deleted"] is True
    assert processes.find(kafka_folder) == []
    assert document("status", "--dir", kafka_folder / "pair")["state"] == "absent"


@pytest.mark.broker
def test_up_status_down(folder: Path) -> None:
    """A pair outlives its `up`; a second `up` gives the same, and starts a killed broker again."""
    started = document("up", "--dir", folder)
    assert sorted(started) == ["source", "target"]
    for settings in started.values():
        assert AdminClient(settings).list_topics(timeout=10).brokers
    again = mm2_local("up", "--dir", folder, "--json")
    assert json.loads(again.stdout) == started
    assert "running already" in again.stderr
    LocalPair.open(folder).target.kill()
    partial = document("status", "--dir", folder)
    assert (partial["state"], partial["running"]) == ("partial", {"source": [0], "target": []})
    assert document("up", "--dir", folder) == started
    status = document("status", "--dir", folder)
    assert (status["state"], {name: status[name] for name in started}) == ("running", started)
    down = document("down", "--dir", folder)
    assert (len(down["ended"]), down["source"]) == (2, started["source"])
    assert processes.find(folder) == []
    assert document("status", "--dir", folder)["state"] == "stopped"


@pytest.mark.broker
def test_up_with_security(folder: Path) -> None:
    """With sasl_ssl the document holds all a client needs, and the text form shows it to people."""
    started = document("up", "--dir", folder, "--security", "sasl_ssl")
    for settings in started.values():
        assert settings["security.protocol"] == "SASL_SSL"
        assert AdminClient(settings).list_topics(timeout=10).brokers
    text = mm2_local("up", "--dir", folder).stdout
    assert f"  bootstrap.servers: {started['source']['bootstrap.servers']}\n" in text
    assert mm2_local("up", "--dir", folder, "--security", "plaintext").returncode == 2
