"""The state machine: where groups end, what is recorded, and what a person is told, on the in-memory pair."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.mirror.errors import (
    ClusterUnreachable,
    FailoverRefused,
    FailoverUnderWay,
    FlowChanged,
    FlowFrozen,
    FlowNotPrepared,
    GroupsIncomplete,
    GroupsStillActive,
    NoFailover,
    NotOfTheFlow,
    NotReopenable,
    PlanChanged,
    SourceNotQuiet,
)
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.recovery import quiet
from airflow_provider_mm2.mirror.recovery.journal import Journal
from airflow_provider_mm2.mirror.recovery.record import StepNote
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.mirror.state_model import ActiveSide
from tests.fakes.groups import FakeGroup
from tests.fakes.log import Message
from tests.mirror.recovery.failover_world import FailoverWorld, order

PART = TopicPartition("us.orders", 0)


@pytest.fixture
def world() -> FailoverWorld:
    """Give a flow that has mirrored."""
    return FailoverWorld()


def test_planned_to_the_end(world: FailoverWorld) -> None:
    """What came after the last run is drained, each group goes on at its next record, and the target is active."""
    world.produce(5)
    world.commit("app", 102)
    report = world.failover().start(order(), approve=True)
    assert report.state == "closed"
    assert [step["state"] for step in report.to_json()["steps"]] == ["done"] * 11
    assert world.offsets() == {"app": {PART: 104}, "idle": {PART: 102}}
    assert world.gate().active_side is ActiveSide.TARGET
    assert not world.gate().frozen
    with pytest.raises(FlowFrozen):
        world.run()


def test_groups_that_the_drain_cannot_read(world: FailoverWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an earlier run read of a group is not taken for where it stands: told, and gone on with when it answers."""
    world.produce(5)
    world.commit("app", 102)
    drain = quiet.drain

    def drain_blindly(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setitem(world.pair.us.said, "app", FakeGroup(away=True))
        return drain(*arguments, **options)

    monkeypatch.setattr(quiet, "drain", drain_blindly)
    with pytest.raises(GroupsIncomplete, match="app"):
        world.failover().start(order(), approve=True)
    preview = world.unplanned().status().to_json()
    assert preview["state"] == "running"
    assert world.offsets() == {}
    monkeypatch.undo()
    report = world.failover().resume(approve=True)
    assert report.state == "closed"
    assert world.offsets() == {"app": {PART: 104}, "idle": {PART: 102}}


def test_a_position_without_a_place_where_the_group_stood_before() -> None:
    """It is left where it was on the target, and a person is told before the word that it may skip records."""
    world = FailoverWorld(first_kept=10)
    world.commit("app", 3)
    world.run()
    world.set_target("app", 9)
    preview = world.failover().preview(order()).to_json()
    rows = {row["group"]: (row["target_offset"], row["before"]) for row in preview["groups"]}
    assert rows["app"] == (None, 9)
    assert [text for text in preview["warnings"] if "it may skip records" in text]


def test_groups_that_the_last_run_did_not_read(world: FailoverWorld) -> None:
    """Without a source, what is older than the last run is said to be."""
    world.commit("app", 80)
    world.pair.us.said["app"] = FakeGroup(away=True)
    world.run()
    preview = world.unplanned().preview(order(Mode.UNPLANNED)).to_json()
    assert [row["source_offset"] for row in preview["groups"] if row["group"] == "app"] == [60]
    assert any("1 group(s) could not be read by the last run" in text for text in preview["warnings"])


def test_unplanned_never_speaks_to_the_source(world: FailoverWorld) -> None:
    """K22: the groups go on where the last run read them, and the loss window is told."""
    world.produce(5)
    world.commit("app", 102)
    failover = world.unplanned()
    preview = failover.preview(order(Mode.UNPLANNED)).to_json()
    assert preview["state"] == "preview"
    assert world.offsets() == {}
    report = failover.start(order(Mode.UNPLANNED), approve=True).to_json()
    assert [step["number"] for step in report["steps"]] == [1, 4, 5, 6, 7, 8, 9, 10, 11]
    assert world.offsets() == {"app": {PART: 61}, "idle": {PART: 101}}
    assert report["loss_window"].startswith("records stamped at ")


def test_preview_touches_nothing(world: FailoverWorld) -> None:
    """Without a word nothing is written, and the numbers of each group are told."""
    before = world.pair.eu.groups, world.gate()
    report = world.failover().preview(order())
    rows = {row["group"]: row for row in report.to_json()["groups"]}
    assert rows["app"] == {
        "group": "app",
        "topic": "orders",
        "partition": 0,
        "source_offset": 60,
        "target_topic": "us.orders",
        "target_offset": 61,
        "before": None,
        "exact": True,
        "lag": 40,
        "reread": 0,
        "not_on_target": 0,
        "reason": None,
    }
    assert (world.pair.eu.groups, world.gate()) == before
    with pytest.raises(NoFailover):
        world.failover().resume()


def test_approval_is_bound_to_the_plan(world: FailoverWorld) -> None:
    """It stops with the digest; another digest is refused, the right one goes on to the end."""
    report = world.failover().start(order())
    assert report.state == "awaiting approval"
    assert world.gate().frozen
    digest = report.to_json()["plan_digest"]
    assert world.offsets() == {}
    with pytest.raises(PlanChanged):
        world.failover().resume(digest="another")
    assert world.failover().resume().state == "awaiting approval"
    done = world.failover(owner="boss").resume(digest=digest).to_json()
    assert (done["state"], done["begun_by"], done["approved_by"]) == ("closed", "ops", "boss")
    assert world.offsets() == {"app": {PART: 61}, "idle": {PART: 101}}


def test_offsets_moved_between_plan_and_apply(world: FailoverWorld) -> None:
    """Somebody who commits on the target meanwhile is found out, with both values, and nothing is written."""
    digest = world.failover().start(order()).to_json()["plan_digest"]
    world.pair.eu.commit_offsets("idle", {PART: 7})
    with pytest.raises(PlanChanged) as caught:
        world.failover().resume(digest=digest)
    assert "idle" in str(caught.value)
    assert "stands at 7 on the target, approved was None" in str(caught.value)
    assert world.offsets() == {"idle": {PART: 7}}
    assert world.failover().rollback().state == "rolled back"
    assert world.is_runnable()


def test_active_group_keeps_nobody_back(world: FailoverWorld) -> None:
    """K05: a group with a member on the target is passed over by name, the others go on."""
    world.set_target("app", 30, members=("c1@host",))
    report = world.failover().start(order(), approve=True)
    assert report.state == "closed"
    assert world.offsets() == {"app": {PART: 30}, "idle": {PART: 101}}
    assert report.not_moved == ("group app: active on target, skipped (1 member(s): c1@host)",)


def test_group_further_on_the_target(world: FailoverWorld) -> None:
    """Its place is where it stands on the source, or records would be skipped; what it had is told before."""
    world.set_target("app", 90)
    preview = world.failover().preview(order()).to_json()
    assert next(row for row in preview["groups"] if row["group"] == "app")["before"] == 90
    world.failover().start(order(), approve=True)
    assert world.offsets()["app"] == {PART: 61}


def test_one_group_moves_and_the_flow_goes_on(world: FailoverWorld) -> None:
    """The source stays active; later runs mirror, and never write the group that has moved."""
    report = world.failover().start(order(groups=("app",)), approve=True)
    assert report.to_json()["active_side"] == "source"
    assert world.offsets() == {"app": {PART: 61}}
    world.pair.eu.commit_offsets("app", {PART: 80})
    world.commit("app", 20)
    world.produce(5)
    world.run(sync_group_offsets=True, allow_rewind=True)
    assert world.offsets()["app"] == {PART: 80}
    assert world.offsets()["idle"] == {PART: 102}
    rest = world.failover().start(order(), approve=True).to_json()
    assert {row["group"] for row in rest["groups"]} == {"idle"}
    assert world.offsets()["app"] == {PART: 80}


def test_group_after_group_without_a_source(world: FailoverWorld) -> None:
    """After the first one the target is active, and others may follow."""
    world.unplanned().start(order(Mode.UNPLANNED, groups=("app",)), approve=True)
    assert world.gate().active_side is ActiveSide.TARGET
    world.unplanned().start(order(Mode.UNPLANNED, groups=("idle",)), approve=True)
    assert world.offsets() == {"app": {PART: 61}, "idle": {PART: 101}}
    with pytest.raises(FailoverRefused):
        world.unplanned().start(order(Mode.UNPLANNED), approve=True)


def test_somebody_still_writes(world: FailoverWorld) -> None:
    """A planned failover refuses to leave records behind; it is open then, and rolled back all is as before."""
    failover = world.failover()
    failover.tick = lambda: world.produce(1)
    with pytest.raises(SourceNotQuiet):
        failover.start(order(), approve=True)
    status = world.failover().status()
    assert (status.state, status.steps[2].state.value) == ("running", "failed")
    with pytest.raises(FailoverUnderWay):
        world.failover(owner="another").start(order())
    world.failover().rollback()
    assert world.is_runnable()
    assert world.offsets() == {}


def test_somebody_still_reads(world: FailoverWorld) -> None:
    """A group with members on the source stops a planned failover; forced it goes on, and says what that means."""
    world.pair.us.said["app"] = FakeGroup(members=("c1@host",))
    with pytest.raises(GroupsStillActive) as caught:
        world.failover().start(order(), approve=True)
    assert "app (c1@host)" in str(caught.value)
    world.failover().rollback()
    report = world.failover().start(order(force=True), approve=True)
    assert report.steps[2].detail["active"] == ["app"]


def test_unknown_group(world: FailoverWorld) -> None:
    """It is refused with what is much like it, and nothing is begun."""
    with pytest.raises(NotOfTheFlow) as caught:
        world.failover().preview(order(groups=("aap",)))
    assert "(much like it: app)" in str(caught.value)


def test_other_flow_on_this_target(world: FailoverWorld) -> None:
    """A flow that was renamed has no state; one whose aliases changed is another one."""
    world.flow = world.flow.model_copy(update={"name": "renamed"})
    with pytest.raises(FlowNotPrepared):
        world.failover().start(order())
    world.flow = world.flow.model_copy(update={"name": "f", "replication_policy": "identity"})
    with pytest.raises(FlowChanged):
        world.failover().start(order())


def test_rollback_gives_back_what_was_there(world: FailoverWorld) -> None:
    """After step 7: a group that had offsets has them again, one that had none is gone."""
    other = TopicPartition("theirs", 0)
    world.pair.eu.create_topic("theirs", 1)
    world.pair.eu.commit_offsets("app", {other: 5})
    world.pair.eu.commit_offsets("kept", {other: 1})
    before = world.offsets()
    failover = world.failover()
    failover.report = lambda line: world.die(line, "step 8")
    with pytest.raises(RuntimeError):
        failover.start(order(), approve=True)
    assert world.offsets() == {"app": {PART: 61, other: 5}, "idle": {PART: 101}, "kept": {other: 1}}
    assert world.failover().rollback().state == "rolled back"
    assert world.offsets() == before
    assert world.is_runnable()


def test_rollback_overwrites_nobody(world: FailoverWorld) -> None:
    """A group that somebody went on with on the target keeps what it has, and that is told."""
    failover = world.failover()
    failover.report = lambda line: world.die(line, "step 8")
    with pytest.raises(RuntimeError):
        failover.start(order(), approve=True)
    world.pair.eu.commit_offsets("app", {PART: 70})
    report = world.failover().rollback().to_json()
    assert "stands at 70 and was set to 61" in report["results"]["app"]["undone"]
    assert world.offsets() == {"app": {PART: 70}}


def test_freeze_that_fails_before_the_gate_is_written(world: FailoverWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the gate was is known all the same: rolled back it is open, and so is the way to a new failover."""
    given = fail_first_freeze(monkeypatch)
    with pytest.raises(ClusterUnreachable):
        world.failover().start(order(), approve=True)
    assert given
    assert world.failover().status().steps[4].state.value == "failed"
    assert world.failover().rollback().state == "rolled back"
    assert world.is_runnable()
    fail_first_freeze(monkeypatch)
    with pytest.raises(ClusterUnreachable):
        world.failover().start(order(), approve=True)
    assert world.failover().resume(approve=True).state == "closed"
    assert world.offsets() == {"app": {PART: 61}, "idle": {PART: 101}}


def fail_first_freeze(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Let the first write of a shut gate find no broker."""
    failed: list[bool] = []
    note = Journal.note

    def once(journal: Journal, step: StepNote, **options: Any) -> None:
        gate_record = options.get("gate_record")
        if gate_record is not None and gate_record.frozen and not failed:
            failed.append(True)
            raise ClusterUnreachable(alias="eu", servers="nowhere:1", seconds=1, problem="gone")
        note(journal, step, **options)

    monkeypatch.setattr(Journal, "note", once)
    return failed


def test_false_alarm(world: FailoverWorld) -> None:
    """It is taken back with a second word, the digest; mirror runs go on and write groups that had moved again."""
    digest = world.unplanned().start(order(Mode.UNPLANNED), approve=True).to_json()["plan_digest"]
    assert world.unplanned().reopen().state == "closed"
    with pytest.raises(PlanChanged):
        world.unplanned().reopen(digest="another")
    assert world.unplanned().reopen(digest=digest).state == "reopened"
    world.produce(5)
    world.commit("app", 104)
    world.run(sync_group_offsets=True)
    assert world.offsets()["app"] == {PART: 106}


def test_no_false_alarm_any_more(world: FailoverWorld) -> None:
    """Once somebody has written on the target it cannot be taken back, and how many records there are is told."""
    world.unplanned().start(order(Mode.UNPLANNED), approve=True)
    world.pair.eu.produce("us.orders", 0, Message(key=b"k", value=b"new"))
    with pytest.raises(NotReopenable) as caught:
        world.unplanned().reopen()
    assert "us.orders-0 has 1 record(s) that the mirror did not write" in str(caught.value)
    assert world.gate().active_side is ActiveSide.TARGET
