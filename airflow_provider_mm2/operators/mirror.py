"""The tasks of a mirror run: plan, mirror (one a shard), assets, finish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, AssetAlias, BaseOperator, Context, TriggerRule

from airflow_provider_mm2.flow_argument import airflow_failures
from airflow_provider_mm2.mirror.errors import ShardUnknown, TasksFailed
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.operators.flow_task import FlowOperator
from airflow_provider_mm2.operators.progress import ProgressLog
from airflow_provider_mm2.version_compat import task_states

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
    from airflow_provider_mm2.mirror.interval.bounds import RunBounds


class MirrorPlanOperator(FlowOperator):
    """Make the target ready (step 0) and give the shards to map over.

    Returns the shard numbers, the same list for the same flow, so that retries map alike. A summary of the
    preparation is in XCom under ``plan``.
    """

    ui_color = "#e3edd8"

    def work(self, flow: MirrorFlow, pair: ClusterPair, bounds: RunBounds, context: Context) -> list[int]:
        """Prepare; the numbers are those of the recorded layout, at most ``flow.shards``."""
        from airflow_provider_mm2.mirror.run import prepare

        prepared = prepare(flow, pair, bounds=bounds, owner=self.attempt(context), stop=self.stop)
        for source, target in list(prepared.topics.items())[:100]:
            self.log.info("%s -> %s", source, target)
        summary = prepared.to_json()
        self.log.info("ready: %s topics, %s shards, created %s", summary["topics"], prepared.shards, summary["created"])
        context["ti"].xcom_push(key="plan", value=summary)
        return list(range(prepared.shards))


class MirrorIntervalOperator(FlowOperator):
    """Mirror everything from the recorded progress up to the run's end, exactly once.

    A retry, a second run over the same interval or a cleared task finds the progress on the target and copies only
    what is missing. Returns a bounded summary: totals, and partitions and topics as far as they fit.

    :param shard: number of the shard to mirror, from the plan task's list; None mirrors all, one after another.
    """

    template_fields: Sequence[str] = (*FlowOperator.template_fields, "shard")

    def __init__(self, *, shard: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.shard = shard

    def work(self, flow: MirrorFlow, pair: ClusterPair, bounds: RunBounds, context: Context) -> dict[str, Any]:
        """Prepare (which changes nothing the second time) and copy."""
        from airflow_provider_mm2.mirror.run import mirror_shard, prepare
        from airflow_provider_mm2.operators.summary import shard_summary

        owner = self.attempt(context)
        prepared = prepare(flow, pair, bounds=bounds, owner=owner, stop=self.stop)
        report = ProgressLog(self.log)
        results = [
            mirror_shard(
                flow, pair, shard, prepared=prepared, bounds=bounds, stop=self.stop, report=report, owner=owner
            )
            for shard in _shards(self.shard, prepared.shards)
        ]
        topics = pair.source.describe_topics(list(prepared.topics))
        summary = shard_summary(flow, bounds, results, {name: info.partitions for name, info in topics.items()})
        for warning in summary["warnings"]:
            self.log.warning("%s", warning)
        self.log.info(
            "%s: %s records, %s bytes in %s transactions, %s s",
            "already complete" if summary["already_complete"] else "mirrored",
            summary["records"],
            summary["bytes"],
            summary["transactions"],
            summary["seconds"],
        )
        return summary


class MirrorAssetsOperator(BaseOperator):
    """Say which topics are mirrored, and through which offsets and time, as events of ``kafka://<target>/<topic>``.

    It runs whatever became of the shards and tells of the topics whose partitions were all mirrored. It is a task of
    its own, since Airflow drops the events of a task that fails, and the ``finish`` task has to.

    :param results: output of the mirror task.
    :param alias: name of the asset alias that carries the events.
    """

    template_fields: Sequence[str] = ("results",)
    ui_color = "#f2e6d5"

    def __init__(self, *, results: Any, alias: str, **kwargs: Any) -> None:
        super().__init__(**{"trigger_rule": TriggerRule.ALL_DONE, "retries": 0, **kwargs})
        self.results = results
        self.alias = AssetAlias(alias)
        self.outlets = [*self.outlets, self.alias]

    def execute(self, context: Context) -> int:
        """Emit the events; returns how many."""
        from airflow_provider_mm2.operators.summary import topic_events

        results = _as_list(self.results)
        events, partly = topic_events(results, all_succeeded=not _unsuccessful(self, context))
        for uri, extra in events.items():
            context["outlet_events"][self.alias].add(Asset(uri), extra=extra)
            self.log.info("%s is mirrored through %s", uri, extra["mirrored_through"])
        for uri in partly:
            self.log.warning("no event for %s: one of its shards failed", uri)
        left_out = sum(result["topics_left_out"] for result in results)
        if left_out:
            self.log.warning("no event for %s topics that did not fit into the shards' results", left_out)
        return len(events)


class MirrorFinishOperator(BaseOperator):
    """The end of a run, whatever became of its tasks: fails when any of those before it did not succeed.

    Without it Airflow takes a run with a failed shard for a success, since only the last tasks count.

    :param results: output of the mirror task.
    """

    template_fields: Sequence[str] = ("results",)
    ui_color = "#f2e6d5"

    def __init__(self, *, results: Any, **kwargs: Any) -> None:
        super().__init__(**{"trigger_rule": TriggerRule.ALL_DONE, "retries": 0, **kwargs})
        self.results = results

    def execute(self, context: Context) -> dict[str, Any]:
        """Add up the shards' totals; returns them.

        :raises AirflowFailException: a task before this one did not succeed; it names them.
        """
        results = _as_list(self.results)
        totals = {name: sum(result[name] for result in results) for name in ("records", "bytes", "transactions")}
        self.log.info("mirrored %(records)s records, %(bytes)s bytes in %(transactions)s transactions", totals)
        with airflow_failures():
            failed = _unsuccessful(self, context)
            if failed:
                raise TasksFailed(tasks=failed)
        return {**totals, "already_complete": totals["records"] == 0}


def _shards(given: int | str | None, recorded: int) -> Sequence[int]:
    """The shards that a task mirrors.

    :raises ShardUnknown: the recorded layout has no such shard.
    """
    if given is None:
        return range(recorded)
    if str(given) not in {str(number) for number in range(recorded)}:
        raise ShardUnknown(shard=str(given), shards=recorded)
    return [int(given)]


def _as_list(results: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None) -> list[Mapping[str, Any]]:
    """Results of a mapped task as they come, of a plain one as one.

    Sliced, because Airflow fetches items one by one otherwise and logs an error for the one behind the last.
    """
    if results is None:
        return []
    return [results] if isinstance(results, Mapping) else list(results[:])


def _unsuccessful(task: BaseOperator, context: Context) -> tuple[str, ...]:
    """Tasks right before this one, with their state, that are not a success; and those further up that failed."""
    states = task_states(context, sorted(task.upstream_task_ids))
    missing = {name: state for name, state in states.items() if state != "success"}
    if "upstream_failed" in missing.values() and task.has_dag():  # type: ignore[no-untyped-call]
        further = task_states(context, sorted(task.get_flat_relative_ids(upstream=True) - task.upstream_task_ids))
        missing |= {name: state for name, state in further.items() if state == "failed"}
    return tuple(f"{name} ({missing[name]})" for name in sorted(missing, key=lambda each: (missing[each], each)))
