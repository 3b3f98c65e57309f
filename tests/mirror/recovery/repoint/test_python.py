"""Code of one's own under the same rules as all others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.errors import RepointUnreadable
from tests.mirror.recovery.repoint.moves import EU, US, Noted, die_in, planned, repointer, states


class JsonStore:
    """A store as somebody may write one."""

    def __init__(self, path: str, refused: str = "") -> None:
        self.path, self.refused = Path(path), refused

    def read(self) -> dict[str, Any]:
        """Give all there is."""
        found: dict[str, Any] = json.loads(self.path.read_text())
        return found

    def write(self, key: str, before: Any, after: Any) -> None:
        """Put one value, or take it out."""
        if key == self.refused:
            raise ValueError("hunter2-in-a-text")
        found = self.read()
        assert found.get(key) == before
        found[key] = after
        self.path.write_text(json.dumps({name: value for name, value in found.items() if value is not None}))


def item(path: Path, **arguments: Any) -> dict[str, Any]:
    """Give the entry."""
    set_ = {"a": "{bootstrap.servers}", "b": {"us": 1, "eu": 2}, "c": "{alias}"}
    where = {"callable": f"{__name__}:JsonStore", "arguments": {"path": str(path), **arguments}}
    return {"kind": "python", "set": set_, **where}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the store's file."""
    path = tmp_path / "store.json"
    path.write_text(json.dumps({"a": US, "b": 1, "c": "us"}))
    return path


@pytest.mark.thorough
@pytest.mark.parametrize("onwards", ["apply", "undo"])
def test_killed_in_the_middle(path: Path, onwards: str) -> None:
    """A process that dies in the middle is gone on with, or undone, by the next one."""
    before, made = path.read_text(), repointer(**item(path))
    recorded = die_in("apply", item(path), planned(made), writes=2)
    done = getattr(made, onwards)(recorded, Noted(), no_tick)
    assert states(made.verify(done, no_tick)) == ["in place already" if onwards == "apply" else "to change"] * 3
    assert json.loads(path.read_text()) == ({"a": EU, "b": 2, "c": "eu"} if onwards == "apply" else json.loads(before))


def test_a_middle_item_fails(path: Path) -> None:
    """What the code raises is told by its kind alone, since its text may hold anything; the rest goes on later."""
    failing, note = repointer(**item(path, refused="b")), Noted()
    with pytest.raises(RepointUnreadable, match="it raised ValueError"):
        failing.apply(planned(failing), note, no_tick)
    assert states(note.last) == ["in place already", "problem", "to change"]
    assert "hunter2" not in "".join(note.texts)
    made = repointer(**item(path))
    assert states(made.apply(planned(made), note, no_tick)) == ["in place already"] * 3


def test_a_function_that_is_not_there() -> None:
    """A module that cannot be imported, a key that does not exist: problems of the plan."""
    plan = planned(repointer(kind="python", callable="no_such_module:make", set={"a": "b"}))
    assert "no_such_module:make cannot be used: it raised ModuleNotFoundError" in plan.items[0].detail
