"""The DAG of failovers under a real Airflow: a person says yes, says no, says nothing; and tasks are cleared."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_mm2.local.demo.errors import AirflowNotReady
from airflow_provider_mm2.local.demo.standalone import AirflowApi, Run, StandaloneAirflow
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.local.wait import poll
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.contract.lab import Side
from tests.contract.real_lab import RealLab
from tests.dags.failover_world import MirroredFlow

pytestmark = [pytest.mark.airflow, pytest.mark.broker]

ROOT = Path(__file__).parents[2]
LIMIT_S = 300.0
DAG_ID, IMPATIENT = "mm2_failover", "mm2_failover_impatient"
IMPATIENT_FILE = f'''"""An Airflow DAG."""
from datetime import timedelta

from airflow_provider_mm2.failover_dag import load_failover_dag

load_failover_dag(
    globals(),
    dag_id="{IMPATIENT}",
    assigned_users=[{{"id": "boss", "name": "The boss"}}],
    response_timeout=timedelta(seconds=15),
)
'''


@pytest.fixture
def lab(pair: LocalPair) -> Iterator[RealLab]:
    """Give hands and eyes on both clusters."""
    real = RealLab(pair.addresses)
    yield real
    real.close()


class Api(AirflowApi):
    """What a person does on Airflow's pages, for one run of the DAG of failovers."""

    dag_id: str
    run_id: str

    def __init__(self, airflow: StandaloneAirflow) -> None:
        super().__init__(airflow)
        self._log_file = airflow.log_file

    def begin(self, dag_id: str, **params: Any) -> None:
        """Start the run, with the answers of the form."""
        self.wait_for_dag(dag_id, timeout_s=LIMIT_S)
        self.dag_id = dag_id
        body = {"logical_date": None, "conf": {"quiet_s": 0, "stop_wait_s": 0, **params}}
        self.run_id = str(self._call("POST", f"/api/v2/dags/{dag_id}/dagRuns", json=body).json()["dag_run_id"])

    @property
    def _run(self) -> str:
        return f"/api/v2/dags/{self.dag_id}/dagRuns/{self.run_id}"

    @property
    def _question(self) -> str:
        return f"{self._run}/taskInstances/approval/-1/hitlDetails"

    def states(self) -> dict[str, str]:
        """State of each task."""
        found = self._call("GET", f"{self._run}/taskInstances").json()["task_instances"]
        return {task["task_id"]: str(task["state"]) for task in found}

    def tries(self) -> dict[str, int]:
        """How often each task was tried."""
        found = self._call("GET", f"{self._run}/taskInstances").json()["task_instances"]
        return {task["task_id"]: task["try_number"] for task in found}

    def xcom(self, task_id: str) -> dict[str, Any]:
        """What a task returned."""
        found: dict[str, Any] = self.result(self.dag_id, Run(id=self.run_id, date="", state=""), task_id)
        return found

    def question(self) -> dict[str, Any]:
        """Wait until the person is asked and the scheduler knows it, and give what is shown.

        An answer that comes before the scheduler has heard of the end of the asking process is taken for a task that
        was killed, and Airflow fails it. No person is so fast.
        """
        assert poll(self._asked, timeout_s=LIMIT_S, interval_s=0.5), self.states()
        found: dict[str, Any] = self._call("GET", self._question).json()
        return found

    def _asked(self) -> bool:
        if self.states()["approval"] not in ("awaiting_input", "deferred"):
            return False
        heard = (
            rf"TaskInstance Finished: dag_id={self.dag_id}, task_id=approval, run_id={re.escape(self.run_id)}, "
            rf".*\bstate=(awaiting_input|deferred), .*\btry_number={self.tries()['approval']}\b"
        )
        return re.search(heard, self._log_file.read_text(encoding="utf-8", errors="replace")) is not None

    def answer(self, option: str) -> None:
        """Answer the question."""
        self._call("PATCH", self._question, json={"chosen_options": [option], "params_input": {}})

    def clear(self, *task_ids: str) -> None:
        """Clear tasks, and wait until they have begun anew."""
        before = self.tries()
        body = {
            **{"dry_run": False, "dag_run_id": self.run_id, "task_ids": list(task_ids), "only_failed": False},
            **{"include_downstream": False, "reset_dag_runs": True},
        }
        self._call("POST", f"/api/v2/dags/{self.dag_id}/clearTaskInstances", json=body)

        def begun() -> bool:
            tries = self.tries()
            return all(tries[task] > before[task] for task in task_ids)

        assert poll(begun, timeout_s=LIMIT_S, interval_s=0.3), self.tries()

    def wait(self, task_id: str, *states: str) -> None:
        """Wait for the end of a task."""
        assert poll(lambda: self.states()[task_id] in states, timeout_s=LIMIT_S, interval_s=0.3), self.states()

    def end(self) -> str:
        """Wait for the run's end, and give its state."""
        ended = poll(lambda: self._call("GET", self._run).json()["state"] in ("success", "failed"), timeout_s=LIMIT_S)
        assert ended, self.states()
        return str(self._call("GET", self._run).json()["state"])


@pytest.mark.slow
def test_yes_no_and_nothing(lab: RealLab, pair: LocalPair, kafka_folder: Path) -> None:
    """Approved it goes on to the end, refused or unanswered it is rolled back; every task may run again."""
    yes, no, nothing = (MirroredFlow(lab, pair) for _ in range(3))
    settings = {"AIRFLOW__CORE__UNIT_TEST_MODE": "False"}  # what tests.airflow_env sets for this process
    airflow = StandaloneAirflow(kafka_folder, settings=settings)
    airflow.dags_folder.mkdir(parents=True)
    shutil.copy(ROOT / "dags" / "mm2_failover.py", airflow.dags_folder)
    (airflow.dags_folder / "impatient.py").write_text(IMPATIENT_FILE)
    for flow in (yes, no, nothing):
        flow.write(airflow.dags_folder / "flows")
    with airflow:
        airflow.wait_ready(timeout_s=LIMIT_S).close()
        approved, refused, unanswered = (Api(airflow) for _ in range(3))
        approved.begin(DAG_ID, flow=yes.name)
        refused.begin(DAG_ID, flow=no.name)
        unanswered.begin(IMPATIENT, flow=nothing.name, mode="unplanned")
        see_that_only_the_boss_may(unanswered)
        say_yes(approved, yes)
        say_no(refused, no)
        say_nothing(unanswered, nothing)
        given_up = Api(airflow)
        give_up(given_up, no)
        for api in (approved, refused, unanswered, given_up):
            api.close()


def say_yes(api: Api, flow: MirroredFlow) -> None:
    """The numbers are shown; ``plan`` and the question may be repeated; in the end everything may."""
    shown = api.question()
    plan = api.xcom("plan")
    assert shown["params"] == {}
    assert shown["subject"] == f"Fail over flow {flow.name}?"
    assert f"- digest of the plan: `{plan['digest']}`" in shown["body"]
    assert re.search(
        rf"^\| billing-{flow.topic} \| .* \| 20 \| - \| .*: 20 \| yes \| 10 \| 0 \| 0 \| 0 \|$", shown["body"], re.M
    )
    assert plan["state"] == "awaiting approval"
    assert flow.offsets() == {}
    api.clear("plan")
    api.wait("plan", "success")
    assert api.xcom("plan") == plan
    api.clear("approval")
    assert api.question()["body"] == shown["body"]
    api.answer("Approve")
    assert api.end() == "success", api.states()
    phases = dict.fromkeys(("plan", "apply", "repoint", "confirm"), "success")
    assert api.states() == {**phases, "approval": "success", "rollback": "skipped"}
    closed = api.xcom("confirm")
    assert (closed["state"], closed["digest"], closed["approved_by"]) == ("closed", plan["digest"], "admin")
    assert flow.offsets() == {"billing": 20, "audit": 30}
    steps = flow.failover().steps
    assert steps[7].by.startswith(f"{DAG_ID}/{api.run_id}/apply try 1 on ")

    for tasks in (["apply"], ["plan", "approval", "apply", "repoint", "confirm", "rollback"]):
        api.clear(*tasks)
        assert api.end() == "success", api.states()
        assert {name: api.states()[name] for name in phases} == phases
    assert api.xcom("apply")["state"] == "closed"
    assert api.states()["approval"] == "skipped"
    assert flow.failover().steps == steps


def say_no(api: Api, flow: MirroredFlow) -> None:
    """Nothing is applied, all is undone by itself; what is run again changes nothing."""
    api.question()
    api.answer("Reject")
    assert api.end() == "success", api.states()
    skipped = dict.fromkeys(("apply", "repoint", "confirm"), "skipped")
    assert api.states() == {"plan": "success", "approval": "success", **skipped, "rollback": "success"}
    assert flow.failover().state == "rolled back"
    api.clear("apply", "rollback")
    assert api.end() == "success", api.states()
    assert {name: api.states()[name] for name in ("apply", "rollback")} == {"apply": "skipped", "rollback": "success"}
    assert flow.offsets() == {}
    flow.mirror()


def give_up(api: Api, flow: MirroredFlow) -> None:
    """What is found is not what was approved: the task fails, and a person clears ``rollback``, which then runs."""
    api.begin(DAG_ID, flow=flow.name)
    api.question()
    group, part = f"billing-{flow.topic}", TopicPartition(f"us.{flow.topic}", 0)
    flow.lab.commit_offsets(Side.TARGET, group, {part: 3})
    api.answer("Approve")
    assert api.end() == "failed", api.states()
    assert (api.states()["apply"], api.tries()["apply"], api.states()["rollback"]) == ("failed", 1, "skipped")
    assert flow.offsets() == {"billing": 3}
    api.clear("rollback")
    api.wait("rollback", "success", "failed", "skipped")
    assert api.states()["rollback"] == "success"
    assert (flow.failover().state, flow.offsets()) == ("rolled back", {"billing": 3})
    flow.mirror()


def see_that_only_the_boss_may(api: Api) -> None:
    """Whoever is not among the assigned users is refused."""
    assert [user["id"] for user in api.question()["assigned_users"]] == ["boss"]
    with pytest.raises(AirflowNotReady, match="status 403"):
        api.answer("Approve")


def say_nothing(api: Api, flow: MirroredFlow) -> None:
    """The time is over: that is a no."""
    assert api.end() == "success", api.states()
    assert api.states()["rollback"] == "success"
    assert (flow.failover().state, flow.offsets()) == ("rolled back", {})
    flow.mirror()
