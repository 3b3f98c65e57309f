"""The commands of docs/how-to/failback.md, typed one after the other, on a real pair."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from tests.how_to.page import commands, digest_in, flow_folder, type_in
from tests.recovery.applications import Writer, read_all, together

pytestmark = pytest.mark.broker

folder = flow_folder
PAGE = "failback.md"


def test_home(folder: Path, pair: LocalPair) -> None:
    """Seen, opened, brought home, begun, approved; it can be undone before, and is looked at after."""
    (file,) = folder.glob("*.yaml")
    home, away = pair.addresses["source"], pair.addresses["target"]
    type_in(["failover", "orders", "--unplanned", "--apply", "--yes"], folder, "")
    added = Writer(away, f"us.{file.stem}", 4, start=dict.fromkeys(range(4), 1000)).begin().end()
    see, prepare, bring, begin, approve = commands(PAGE, "Bring it all home")
    rollback, status = commands(PAGE, "Not today")
    assert "opens the way home" in type_in(see, folder, "")
    assert "moves the groups" in type_in(prepare, folder, "")
    type_in(bring, folder, "")
    assert "--approve" in type_in(begin, folder, "")
    assert "rolled back" in type_in(rollback, folder, "")
    digest = digest_in(type_in(begin, folder, ""), "")
    assert "closed: the source is the active side" in type_in(approve, folder, digest)
    assert "closed" in type_in(status, folder, digest)
    assert type_in(["run", "orders"], folder, "")
    mirrored = {number: list(range(25)) for number in range(4)}
    assert read_all(home, file.stem, 4) == read_all(away, f"us.{file.stem}", 4) == together(mirrored, added)
