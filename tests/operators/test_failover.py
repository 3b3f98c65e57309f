"""The tasks of a failover on the in-memory pair: what each does, returns, refuses, and does when it runs again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_provider_mm2.mirror.errors import GroupsStillActive, Stopped
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.recovery.failover import Failover
from airflow_provider_mm2.mirror.state_model import ActiveSide
from airflow_provider_mm2.operators import failover as failover_module
from airflow_provider_mm2.operators.failover import FailoverOperator, RepointConsumersOperator
from airflow_provider_mm2.version_compat import AirflowFailException
from tests.fakes.groups import FakeGroup
from tests.mirror.recovery.failover_world import FailoverWorld, PairWithout
from tests.operators.task_context import task_context

PART = TopicPartition("us.orders", 0)
MOVED = {"app": {PART: 61}, "idle": {PART: 101}}
QUICK = {"quiet_s": 0, "stop_wait_s": 0}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> FailoverWorld:
    """Give a flow that has mirrored, and have the operators connect to its pair; without its source where told so."""
    made = FailoverWorld()

    def connect(flow: Any, settings: Any, stop: Any, *, target_only: bool = False) -> Any:
        return PairWithout(made) if target_only else made.pair

    monkeypatch.setattr(failover_module, "connect_pair", connect)
    return made


def context(run_id: str = "run-1", task_id: str = "plan") -> Any:
    """Make the context of a task of a run."""
    made = task_context()
    made["ti"].run_id, made["ti"].task_id, made["ti"].dag_id = run_id, task_id, "mm2_failover"
    return made


def do(world: FailoverWorld, phase: str, run_id: str = "run-1", **arguments: Any) -> dict[str, Any]:
    """Run the task of one phase."""
    more = {**QUICK, **arguments} if phase == "plan" else arguments
    task = FailoverOperator(**{"task_id": phase, "flow": world.flow, "phase": phase, **more})
    result: dict[str, Any] = task.execute(context(run_id, phase))
    json.dumps(result)
    return result


def test_phase_by_phase(world: FailoverWorld) -> None:
    """Each task leaves its steps done, returns the digest, and the record names run, task and approver."""
    plan = do(world, "plan")
    assert (plan["state"], plan["failover"], plan["positions"], plan["exact"]) == ("awaiting approval", 1, 2, 2)
    assert world.offsets() == {}
    digest = plan["digest"]
    applied = do(world, "apply", digest=digest, approved_by="boss")
    assert world.offsets() == MOVED
    assert applied["steps"]["canary"] == "done"
    assert applied["steps"]["repoint"] == "to do"
    assert do(world, "repoint", digest=digest)["steps"]["repoint"] == "done"
    closed = do(world, "confirm", digest=digest)
    assert (closed["state"], closed["active_side"], closed["digest"]) == ("closed", "target", digest)
    assert closed["approved_by"] == "boss"
    assert closed["begun_by"].startswith("mm2_failover/run-1/plan try 1 on ")
    steps = world.failover().status().steps
    assert steps[7].by.startswith("mm2_failover/run-1/apply try 1 on ")


def test_each_task_again(world: FailoverWorld) -> None:
    """A plan that awaits its approval gives the same numbers; the others change nothing, closed or not."""
    plan = do(world, "plan")
    assert do(world, "plan") == plan
    digest = plan["digest"]
    for phase in ("apply", "repoint", "confirm"):
        first = do(world, phase, digest=digest)
        world.pair.eu.commit_offsets("other", {PART: 1})
        assert do(world, phase, digest=digest) == first
    for phase in ("plan", "apply", "repoint", "confirm"):
        again = do(world, phase, digest=digest)
        assert (again["state"], again["digest"]) == ("closed", digest)
    assert world.offsets() == {**MOVED, "other": {PART: 1}}


def test_a_plan_that_runs_again_passes_no_approval(world: FailoverWorld) -> None:
    """Also where it was approved meanwhile, or died in the middle, it ends before step 7."""
    failover = world.failover(owner="mm2_failover/run-1/plan try 1 on host")
    failover.report = lambda line: world.die(line, "step 4")
    with pytest.raises(RuntimeError):
        failover.start(_order(world))
    digest = do(world, "plan")["digest"]
    world.failover().resume(digest=digest, until=6)
    assert do(world, "plan")["state"] == "running"
    assert world.offsets() == {}


def _order(world: FailoverWorld) -> Any:
    return FailoverOperator(task_id="plan", flow=world.flow, phase="plan", **QUICK)._order()


def test_another_runs_failover_is_left_alone(world: FailoverWorld) -> None:
    """A run that begins while one is open is refused with its owner; its phases refuse the digest they do not know."""
    digest = do(world, "plan")["digest"]
    with pytest.raises(AirflowFailException, match="begun by mm2_failover/run-1/plan"):
        do(world, "plan", run_id="run-2")
    for phase in ("apply", "rollback"):
        with pytest.raises(AirflowFailException, match="the digest given is another"):
            do(world, phase, run_id="run-2", digest="another")
    do(world, "apply", digest=digest)
    for phase in ("apply", "repoint", "confirm"):
        with pytest.raises(AirflowFailException):
            do(world, phase, run_id="run-2", digest="another")
    assert world.failover().status().state == "running"


def test_nothing_without_an_approval(world: FailoverWorld) -> None:
    """``apply`` wants a digest; what comes after it wants its steps; neither writes anything."""
    with pytest.raises(AirflowFailException, match="digest is refused"):
        do(world, "apply", digest="None")
    with pytest.raises(AirflowFailException, match="no failover of flow 'f' is open"):
        do(world, "apply", digest="any")
    digest = do(world, "plan")["digest"]
    for phase, step in (("repoint", "step 6 (approval)"), ("confirm", "step 6 (approval)")):
        with pytest.raises(AirflowFailException) as caught:
            do(world, phase, digest=digest)
        assert f"{step} is 'to do'" in str(caught.value)
    do(world, "apply", digest=digest)
    with pytest.raises(AirflowFailException, match=r"step 9 \(repoint\) is 'to do'"):
        do(world, "confirm", digest=digest)


def test_what_was_approved_is_what_is_applied(world: FailoverWorld) -> None:
    """Somebody commits on the target between the two: nothing is written, and no retry is made."""
    digest = do(world, "plan")["digest"]
    world.pair.eu.commit_offsets("idle", {PART: 7})
    with pytest.raises(AirflowFailException, match="stands at 7 on the target, approved was None"):
        do(world, "apply", digest=digest)
    assert world.offsets() == {"idle": {PART: 7}}


def test_rollback(world: FailoverWorld) -> None:
    """All is as before; the second time nothing is to be done; the run is over, another one begins anew."""
    digest = do(world, "plan")["digest"]
    do(world, "apply", digest=digest)
    assert do(world, "rollback", digest=digest)["state"] == "rolled back"
    assert do(world, "rollback", digest=digest)["state"] == "rolled back"
    assert world.offsets() == {}
    assert world.is_runnable()
    with pytest.raises(AirflowFailException, match="which this DAG run began, is rolled back"):
        do(world, "plan")
    second = do(world, "plan", run_id="run-2")
    assert (second["failover"], second["state"]) == (2, "awaiting approval")


def test_rollback_of_what_is_closed(world: FailoverWorld) -> None:
    """It does not look as if it had been undone: the task fails, and names the way back."""
    digest = do(world, "plan")["digest"]
    for phase in ("apply", "repoint", "confirm"):
        do(world, phase, digest=digest)
    with pytest.raises(AirflowFailException, match="--reopen"):
        do(world, "rollback", digest=digest)
    assert world.gate().active_side is ActiveSide.TARGET


def test_unplanned_never_speaks_to_the_source(world: FailoverWorld) -> None:
    """No phase asks for the source, nor for what its connection needs."""
    clusters = {"source": {"alias": "us", "settings": {"bootstrap.servers": "${NOT_SET_ANYWHERE}"}}}
    flow = {**world.flow.model_dump(mode="json", exclude_defaults=True), **clusters}
    digest = do(world, "plan", mode="unplanned", flow=flow)["digest"]
    for phase in ("apply", "repoint", "confirm"):
        do(world, phase, digest=digest, flow=flow)
    assert world.offsets() == MOVED
    again = do(world, "plan", mode="unplanned", flow=flow)
    assert again["state"] == "closed"


def test_rollback_of_an_unplanned_one(world: FailoverWorld) -> None:
    """The mode is that of the failover that is open, whatever the task was given."""
    do(world, "plan", mode="unplanned")
    world.pair.source = None  # type: ignore[assignment,misc]
    assert do(world, "rollback")["state"] == "rolled back"


def test_show_only(world: FailoverWorld) -> None:
    """``plan`` is a preview, every other phase shows what is recorded; nothing is written."""
    before = world.gate()
    preview = do(world, "plan", show_only="True")
    assert (preview["state"], preview["failover"], preview["positions"]) == ("preview", None, 2)
    digest = do(world, "plan")["digest"]
    for phase in ("apply", "repoint", "confirm", "rollback"):
        assert do(world, phase, digest=digest, show_only=True)["state"] == "awaiting approval"
    assert world.offsets() == {}
    do(world, "rollback")
    assert world.gate() == before


def test_some_groups(world: FailoverWorld) -> None:
    """Groups and topics come as sequences or as a JSON list; only they move, and the flow goes on."""
    assert do(world, "plan", groups='["app"]', topics=["orders"])["positions"] == 1
    digest = do(world, "plan", groups='["app"]')["digest"]
    for phase in ("apply", "repoint", "confirm"):
        do(world, phase, digest=digest)
    assert world.offsets() == {"app": {PART: 61}}
    assert world.is_runnable()


def test_a_group_that_is_left_fails_the_last_task(world: FailoverWorld) -> None:
    """K05: the others are moved and the failover is closed; the task names the group, and again when it is repeated."""
    world.set_target("app", 30, members=("c1@host",))
    digest = do(world, "plan")["digest"]
    assert do(world, "apply", digest=digest)["not_moved"] == [
        "group app: active on target, skipped (1 member(s): c1@host)"
    ]
    do(world, "repoint", digest=digest)
    for _ in range(2):
        with pytest.raises(AirflowFailException, match=r"closed without 1 group\(s\): group app: active on target"):
            do(world, "confirm", digest=digest)
    assert world.failover().status().state == "closed"
    assert world.offsets() == {"app": {PART: 30}, "idle": {PART: 101}}


def test_errors_worth_a_retry(world: FailoverWorld) -> None:
    """Somebody who still reads on the source may leave it; the task that is tried again goes on."""
    world.pair.us.said["app"] = FakeGroup(members=("c1@host",))
    with pytest.raises(GroupsStillActive):
        do(world, "plan")
    del world.pair.us.said["app"]
    assert do(world, "plan")["state"] == "awaiting approval"


def test_a_killed_task_leaves_at_once(world: FailoverWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed while it watches the source, it stops, on record, and goes on when it is run again."""
    task = FailoverOperator(task_id="plan", flow=world.flow, phase="plan", **{**QUICK, "quiet_s": 600})
    start = Failover.start

    def killed_soon(self: Failover, *arguments: Any, **more: Any) -> Any:
        self.report = lambda line: task.on_kill() if line.startswith("looking for") else None
        return start(self, *arguments, **more)

    monkeypatch.setattr(Failover, "start", killed_soon)
    with pytest.raises(Stopped):
        task.execute(context())
    assert world.failover().status().state == "running"
    assert do(world, "rollback")["state"] == "rolled back"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"mode": "sudden"}, "mode is refused: 'sudden' is neither planned nor unplanned"),
        ({"groups": "app"}, "groups is refused: 'app' is not a list of names; text has to be a JSON list"),
        ({"topics": "[1]"}, "topics is refused: '[1]' is not a list of names"),
        ({"quiet_s": "soon"}, "quiet_s is refused: 'soon' is not a whole number of seconds"),
        ({"stop_wait_s": -1}, "stop_wait_s is refused: -1 is not"),
        ({"confirm_wait_s": "1.5"}, "confirm_wait_s is refused: '1.5' is not"),
        ({"force": "maybe"}, "force is refused: 'maybe' is neither true nor false"),
        ({"show_only": "?"}, "show_only is refused: '?' is neither true nor false"),
        ({"groups": ["aap"]}, "has no group aap (much like it: app)"),
    ],
)
def test_refused_arguments(world: FailoverWorld, arguments: dict[str, Any], told: str) -> None:
    """What a template made of an argument is refused by name, for good, and nothing is begun."""
    with pytest.raises(AirflowFailException) as caught:
        do(world, "plan", **arguments)
    assert told in str(caught.value)
    if "groups" not in arguments:
        assert world.failover().status().state == "none"


def test_a_phase_that_does_not_exist() -> None:
    """A misspelt phase is told while the DAG is parsed."""
    with pytest.raises(ValueError, match="aply"):
        FailoverOperator(task_id="x", flow="f", phase="aply")


def test_repoint_alone(world: FailoverWorld) -> None:
    """The operator for step 9 does it and nothing before it: an earlier step that is missing is named."""
    task = RepointConsumersOperator(task_id="repoint", flow=world.flow)
    with pytest.raises(AirflowFailException, match="no failover"):
        task.execute(context())
    digest = do(world, "plan")["digest"]
    with pytest.raises(AirflowFailException, match="phase 'repoint' of the failover"):
        task.execute(context())
    do(world, "apply", digest=digest)
    assert task.execute(context())["steps"]["repoint"] == "done"
    assert task.execute(context())["state"] == "running"


def test_the_text_for_the_approval(world: FailoverWorld) -> None:
    """It shows each position with all that counts, the digest and the loss window, and no name breaks the table."""
    world.commit("a|b *c*", 100)
    world.set_target("app", 30, members=("c1@host",))
    made = context()
    task = FailoverOperator(task_id="plan", flow=world.flow, phase="plan", **QUICK)
    digest = task.execute(made)["digest"]
    text = made["ti"].pushed["approval"]
    lines = text.splitlines()
    assert f"- digest of the plan: `{digest}`" in lines
    assert lines[0] == "**planned failover of flow f: awaiting approval**"
    assert "- may not be on the target: nothing: the source stood still, and was mirrored to its end" in lines
    assert "- the target becomes the active side, and mirror runs of the flow end with an error" in lines
    assert "- 1 group(s) have members on the target and are not moved unless they leave: app" in lines
    assert "| app | orders-0 | 60 | 30 | us.orders: 61 | yes | 40 | 0 | 0 | 1 |" in lines
    assert r"| a\|b \*c\* | orders-0 | 100 | - | us.orders: 101 | yes | 0 | 0 | 0 | 0 |" in lines


def test_many_groups_stay_within_bounds(world: FailoverWorld) -> None:
    """All are counted, some are listed, in the result and in the text."""
    for number in range(300):
        world.commit(f"group-{number:03}", 50)
    made = context()
    result = FailoverOperator(task_id="plan", flow=world.flow, phase="plan", **QUICK).execute(made)
    assert (result["groups"], len(result["listed"]), result["left_out"]) == (302, 200, 102)
    assert len(json.dumps(result)) < 100_000
    assert "102 more: `mm2 failover f --status` lists all." in made["ti"].pushed["approval"]
