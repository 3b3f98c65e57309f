"""`mm2 init`: what it writes is the repository's `dags/`, and it overwrites nothing unasked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from airflow_provider_mm2.cli.init import command, init
from airflow_provider_mm2.mirror.errors import FilesInTheWay
from airflow_provider_mm2.mirror.flow_file import load_flow

DAGS = Path(__file__).parents[2] / "dags"


def files_below(folder: Path) -> dict[str, str]:
    """Text of each file by its relative name, without what Python leaves behind."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found}


def test_it_writes_the_repositorys_dags(tmp_path: Path) -> None:
    """The repository's ``dags/`` is what a user gets, so that what is tested there is what runs."""
    folder = tmp_path / "new" / "dags"
    written = init(folder)
    assert files_below(folder) == files_below(DAGS)
    assert sorted(path.relative_to(folder).as_posix() for path in written) == sorted(files_below(DAGS))


def test_it_overwrites_nothing_unasked(tmp_path: Path) -> None:
    """One file in the way, and none is written; --force replaces it."""
    flow = tmp_path / "flows" / "local.yaml"
    flow.parent.mkdir()
    flow.write_text("mine")
    with pytest.raises(FilesInTheWay) as caught:
        init(tmp_path)
    assert caught.value.paths == (str(flow),)
    assert files_below(tmp_path) == {"flows/local.yaml": "mine"}
    init(tmp_path, force=True)
    assert files_below(tmp_path) == files_below(DAGS)


def test_the_command_names_what_it_wrote(tmp_path: Path) -> None:
    """One path a line, or one JSON document; files in the way are exit code 2."""
    app = typer.Typer()
    app.command()(command)
    runner = CliRunner()
    told = runner.invoke(app, [str(tmp_path / "a")])
    assert told.stdout.splitlines() == [str(path) for path in sorted((tmp_path / "a").rglob("*.*"))]
    told = runner.invoke(app, [str(tmp_path / "b"), "--json"])
    assert json.loads(told.stdout)["files"]
    told = runner.invoke(app, [str(tmp_path / "b")])
    assert told.exit_code == 2
    assert "--force" in told.output


@pytest.mark.parametrize("name", ["mm2_mirror.py", "mm2_failover.py"])
def test_airflow_will_look_into_the_dag_file(name: str) -> None:
    """Airflow's safe mode passes over files that do not contain both words."""
    text = (DAGS / name).read_text(encoding="utf-8").lower()
    assert "dag" in text
    assert "airflow" in text


def test_the_first_flow_is_valid_and_holds_no_address() -> None:
    """It runs against any pair: both addresses come from the environment."""
    flow = load_flow(DAGS / "flows" / "local.yaml")
    assert (flow.name, flow.source.alias, flow.target.alias) == ("flights", "us", "eu")
    assert flow.source.settings == {"bootstrap.servers": "${MM2_SOURCE}"}
    assert flow.target.settings == {"bootstrap.servers": "${MM2_TARGET}"}
