"""What all sensors have in common: the flow, looking, deferring, failing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from threading import Event
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.sdk import BaseSensorOperator, Context, PokeReturnValue

from airflow_provider_mm2.flow_argument import FlowGiven, airflow_failures, find_given_flow, refuse_secrets
from airflow_provider_mm2.hooks.cluster import connect_pair, pair_settings, refuse_plain_secrets
from airflow_provider_mm2.hooks.connect import flow_connectors
from airflow_provider_mm2.mirror.errors import WaitBroken
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.version_compat import AirflowFailException, AirflowSkipException, default_deferrable

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.conditions.condition import Condition
    from airflow_provider_mm2.mirror.conditions.finding import Finding


class FlowSensor(BaseSensorOperator):
    """Waits for something of a flow. Each look logs one line with the numbers; the last one's are the result.

    ``mode``, ``poke_interval``, ``timeout``, ``soft_fail``, ``never_fail`` and ``silent_fail`` are Airflow's and mean
    the same in all three modes. Deferred, a sensor looks every ``poke_interval`` seconds, without exponential
    back-off, and holds no worker. An error worth a retry fails the task plainly, unless ``silent_fail`` is set; any
    other fails it for good.

    :param flow: a ``MirrorFlow``, a mapping, the name of a flow in the folder of flows, or the path of its file.
        The folder is ``$MM2_FLOWS``, else ``flows/`` beside the DAG's file. (templated)
    :param source_conn_id: Airflow connection in place of what the flow says of its source. (templated)
    :param target_conn_id: the same for the target. (templated)
    :param deferrable: wait in the triggerer; None: as ``[operators] default_deferrable`` says.
    """

    template_fields: Sequence[str] = ("flow", "source_conn_id", "target_conn_id")
    ui_color = "#e6e3f2"

    _stop: Event | None = None
    _killed = False

    def __init__(
        self,
        *,
        flow: FlowGiven,
        source_conn_id: str | None = None,
        target_conn_id: str | None = None,
        deferrable: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        refuse_secrets(flow)
        self.flow = flow
        self.source_conn_id = source_conn_id
        self.target_conn_id = target_conn_id
        self.deferrable = default_deferrable() if deferrable is None else deferrable

    @abstractmethod
    def condition(self, context: Context) -> Condition:
        """What is waited for, from the arguments as they were rendered.

        :raises MirrorError: an argument cannot be meant.
        """

    def execute(self, context: Context) -> Any:
        """Wait here, or look once and defer."""
        self._stop = Event()
        if self._killed:
            self._stop.set()
        if not self.deferrable:
            return super().execute(context)
        with airflow_failures():
            flow, condition = self._resolved_flow(context), self.condition(context)
            refuse_plain_secrets(flow)
        if not condition.for_s:
            found = self._first_look(context)
            if found:
                return found.xcom_value
        self._defer(flow, condition)

    def poke(self, context: Context) -> PokeReturnValue:
        """One look; a condition that has to hold for a time is watched for it, as long as it does."""
        from airflow_provider_mm2.mirror.conditions.look import watch

        with airflow_failures():
            flow, condition = self._resolved_flow(context), self.condition(context)
            with closing(connect_pair(flow, pair_settings(flow), self.stop)) as pair:
                finding = watch(
                    condition,
                    flow,
                    pair,
                    stop=self.stop,
                    every_s=self.poke_interval,
                    report=self._tell,
                    connectors=flow_connectors(flow),
                )
        return PokeReturnValue(is_done=finding.met, xcom_value=dict(finding.facts) if finding.met else None)

    def on_kill(self) -> None:
        """Ask the look to stop; runs in a signal handler, so it only sets a flag."""
        self._killed = True
        if self._stop is not None:
            self._stop.set()

    @property
    def stop(self) -> Event:
        """Set when the task is to end."""
        if self._stop is None:
            self._stop = Event()
        return self._stop

    def execute_complete(self, context: Context, event: Mapping[str, Any] | None = None) -> Any:
        """What the trigger found, as the result or as the failure that it would have been here.

        :raises AirflowFailException: an error that no retry mends.
        :raises WaitBroken: an error that may pass.
        """
        if event is None or event.get("status") not in ("met", "failed"):
            raise AirflowFailException(f"the trigger gave {event!r}, which this sensor does not know")
        if event["status"] == "met":
            self.log.info("%s", event["text"])
            return dict(event["facts"])
        if not event["retriable"]:
            raise AirflowFailException(str(event["message"]))
        broken = WaitBroken(problem=str(event["message"]))
        if self.never_fail:
            raise AirflowSkipException("Skipping due to never_fail is set to True.") from broken
        raise broken

    def _first_look(self, context: Context) -> PokeReturnValue | None:
        """A look before deferring, failing as Airflow lets a poke fail."""
        try:
            return self.poke(context)
        except AirflowFailException as error:
            if self.soft_fail or self.never_fail:
                raise AirflowSkipException("Skipping due to soft_fail or never_fail is set to True.") from error
            raise
        except Exception as error:
            if self.silent_fail:
                self.log.exception("Sensor poke failed")
                return None
            if self.never_fail:
                raise AirflowSkipException("Skipping due to never_fail is set to True.") from error
            raise

    def _defer(self, flow: MirrorFlow, condition: Condition) -> NoReturn:
        from airflow_provider_mm2.mirror.conditions.condition import condition_to_json
        from airflow_provider_mm2.triggers.condition import ConditionTrigger

        trigger = ConditionTrigger(
            flow=flow.model_dump(mode="json", exclude_defaults=True, exclude={"dag"}),
            condition=condition_to_json(condition),
            poke_interval_s=self.poke_interval,
            silent_fail=self.silent_fail,
        )
        self.defer(trigger=trigger, method_name="execute_complete", timeout=timedelta(seconds=self.timeout))

    def _resolved_flow(self, context: Context) -> MirrorFlow:
        return find_given_flow(
            self.flow,
            dag_file=context["dag"].fileloc,
            source_conn_id=self.source_conn_id,
            target_conn_id=self.target_conn_id,
        )

    def _tell(self, finding: Finding) -> None:
        self.log.info("%s", finding.text)
