"""The connectors of a flow on a Connect cluster: put, looked at, paused, resumed, restarted, stopped, deleted.

Each action may be made again and then changes nothing. A connector that is not the flow's is never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.connect.connectors import PACKAGE, Connector, Part, name_of, parts_of
from airflow_provider_mm2.mirror.connect.difference import Change, changes_of, why_not_ours
from airflow_provider_mm2.mirror.connect.limits import told_differences
from airflow_provider_mm2.mirror.connect.neighbours import beside
from airflow_provider_mm2.mirror.connect.report import (
    FAILED,
    MISSING,
    RUNNING,
    ActionReport,
    ConnectorState,
    PutReport,
    StatusReport,
    TaskState,
    progress_of,
    shortened,
)
from airflow_provider_mm2.mirror.connect.rest import DOES, LONGEST_SAID, ConnectRest
from airflow_provider_mm2.mirror.connect.scrubbing import scrub, secrets_of
from airflow_provider_mm2.mirror.errors import (
    ConnectOnOtherCluster,
    ConnectorMissing,
    ConnectorNotOurs,
    ConnectorRefused,
    EndpointTooSlow,
    ExactlyOnceOff,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.web.waiting import wait_until

_EXACTLY_ONCE = "exactly.once.support"
IN_A_ROW = 4
"""Looks at a state, 0.2 s apart: workers tell states through a topic, so the old one may still be shown at first."""

_UNDER_WAY = frozenset({"UNASSIGNED", "RESTARTING"})


class Action(str, Enum):
    """What is done to connectors that are there."""

    PAUSE = "pause"
    RESUME = "resume"
    RESTART = "restart"
    STOP = "stop"
    DELETE = "delete"

    @property
    def lets_work(self) -> bool:
        """Whether connectors mirror after it."""
        return self in (Action.RESUME, Action.RESTART)


_LEADS_TO = {Action(verb): state for state, verb in DOES.items()}


@dataclass(frozen=True, kw_only=True)
class FlowConnectors:
    """A flow's connectors.

    :param secrets: settings whose secret values the worker may quote, beside those of the connectors themselves.
    """

    flow: MirrorFlow
    rest: ConnectRest
    secrets: tuple[Mapping[str, object], ...] = field(default=(), repr=False)

    @property
    def names(self) -> dict[str, Part]:
        """What its connectors are called, needed or not."""
        return {name_of(self.flow, part): part for part in Part}

    def there(self, tick: Tick) -> dict[str, dict[str, str]]:
        """Configurations of those that are there.

        :raises ConnectorNotOurs: one of their names belongs to somebody else.
        """
        return self._ours(self.rest.configs(tick))

    def plan(self, wanted: Sequence[Connector], *, target_cluster: Callable[[], str], tick: Tick) -> PutReport:
        """What would have to change for the connectors to be what they are to be; nothing is changed.

        The worker is asked about every configuration, so that nothing will be changed where one of them is refused.

        :param target_cluster: gives the id of the flow's target.
        :raises ConnectorNotOurs: one of their names belongs to somebody else.
        :raises ConnectOnOtherCluster: the worker does not write to the flow's target.
        :raises ExactlyOnceOff: the worker cannot do what ``delivery: exactly_once`` needs.
        :raises ConnectorRefused: the worker refuses a configuration.
        """
        every = self.rest.configs(tick)
        there = self._ours(every)
        self._check_cluster(target_cluster, tick)
        changes = changes_of(wanted, there, list(self.names))
        due = {each.name for each in changes if each.change in (Change.CREATE, Change.ALTER)}
        self._check_with_worker([each for each in wanted if each.name in due], tick)
        return PutReport(
            flow=self.flow.name,
            worker=self.rest.web.url,
            applied=False,
            changes=changes,
            differs=tuple(told_differences(self.flow)),
            warnings=tuple(beside(self.flow, every, self.names)),
        )

    def put(self, plan: PutReport, wanted: Sequence[Connector], *, tick: Tick) -> PutReport:
        """Do what a plan shows, connector after connector; killed in between, a new plan shows the rest.

        :raises EndpointTooSlow: a connector did not begin within the limit.
        """
        configs = {each.name: each.config for each in wanted}
        for each in plan.changes:
            if each.change is Change.DELETE:
                self.rest.delete(each.name, tick)
            elif each.change is not Change.NOTHING:
                config = configs[each.name]
                self.rest.change("PUT", each.name, "config", config, config, tick)
                self._await_begin(each.name, tick)
        return replace(plan, applied=True)

    def act(self, action: Action, *, apply: bool = True, missing_ok: bool = False, tick: Tick) -> ActionReport:
        """Bring the connectors into a state, and wait until they are in it.

        :param apply: without, only their states are told.
        :param missing_ok: those that are not there are passed over.
        :raises ConnectorMissing: one is not there, and is not to be deleted.
        :raises EndpointTooSlow: they did not come into the state within the limit.
        """
        there = self.there(tick)
        missing = [name for name in map(self._name, parts_of(self.flow)) if name not in there]
        if missing and action is not Action.DELETE and not missing_ok:
            raise ConnectorMissing(flow=self.flow.name, where=self.rest.web.url, names=tuple(missing))
        states = {name: (self.state_of(name, tick), "") for name in there}
        if apply:
            for name, (before, _) in states.items():
                self._ask(name, action, before, there[name], tick)
            if action is not Action.DELETE:
                self._await_tasks(list(there), _LEADS_TO.get(action), tick)
        after = {name: (before, self.state_of(name, tick)) for name, (before, _) in states.items()}
        return ActionReport(flow=self.flow.name, action=action.value, applied=apply, states=after)

    def status(self, tick: Tick) -> StatusReport:
        """How the connectors that the flow needs run, and how far they are."""
        there = self.there(tick)
        states = tuple(self._state(part, there, tick) for part in parts_of(self.flow))
        source = self._name(Part.SOURCE)
        offsets = self.rest.offsets(source, tick) if source in there else []
        progress = progress_of(offsets, self.flow.source.alias)
        return StatusReport(flow=self.flow.name, connectors=states, progress=progress)

    def _name(self, part: Part) -> str:
        return name_of(self.flow, part)

    def _ours(self, every: Mapping[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        found = {name: every[name] for name in self.names if name in every}
        for name, config in found.items():
            problem = why_not_ours(self.flow, PACKAGE + self.names[name].value, config)
            if problem is not None:
                raise ConnectorNotOurs(name=name, where=self.rest.web.url, flow=self.flow.name, problem=problem)
        return found

    def _check_cluster(self, target_cluster: Callable[[], str], tick: Tick) -> None:
        """MirrorMaker 2's records are written by the worker, whatever ``target.cluster.bootstrap.servers`` says."""
        worker, target = self.rest.worker(tick).get("kafka_cluster_id", ""), target_cluster()
        if worker != target:
            alias = self.flow.target.alias
            raise ConnectOnOtherCluster(where=self.rest.web.url, worker=worker, alias=alias, target=target)

    def _check_with_worker(self, connectors: Sequence[Connector], tick: Tick) -> None:
        plugins = self.rest.plugins(tick)
        classes = {each.name: each.config["connector.class"] for each in connectors}
        problems = [f"{name}: there is no class {one}" for name, one in classes.items() if one not in plugins]
        for each in connectors if not problems else ():
            for key, said in self.rest.validate(each.config["connector.class"], each.config, tick).items():
                text = self._scrubbed(" ".join(said), each.config)[:LONGEST_SAID]
                if key == _EXACTLY_ONCE:
                    raise ExactlyOnceOff(where=self.rest.web.url, said=text)
                problems.append(f"{each.name}: {key}: {text}")
        if problems:
            raise ConnectorRefused(where=self.rest.web.url, problems=tuple(problems))

    def _ask(self, name: str, action: Action, before: str, config: Mapping[str, str], tick: Tick) -> None:
        if action is Action.DELETE:
            self.rest.delete(name, tick)
        elif action is Action.RESTART:
            self.rest.change("POST", name, "restart?includeTasks=true&onlyFailed=false", None, config, tick)
        elif before != _LEADS_TO[action]:
            self.rest.change("PUT", name, action.value, None, config, tick)

    def _await_begin(self, name: str, tick: Tick) -> None:
        unknown = {MISSING, *_UNDER_WAY}
        if not wait_until(lambda: self.state_of(name, tick) not in unknown, tick, limit_s=self.rest.wait_s):
            raise EndpointTooSlow(where=self._where(name), seconds=self.rest.wait_s, problem="it does not begin")

    def _await_tasks(self, names: Sequence[str], wanted: str | None, tick: Tick) -> None:
        """Wait until all stay in a state for some looks; what is to run may also have failed, which is told."""
        looks: list[list[str]] = []

        def stay_so() -> bool:
            looks.append([name for name in names if not _is_settled(self.rest.status_if_any(name, tick), wanted)])
            return len(looks) >= IN_A_ROW and not any(looks[-IN_A_ROW:])

        if not wait_until(stay_so, tick, limit_s=self.rest.wait_s):
            problem = "it is not settled" if wanted is None else f"it is not {wanted}"
            where = self._where(next(iter(looks[-1]), names[0]))
            raise EndpointTooSlow(where=where, seconds=self.rest.wait_s, problem=problem)

    def _where(self, name: str) -> str:
        return f"connector {name} at {self.rest.web.url}"

    def state_of(self, name: str, tick: Tick) -> str:
        """The state of a connector of that name; ``MISSING``: nothing is known of it."""
        status = self.rest.status_if_any(name, tick)
        return MISSING if status is None else str(status["connector"]["state"])

    def _state(self, part: Part, there: Mapping[str, Mapping[str, str]], tick: Tick) -> ConnectorState:
        name = self._name(part)
        status = self.rest.status_if_any(name, tick) if name in there else None
        if status is None:
            return ConnectorState(name=name, part=part, state=MISSING)
        config = there[name]
        own = status["connector"]
        return ConnectorState(
            name=name,
            part=part,
            state=own["state"],
            worker=own.get("worker_id", ""),
            trace=self._trace(own, config),
            tasks=tuple(
                TaskState(
                    number=task["id"],
                    state=task["state"],
                    worker=task.get("worker_id", ""),
                    trace=self._trace(task, config),
                )
                for task in sorted(status["tasks"], key=lambda task: task["id"])
            ),
        )

    def _trace(self, status: Mapping[str, Any], config: Mapping[str, str]) -> str:
        return shortened(self._scrubbed(status.get("trace") or "", config))

    def _scrubbed(self, text: str, config: Mapping[str, str]) -> str:
        return scrub(text, secrets_of(config, *self.secrets))


def _is_settled(status: Mapping[str, Any] | None, wanted: str | None) -> bool:
    """Whether a connector and its tasks are in a state; None: in any, and on the way to none.

    :param status: None: the workers have not told of it yet.
    """
    if status is None:
        return False
    state, tasks = status["connector"]["state"], {task["state"] for task in status["tasks"]}
    if wanted is None:
        return not {state, *tasks} & _UNDER_WAY
    if wanted == RUNNING:
        return state in (RUNNING, FAILED) and tasks <= {RUNNING, FAILED}
    return bool(state == wanted) and (not tasks if wanted == "STOPPED" else tasks <= {wanted, FAILED})
