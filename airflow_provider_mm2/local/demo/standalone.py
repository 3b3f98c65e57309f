"""A real Airflow in a folder: ``airflow standalone`` on a free port, with a database of its own, ended for certain."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.demo.errors import AirflowNotReady
from airflow_provider_mm2.local.ports import pick_ports
from airflow_provider_mm2.local.spec import HOST
from airflow_provider_mm2.local.wait import poll

USER = "admin"
CALL_LIMIT_S = 60.0


class StandaloneAirflow:
    """Airflow with all its parts, kept in a folder: its home is ``airflow`` in it, its DAGs in ``airflow/dags``.

    Everything it starts carries the folder's mark; a guard of the folder (see ``local/guard.py``) ends it too.

    :param settings: variables of Airflow that win over the ones chosen here.
    """

    def __init__(self, folder: Path, *, settings: Mapping[str, str] | None = None) -> None:
        self.home = folder / "airflow"
        self.log_file = self.home / "standalone.log"
        # Three free ports: the page, and the two that serve task logs.
        self._ports = pick_ports(1)[0]
        self._settings = dict(settings or {})

    @property
    def url(self) -> str:
        """Where its page and its REST API are."""
        return f"http://{HOST}:{self._ports.client}"

    @property
    def pid(self) -> int:
        """Process id of ``airflow standalone``, which leads a session of its own."""
        return self._process.pid

    @property
    def dags_folder(self) -> Path:
        """Files in it are there when Airflow starts."""
        return self.home / "dags"

    @property
    def environment(self) -> dict[str, str | None]:
        """All variables that differ from those of this process; its own settings of Airflow are taken away."""
        # Its parts are started as "airflow": find the one of this interpreter's environment.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        inherited = [name for name in os.environ if name.startswith(("AIRFLOW", "_AIRFLOW", "MM2_FLOWS"))]
        return {
            **dict.fromkeys(inherited),
            **processes.mark_for_all(self.home),
            # Airflow's parts rename themselves, and the new name is written over their variables unless told not to.
            "SPT_NOENV": "1",
            "PATH": path,
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.dags_folder),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            # Idle workers cost 30 MB each; Airflow keeps 32.
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "30",  # a supervisor ends its task when answers are late
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.home}/airflow.db?timeout=60",
            "AIRFLOW__API__HOST": HOST,
            "AIRFLOW__API__PORT": str(self._ports.client),
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(self._ports.internal),
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(self._ports.controller),
            "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.2",
            **self._settings,
        }

    def launch(self) -> None:
        """Start it and return at once."""
        self.dags_folder.mkdir(parents=True, exist_ok=True)
        program = [sys.executable, "-m", "airflow", "standalone"]
        self._process = processes.launch(program, log_file=self.log_file, env=self.environment)

    def wait_ready(self, *, timeout_s: float = 300.0) -> AirflowApi:
        """Return when the database, the scheduler, the DAG processor and the triggerer are healthy.

        :raises AirflowNotReady: it ended, or the time is over.
        """
        seen: dict[str, str] = {}

        def healthy() -> bool:
            if self._process.poll() is not None:
                return True
            seen.update(self._health())
            return len(seen) > 1 and set(seen.values()) == {"healthy"}

        done = poll(healthy, timeout_s=timeout_s, interval_s=0.3)
        if self._process.poll() is not None:
            seen["standalone"] = f"ended with exit code {self._process.returncode}"
            done = False
        if not done:
            reason = ", ".join(f"{part}: {state}" for part, state in seen.items()) or "no answer"
            raise AirflowNotReady(what="a healthy Airflow", timeout_s=timeout_s, reason=reason, log_file=self.log_file)
        return AirflowApi(self)

    def _health(self) -> dict[str, str]:
        try:
            answer = httpx.get(f"{self.url}/api/v2/monitor/health", timeout=5)
        except httpx.HTTPError:  # it does not listen yet
            return {}
        if answer.status_code != httpx.codes.OK:
            return {"api": f"status {answer.status_code}"}
        return {part: str(found.get("status")) for part, found in answer.json().items()}

    @property
    def password(self) -> str:
        """What Airflow made up for its one user at the first start."""
        file = self.home / "simple_auth_manager_passwords.json.generated"
        return str(json.loads(file.read_text(encoding="utf-8"))[USER])

    def stop(self) -> None:
        """End every process of it; the folder stays."""
        processes.end(self.home, grace_s=5.0)
        # One that was just starting another got its signal before the other was there to be seen.
        processes.end(self.home, grace_s=0)

    def delete(self) -> None:
        """Remove its folder."""
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self) -> StandaloneAirflow:
        """Start it and return at once; ``wait_ready`` waits."""
        self.launch()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a DAG; ``date`` is the day it is for."""

    id: str
    date: str
    state: str

    @property
    def ended(self) -> bool:
        """Whether it came to its end, good or bad."""
        return self.state in ("success", "failed")


class AirflowApi:
    """The few calls of Airflow's REST API that the demo makes, as its one user."""

    def __init__(self, airflow: StandaloneAirflow) -> None:
        self._airflow = airflow
        self._client = httpx.Client(base_url=airflow.url, timeout=60)
        login = {"username": USER, "password": airflow.password}
        token = self._call("POST", "/auth/token", json=login).json()["access_token"]
        self._client.headers["Authorization"] = f"Bearer {token}"

    def wait_for_dag(self, dag_id: str, *, timeout_s: float = 60.0) -> None:
        """Return when Airflow has read the DAG's file.

        :raises AirflowNotReady: the time is over, or the file cannot be imported.
        """
        known = poll(lambda: self._knows(dag_id) or bool(self._faults()), timeout_s=timeout_s, interval_s=0.3)
        faults = self._faults()
        if faults or not known:
            reason = "; ".join(faults) or "its file was not read"
            raise self._not_ready(f"the DAG {dag_id}", timeout_s, reason)

    def backfill(self, dag_id: str, *, first: str, last: str) -> None:
        """Ask for one run for each date of a paused DAG's schedule between two, one after the other, and unpause it.

        In this order: a creation that met a locked database takes its runs back before it is tried again, and a
        scheduler of 3.3.2 that has begun one of them ends with ``ObjectDeletedError``.
        """
        body = {"dag_id": dag_id, "from_date": first, "to_date": last, "max_active_runs": 1}
        self._call("POST", "/api/v2/backfills", json=body)
        self._call("PATCH", f"/api/v2/dags/{dag_id}", json={"is_paused": False})

    def runs(self, dag_id: str) -> list[Run]:
        """Give the runs of a DAG in the order of their dates."""
        found = self._call("GET", f"/api/v2/dags/{dag_id}/dagRuns?limit=100&order_by=logical_date").json()["dag_runs"]
        return [Run(id=run["dag_run_id"], date=run["logical_date"][:10], state=run["state"]) for run in found]

    def result(self, dag_id: str, run: Run, task_id: str) -> Any:
        """Give what a task of a run returned."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run.id}/taskInstances/{task_id}/xcomEntries/return_value"
        return self._call("GET", path).json()["value"]

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _knows(self, dag_id: str) -> bool:
        found = self._call("GET", f"/api/v2/dags?dag_id_pattern={dag_id}").json()["dags"]
        return any(dag["dag_id"] == dag_id for dag in found)

    def _faults(self) -> list[str]:
        found = self._call("GET", "/api/v2/importErrors").json()["import_errors"]
        return [f"{fault['filename']}: {fault['stack_trace'].strip().splitlines()[-1]}" for fault in found]

    def _call(self, method: str, path: str, *, json: object = None) -> httpx.Response:
        """Make a call, again and again while the server is too busy to answer it.

        :raises AirflowNotReady: it refused the call, or was too busy for a minute.
        """
        refusals: list[str] = []

        def answered() -> httpx.Response | None:
            try:
                answer = self._client.request(method, path, json=json)
            except httpx.TransportError as error:
                refusals.append(str(error) or type(error).__name__)
                return None
            if not answer.is_success:
                refusals.append(f"status {answer.status_code}: {answer.text[:200]}")
            # SQLite lets one write at a time: 500 and 503 say that the others took too long.
            return None if answer.is_server_error else answer

        answer = poll(answered, timeout_s=CALL_LIMIT_S, interval_s=0.5)
        if answer is None or not answer.is_success:
            raise self._not_ready(f"an answer to {method} {path}", CALL_LIMIT_S, refusals[-1])
        return answer

    def _not_ready(self, what: str, timeout_s: float, reason: str) -> AirflowNotReady:
        return AirflowNotReady(what=what, timeout_s=timeout_s, reason=reason, log_file=self._airflow.log_file)
