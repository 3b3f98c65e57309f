"""The commands of docs/how-to/failover.md, typed one after the other, on a real pair."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.how_to.page import commands, digest_in, flow_folder, type_in

pytestmark = pytest.mark.broker

folder = flow_folder
PAGE = "failover.md"


@pytest.mark.parametrize("heading", ["The source is gone", "A planned move"])
def test_failing_over(heading: str, folder: Path) -> None:
    """Seen, begun, approved by the digest that was printed; then looked at, and taken back as a false alarm."""
    told, digest = "", ""
    for words in commands(PAGE, heading):
        told = type_in(words, folder, digest)
        digest = digest_in(told, digest)
    assert "closed: the target is the active side" in told
    (status,) = commands(PAGE, "Who did what")
    assert "closed" in type_in(status, folder, digest)
    _, look, reopen = commands(PAGE, "It went wrong")
    digest = digest_in(type_in(look, folder, digest), digest)
    assert "the source is the active side" in type_in(reopen, folder, digest)
    assert type_in(["run", "orders"], folder, digest)


def test_rolling_back(folder: Path) -> None:
    """Begun and not approved, it is undone, and mirror runs go on."""
    for words in commands(PAGE, "The source is gone")[:2]:
        type_in(words, folder, "")
    rollback, *_ = commands(PAGE, "It went wrong")
    assert "rolled back" in type_in(rollback, folder, "")
    assert type_in(["run", "orders"], folder, "")
