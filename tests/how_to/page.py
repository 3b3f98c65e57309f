"""The commands that a page shows, typed on a real pair with a flow that has mirrored."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.local.pair import LocalPair
from tests.conftest import TopicName
from tests.recovery.applications import commit_at_beginning, make_topic, write_flow

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


def commands(page: str, heading: str) -> list[list[str]]:
    """The words of each command that a section shows."""
    section = re.split(r"^## ", (PAGES / page).read_text("utf-8"), flags=re.MULTILINE)
    (found,) = (text for text in section if text.startswith(heading))
    return [
        line.split()[1:]
        for block in re.findall(r"```console\n(.*?)```", found, flags=re.DOTALL)
        for line in map(str.strip, block.splitlines())
        if line
    ]


@pytest.fixture
def flow_folder(pair: LocalPair, topic_name: TopicName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder of flows with one that has mirrored, called ``orders`` on the page."""
    monkeypatch.setenv("MM2_FLOWS", str(tmp_path))
    topic = topic_name("flights")
    make_topic(pair.addresses["source"], topic, 4, records=25)
    commit_at_beginning(pair.addresses["source"], f"billing-{topic}", topic, 4)
    write_flow(tmp_path, topic, pair.addresses["source"], pair.addresses["target"])
    assert CliRunner().invoke(app, ["run", topic]).exit_code == 0
    return tmp_path


def type_in(words: list[str], folder: Path, digest: str) -> str:
    """Type one command; gives what it printed."""
    (flow,) = folder.glob("*.yaml")
    names = {"orders": flow.stem, "orders.reverse": f"{flow.stem}.reverse", "DIGEST": digest}
    typed = [names.get(word, word) for word in words]
    told = CliRunner().invoke(app, typed)
    assert told.exit_code == 0, (typed, told.output)
    return told.output


def digest_in(text: str, before: str) -> str:
    """The digest that a command tells to approve, or the one known before."""
    found = re.search(r"--approve ([0-9a-f]{16})", text)
    return before if found is None else found[1]
