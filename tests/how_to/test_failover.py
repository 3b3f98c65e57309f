"""The commands of docs/how-to/failover.md, typed one after the other, on a real pair."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.local.pair import LocalPair
from tests.conftest import TopicName
from tests.recovery.applications import commit_at_beginning, make_topic, write_flow

pytestmark = pytest.mark.broker

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "failover.md").read_text("utf-8")


def commands(heading: str) -> list[list[str]]:
    """The words of each command that a section shows."""
    section = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    (found,) = (text for text in section if text.startswith(heading))
    return [
        line.split()[1:]
        for block in re.findall(r"```console\n(.*?)```", found, flags=re.DOTALL)
        for line in map(str.strip, block.splitlines())
        if line
    ]


@pytest.fixture
def folder(pair: LocalPair, topic_name: TopicName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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
    typed = [{"orders": flow.stem, "DIGEST": digest}.get(word, word) for word in words]
    told = CliRunner().invoke(app, typed)
    assert told.exit_code == 0, (typed, told.output)
    return told.output


def digest_in(text: str, before: str) -> str:
    """The digest that a command tells to approve, or the one known before."""
    found = re.search(r"--approve ([0-9a-f]{16})", text)
    return before if found is None else found[1]


@pytest.mark.parametrize("heading", ["The source is gone", "A planned move"])
def test_failing_over(heading: str, folder: Path) -> None:
    """Seen, begun, approved by the digest that was printed; then looked at, and taken back as a false alarm."""
    told, digest = "", ""
    for words in commands(heading):
        told = type_in(words, folder, digest)
        digest = digest_in(told, digest)
    assert "closed: the target is the active side" in told
    (status,) = commands("Who did what")
    assert "closed" in type_in(status, folder, digest)
    _, look, reopen = commands("It went wrong")
    digest = digest_in(type_in(look, folder, digest), digest)
    assert "the source is the active side" in type_in(reopen, folder, digest)
    assert type_in(["run", "orders"], folder, digest)


def test_rolling_back(folder: Path) -> None:
    """Begun and not approved, it is undone, and mirror runs go on."""
    for words in commands("The source is gone")[:2]:
        type_in(words, folder, "")
    rollback, *_ = commands("It went wrong")
    assert "rolled back" in type_in(rollback, folder, "")
    assert type_in(["run", "orders"], folder, "")
