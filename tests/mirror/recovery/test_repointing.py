"""A failover that points applications at the target: with the groups, and put back with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_mm2.mirror.errors import MirrorError
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.recovery.failover import Failover
from airflow_provider_mm2.mirror.recovery.repoint.factory import make_repointers
from airflow_provider_mm2.mirror.recovery.steps import REPOINT, Mode
from tests.mirror.recovery.failover_world import FailoverWorld, order

PART = TopicPartition("us.orders", 0)
BEFORE = "# of billing\nbootstrap.servers=us:1\ntopic=orders\n"
AFTER = "# of billing\nbootstrap.servers=eu:1\ntopic=us.orders\n"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Give the configuration of two applications."""
    made = [tmp_path / f"{number}.properties" for number in range(2)]
    for path in made:
        path.write_text(BEFORE)
    return made


@pytest.fixture
def world(files: list[Path]) -> FailoverWorld:
    """Give a flow that has mirrored and lists both files."""
    values = {"bootstrap.servers": "{bootstrap.servers}", "topic": "{topic:orders}"}
    return FailoverWorld(repoint=[{"kind": "file", "path": str(path), "set": values} for path in files])


def failover(world: FailoverWorld) -> Failover:
    """Somebody who fails over without a source."""
    made = world.unplanned()
    made.repointers = tuple(make_repointers(world.flow))
    made.bootstrap = {"us": "us:1", "eu": "eu:1"}
    return made


def test_repointed(world: FailoverWorld, files: list[Path]) -> None:
    """What changes is shown before, nothing is changed until then, and the comment stays."""
    preview = failover(world).preview(order(Mode.UNPLANNED)).to_json()
    items = [item for plan in preview["repoints"] for item in plan["items"]]
    assert [(item["before"], item["after"], item["state"]) for item in items] == [
        ("us:1", "eu:1", "to change"),
        ("orders", "us.orders", "to change"),
    ] * 2
    assert [path.read_text() for path in files] == [BEFORE] * 2
    report = failover(world).start(order(Mode.UNPLANNED), approve=True)
    assert report.state == "closed"
    assert [path.read_text() for path in files] == [AFTER] * 2


def test_left_alone(world: FailoverWorld, files: list[Path]) -> None:
    """With ``skip_repoint`` the applications' configuration is nobody's business."""
    assert failover(world).start(order(Mode.UNPLANNED, skip_repoint=True), approve=True).state == "closed"
    assert [path.read_text() for path in files] == [BEFORE] * 2


def test_half_of_it_failed(world: FailoverWorld, files: list[Path]) -> None:
    """One file that is gone by then fails the step; resumed once it is back, or rolled back with the offsets."""
    digest = failover(world).start(order(Mode.UNPLANNED)).to_json()["plan_digest"]
    files[1].unlink()
    with pytest.raises(MirrorError):
        failover(world).resume(digest=digest)
    assert files[0].read_text() == AFTER
    assert failover(world).status().steps[REPOINT].state.value == "failed"
    assert world.offsets()["app"] == {PART: 61}
    files[1].write_text(BEFORE)
    assert failover(world).resume().state == "closed"
    assert [path.read_text() for path in files] == [AFTER] * 2


def test_rolled_back(world: FailoverWorld, files: list[Path]) -> None:
    """Undone in the opposite order; a file that somebody changed since keeps what they wrote."""
    made = failover(world)
    made.report = lambda line: world.die(line, "step 10")
    with pytest.raises(RuntimeError):
        made.start(order(Mode.UNPLANNED), approve=True)
    files[1].write_text(AFTER.replace("eu:1", "elsewhere:1"))
    report = failover(world).rollback()
    assert report.state == "rolled back"
    assert files[0].read_text() == BEFORE
    assert "elsewhere:1" in files[1].read_text()
    assert world.offsets() == {}
    assert world.is_runnable()


def test_a_false_alarm(world: FailoverWorld, files: list[Path]) -> None:
    """Taken back, the applications point at the source again."""
    digest = failover(world).start(order(Mode.UNPLANNED), approve=True).to_json()["plan_digest"]
    assert failover(world).reopen(digest=digest).state == "reopened"
    assert [path.read_text() for path in files] == [BEFORE] * 2
