"""The operators on the in-memory pair: what they make of Airflow's side, and what Airflow is told."""

from __future__ import annotations

import copy
import logging
import pickle
from datetime import datetime, timedelta, timezone
from pathlib import Path
from threading import Timer
from typing import Any

import pendulum
import pytest

from airflow_provider_mm2.mirror import errors, run
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.operators import flow_task
from airflow_provider_mm2.operators.flow_task import FlowOperator
from airflow_provider_mm2.operators.mirror import (
    MirrorAssetsOperator,
    MirrorFinishOperator,
    MirrorIntervalOperator,
    MirrorPlanOperator,
)
from airflow_provider_mm2.version_compat import AirflowFailException
from tests.fakes.log import Message
from tests.fakes.pair import FakePair
from tests.operators.task_context import RUN_AFTER, task_context

SECRET = "hunter2-of-orders"  # noqa: S105 # planted, to be looked for

FLOW: dict[str, Any] = {
    "name": "orders",
    "source": {"alias": "us", "settings": {"bootstrap.servers": "us:9092"}},
    "target": {"alias": "eu", "settings": {"bootstrap.servers": "eu:9092"}},
    "topics": ["orders"],
}


def minute(number: int) -> datetime:
    """A time on the day of the fakes, in minutes from its midnight."""
    return datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(minutes=number)


def message(number: int) -> Message:
    """A record stamped with its minute."""
    return Message(key=b"k", value=b"%d" % number, timestamp_ms=int(minute(number).timestamp() * 1000))


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> FakePair:
    """Give a pair with one record a minute, 00:00 to 00:59, and have the operators connect to it."""
    fake = FakePair()
    fake.clock.advance(24 * 3600)
    fake.us.create_topic("orders", partitions=1)
    fake.us.produce("orders", 0, *(message(number) for number in range(60)))
    monkeypatch.setattr(flow_task, "_connect", lambda flow, settings: fake)
    return fake


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail the test when an operator connects."""

    def connect(flow: MirrorFlow, settings: object) -> None:
        raise AssertionError("a broker was contacted")

    monkeypatch.setattr(flow_task, "_connect", connect)


def mirror(**arguments: Any) -> MirrorIntervalOperator:
    """Make the operator that mirrors."""
    return MirrorIntervalOperator(**{"task_id": "mirror", "flow": FLOW, **arguments})


def refused(operator: FlowOperator, context: Any) -> str:
    """Run an operator that fails for good, and give Airflow's message."""
    with pytest.raises(AirflowFailException) as caught:
        operator.execute(context)
    for part in ("Likely cause: ", "Next move: "):
        assert part in str(caught.value)
    return str(caught.value)


def test_a_trigger_timetable_mirrors_up_to_the_trigger_time(clusters: FakePair) -> None:
    """K01: the 01:00 run of a bare cron schedule copies the 60 records, and the next one only what is new."""
    first = mirror().execute(task_context(interval=(minute(60), minute(60)), run_after=minute(60)))
    clusters.us.produce("orders", 0, *(message(number) for number in range(60, 120)))
    second = mirror().execute(task_context(interval=(minute(120), minute(120)), run_after=minute(120)))
    assert (first["records"], second["records"]) == (60, 60)
    assert len(clusters.eu.visible("us.orders", 0)) == 120


def test_a_data_interval_mirrors_up_to_its_end(clusters: FakePair) -> None:
    """K01, data-interval timetable: exactly the interval's 60 records, although more are there."""
    clusters.us.produce("orders", 0, *(message(number) for number in range(60, 70)))
    interval = (pendulum.instance(minute(0)), pendulum.instance(minute(60)))  # as Airflow's context has them
    result = mirror().execute(task_context(interval=interval, run_after=minute(70)))
    assert (result["records"], result["until"]) == (60, "2026-01-01T01:00:00Z")


def test_a_run_by_hand_mirrors_up_to_its_trigger_time(clusters: FakePair, monkeypatch: pytest.MonkeyPatch) -> None:
    """K02: no data interval in the context; the log says which end was taken and why."""
    log = logging.getLogger("operator")
    lines: list[str] = []
    monkeypatch.setattr(log, "info", lambda text, *arguments: lines.append(text % arguments))
    monkeypatch.setattr(MirrorIntervalOperator, "log", log)
    result = mirror().execute(task_context(run_after=minute(30)))
    assert result["records"] == 30
    assert lines[0].startswith(
        "the run ends at 2026-01-01T00:30:00Z: the run's trigger time, since it has no data interval"
    )


def test_a_strict_flow_refuses_a_run_by_hand(unreachable: None) -> None:
    """K02, strict: the refusal comes before any broker is asked and says how to pass an end."""
    text = refused(mirror(flow={**FLOW, "strict": True}), task_context())
    assert "create_cron_data_intervals" in text
    assert "until=" in text


def test_a_second_run_copies_nothing(clusters: FakePair) -> None:
    """K04: a cleared task finds its progress on the target, whatever Airflow has forgotten."""
    assert mirror().execute(task_context())["records"] == 60
    again = mirror().execute(task_context())
    assert (again["records"], again["already_complete"]) == (0, True)
    assert len(clusters.eu.visible("us.orders", 0)) == 60


def test_skipped_intervals_are_covered(clusters: FakePair) -> None:
    """K11: after two hours' pause the newest interval copies all of them."""
    clusters.us.produce("orders", 0, *(message(number) for number in range(60, 180)))
    result = mirror().execute(task_context(interval=(minute(120), minute(180)), run_after=minute(185)))
    assert result["records"] == 180


def test_intervals_out_of_order_lose_nothing(clusters: FakePair) -> None:
    """K13: the third hour first copies all three; the first two then find theirs complete."""
    clusters.us.produce("orders", 0, *(message(number) for number in range(60, 180)))
    hours = [(minute(120), minute(180)), (minute(0), minute(60)), (minute(60), minute(120))]
    assert [mirror().execute(task_context(interval=hour))["records"] for hour in hours] == [180, 0, 0]
    assert [record.value for _, record in clusters.eu.visible("us.orders", 0)] == [b"%d" % n for n in range(180)]


def test_the_plan_gives_the_shards_of_the_recorded_layout(clusters: FakePair) -> None:
    """K61: 1,200 partitions are mapped over 64 shards at most, the same each time."""
    clusters.us.grow_topic("orders", 1200)
    plan = MirrorPlanOperator(task_id="plan", flow={**FLOW, "shards": 64})
    context = task_context()
    assert plan.execute(context) == list(range(64))
    assert plan.execute(task_context()) == list(range(64))
    assert context["ti"].pushed["plan"]["topics"] == 1


def test_one_shard_mirrors_its_own_part(clusters: FakePair) -> None:
    """Two shards together cover every partition once."""
    clusters.us.grow_topic("orders", 8)
    flow = {**FLOW, "shards": 2}
    results = [mirror(flow=flow, shard=shard).execute(task_context()) for shard in (0, "1")]
    covered = [part["partition"] for result in results for part in result["partitions"]]
    assert sorted(covered) == list(range(8))
    assert [result["shards"] for result in results] == [[0], [1]]
    assert all(result["topics"]["us.orders"]["of"] == 8 for result in results)


@pytest.mark.parametrize("shard", [1, -1, "first"])
def test_an_unknown_shard_is_refused(clusters: FakePair, shard: Any) -> None:
    """A task that would copy nothing must not be green."""
    assert "there is no shard" in refused(mirror(shard=shard), task_context())


@pytest.mark.parametrize(
    "arguments",
    [
        {"until": "-1"},
        {"until": "1969-01-01T00:00:00Z"},
        {"until": "2026-01-01T00:00:00"},
        {"until": "2999-01-01T00:00:00Z"},
        {"until": "2026-01-01T00:00:00Z", "since": "2026-01-02T00:00:00Z"},
    ],
)
def test_a_bad_bound_is_refused_before_any_broker_is_asked(unreachable: None, arguments: dict[str, str]) -> None:
    """K02: negative, before 1970, without a zone, in the future, or backwards."""
    assert "the bound " in refused(mirror(**arguments), task_context())


def test_a_future_end_that_airflow_chose_is_refused(unreachable: None) -> None:
    """A run's own end that lies far ahead is refused as any other; nothing is adjusted."""
    ahead = datetime.now(timezone.utc) + timedelta(hours=1)
    assert "it is in the future" in refused(mirror(), task_context(run_after=ahead))


def test_a_clock_that_is_a_little_behind_is_waited_for(clusters: FakePair) -> None:
    """A run begins the moment its end has come on the scheduler; a worker some time behind lets it come."""
    ahead = datetime.now(timezone.utc) + timedelta(seconds=0.5)
    assert mirror().execute(task_context(run_after=ahead))["records"] == 60
    assert datetime.now(timezone.utc) > ahead


def test_the_flow_may_be_an_object_a_mapping_a_path_or_a_name(
    clusters: FakePair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name is looked for in ``flows/`` beside the DAG's file, or where ``$MM2_FLOWS`` says."""
    (tmp_path / "flows").mkdir()
    path = tmp_path / "flows" / "file.yaml"
    path.write_text(
        "name: orders\nsource: {alias: us, settings: {bootstrap.servers: a}}\n"
        "target: {alias: eu, settings: {bootstrap.servers: b}}\ntopics: [orders]\n"
    )
    monkeypatch.chdir("/")
    context = task_context(dag_file=str(tmp_path / "dag.py"))
    for flow in (MirrorFlow.model_validate(FLOW), FLOW, str(path), path, "orders", "file.yaml"):
        assert mirror(flow=flow).resolved_flow(context).name == "orders"
    monkeypatch.setenv("MM2_FLOWS", str(tmp_path / "flows"))
    assert mirror(flow="orders").resolved_flow(task_context()).name == "orders"
    assert "there is no flow 'order' in" in refused(mirror(flow="order"), context)


def test_connections_of_the_operator_replace_the_flows(clusters: FakePair, monkeypatch: pytest.MonkeyPatch) -> None:
    """``source_conn_id`` and ``target_conn_id`` win over settings and connections of the flow."""
    seen: dict[str, Any] = {}
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", '{"conn_type": "kafka", "extra": {"bootstrap.servers": "other:9092"}}')

    def connect(flow: MirrorFlow, settings: dict[str, Any]) -> FakePair:
        seen.update(settings)
        return clusters

    monkeypatch.setattr(flow_task, "_connect", connect)
    mirror(source_conn_id="other").execute(task_context())
    assert seen["us"] == {"bootstrap.servers": "other:9092"}
    assert "the connection 'missing' cannot be used" in refused(mirror(target_conn_id="missing"), task_context())


@pytest.mark.parametrize("as_object", [True, False])
def test_a_plain_secret_is_refused_while_the_dag_is_parsed(as_object: bool) -> None:
    """Templated arguments end in Airflow's database, so the operator is not even made."""
    settings = {"bootstrap.servers": "us:9092", "sasl.password": SECRET}
    flow: Any = {**FLOW, "source": {"alias": "us", "settings": settings}}
    with pytest.raises(errors.SecretInFlow) as caught:
        mirror(flow=MirrorFlow.model_validate(flow) if as_object else flow)
    assert SECRET not in str(caught.value)


def test_a_plain_secret_in_a_file_is_refused_when_the_task_runs(unreachable: None, tmp_path: Path) -> None:
    """A file that the operator reads in its task is held to the same rule."""
    path = tmp_path / "orders.yaml"
    settings = f"{{bootstrap.servers: a, sasl.password: {SECRET}}}"
    path.write_text(
        f"name: orders\nsource: {{alias: us, settings: {settings}}}\n"
        "target: {alias: eu, connection: kafka_eu}\ntopics: [orders]\n"
    )
    text = refused(mirror(flow=path), task_context())
    assert "sasl.password" in text
    assert SECRET not in text


def test_an_error_worth_a_retry_fails_the_task_plainly(clusters: FakePair) -> None:
    """Airflow retries what may pass by itself, such as a cluster that does not answer."""
    clusters.us.reachable = False
    with pytest.raises(errors.ClusterUnreachable):
        mirror().execute(task_context())


def test_an_error_for_good_is_not_retried(clusters: FakePair) -> None:
    """What somebody has to mend fails at once, with what was found, why, and what to do."""
    assert "the source 'us' has no topic nothing" in refused(
        mirror(flow={**FLOW, "topics": ["nothing"]}), task_context()
    )


def test_a_killed_task_stops(clusters: FakePair, monkeypatch: pytest.MonkeyPatch) -> None:
    """``on_kill`` sets the event that the run polls; the run aborts its transaction and says that it was asked."""
    operator = mirror()
    killed: list[str] = []

    def kill(step: str) -> None:
        if step == "produce" and not killed:
            killed.append(step)
            operator.on_kill()

    clusters.hooks.before = kill
    with pytest.raises(errors.Stopped):
        operator.execute(task_context())
    assert killed
    assert clusters.eu.visible("us.orders", 0) == []


def test_a_task_killed_before_it_began_does_not_begin(clusters: FakePair) -> None:
    """A signal that comes while templates are rendered is not lost."""
    operator = mirror()
    operator.on_kill()
    with pytest.raises(errors.Stopped):
        operator.execute(task_context())
    assert "us.orders" not in clusters.eu.topics


def test_a_kill_ends_the_wait_for_the_clock(unreachable: None) -> None:
    """Even a task that only waits leaves at once."""
    operator = mirror()
    Timer(0.3, operator.on_kill).start()
    began = datetime.now(timezone.utc)
    with pytest.raises(errors.Stopped):
        operator.execute(task_context(run_after=began + timedelta(seconds=20)))
    assert datetime.now(timezone.utc) - began < timedelta(seconds=5)


def test_the_clusters_are_closed_whatever_happens(clusters: FakePair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the exception with which Airflow ends a task that takes too long lets the clients go."""
    closed: list[bool] = []
    monkeypatch.setattr(clusters, "close", lambda: closed.append(True))

    class TimedOut(BaseException):
        pass

    def time_out(*arguments: Any, **named: Any) -> None:
        raise TimedOut

    monkeypatch.setattr(run, "mirror_shard", time_out)
    with pytest.raises(TimedOut):
        mirror().execute(task_context())
    assert closed == [True]


def test_a_lease_holder_is_told_by_its_task() -> None:
    """A waiting run names who it waits for: DAG, run, task, try and host."""
    context = task_context()
    context["ti"].map_index = 3
    assert mirror().attempt(context).startswith("mm2_mirror__orders/run-1/mirror[3] try 1 on ")


def test_an_operator_can_be_copied_as_airflow_does() -> None:
    """Airflow copies and serialises operators; nothing in one may stand in the way, after a kill neither."""
    operator = mirror()
    operator.on_kill()
    copy.deepcopy(operator)
    pickle.dumps(operator.flow)


RESULT: dict[str, Any] = {
    "flow": "orders",
    "target": "eu",
    "records": 60,
    "bytes": 120,
    "transactions": 1,
    "topics_left_out": 0,
    "topics": {
        "us.orders": {
            "source_topic": "orders",
            "of": 2,
            "covered": 1,
            "records": 60,
            "through_ms": int(RUN_AFTER.timestamp() * 1000),
            "offsets": {"0": 60},
        }
    },
}


def downstream(kind: type[Any], states: dict[str, str], results: Any, **arguments: Any) -> tuple[Any, Any]:
    """Make a task behind the mapped mirror task, and its context."""
    task = kind(task_id="after", results=results, **arguments)
    task.upstream_task_ids.add("mirror")
    return task, task_context(states=states)


def test_assets_are_told_of_topics_that_were_mirrored_whole() -> None:
    """One event a topic, with the offsets and the time it is mirrored through."""
    other = {**RESULT, "topics": {"us.orders": {**RESULT["topics"]["us.orders"], "offsets": {"1": 7}}}}
    states = {"mirror_0": "success", "mirror_1": "success"}
    task, context = downstream(MirrorAssetsOperator, states, [RESULT, other], alias="mirrored")
    assert task.execute(context) == 1
    extra = context["outlet_events"].by_name["mirrored"].events["kafka://eu/us.orders"]
    assert extra["mirrored_through"] == "2026-01-01T01:00:00Z"
    assert extra["offsets"] == {"0": 60, "1": 7}
    assert [outlet.name for outlet in task.outlets] == ["mirrored"]


def test_assets_are_not_told_of_a_topic_with_a_failed_shard() -> None:
    """The topic's other shard failed, so nothing can be said of it."""
    states = {"mirror_0": "success", "mirror_1": "failed"}
    task, context = downstream(MirrorAssetsOperator, states, [RESULT], alias="mirrored")
    assert task.execute(context) == 0
    assert context["outlet_events"].by_name == {}


def test_the_finish_of_a_whole_run_adds_up() -> None:
    """All shards succeeded: totals, and no exception."""
    states = {"mirror_0": "success", "mirror_1": "success"}
    task, context = downstream(MirrorFinishOperator, states, [RESULT, RESULT])
    assert task.execute(context) == {"records": 120, "bytes": 240, "transactions": 2, "already_complete": False}


@pytest.mark.parametrize("state", ["failed", "upstream_failed", "skipped", "removed", None])
def test_the_finish_fails_with_any_shard(state: Any) -> None:
    """A failed shard never leaves a green run; the message names the task and its state."""
    task, context = downstream(MirrorFinishOperator, {"mirror_0": "success", "mirror_1": state}, [RESULT])
    with pytest.raises(AirflowFailException, match=rf"not mirrored as a whole: mirror_1 \({state}\)"):
        task.execute(context)


def test_the_finish_fails_when_nothing_was_mapped() -> None:
    """A failed plan leaves one unmapped mirror task, and no result."""
    task, context = downstream(MirrorFinishOperator, {"mirror": "upstream_failed"}, None)
    with pytest.raises(AirflowFailException):
        task.execute(context)
