"""The task that proves a mirror: what it compares, what it leaves in XCom, when it fails."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_provider_mm2.mirror.connect_settings import ConnectSettings
from airflow_provider_mm2.operators import verify
from airflow_provider_mm2.operators.verify import VerifyMirrorOperator
from airflow_provider_mm2.version_compat import AirflowFailException
from tests.mirror.offsets.group_world import BASE_MS
from tests.mirror.verify.verify_world import VerifyWorld
from tests.operators.task_context import task_context


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> VerifyWorld:
    """Give a flow that has mirrored 100 records, and have the operator connect to its pair."""
    made = VerifyWorld().mirrored(40, 60)
    monkeypatch.setattr(verify, "connect_pair", lambda flow, settings, stop: made.pair)
    return made


def verified(world: VerifyWorld, **arguments: Any) -> dict[str, Any]:
    """Run the task; gives what it leaves in XCom."""
    context = task_context()
    result: dict[str, Any] = VerifyMirrorOperator(task_id="verify", flow=world.flow, **arguments).execute(context)
    assert context["ti"].pushed["verified"] == result
    return result


def test_clean(world: VerifyWorld) -> None:
    """A mirror without a fault: the summary has counts and digests."""
    result = verified(world)
    assert (result["records"], result["found"], result["mode"]) == (100, 0, "map")
    assert len(result["partitions"][0]["digest"]) == 64


def test_a_fault_fails_for_good(world: VerifyWorld) -> None:
    """What was found fails the task, and is in XCom with its offsets, without content."""
    world.edit_at(51, value=b"secret")
    context = task_context()
    with pytest.raises(AirflowFailException, match=r"1 mismatch\(es\), the first changed: orders-0, 1 record"):
        VerifyMirrorOperator(task_id="verify", flow=world.flow).execute(context)
    summary = context["ti"].pushed["verified"]
    assert (summary["found"], summary["mismatches"][0]["target_offset"]) == (1, 51)
    assert "secret" not in json.dumps(summary)


def test_of_a_flow_that_connectors_mirror(world: VerifyWorld) -> None:
    """It is compared by order; that Connect did not answer, so all was due, is a warning."""
    world.drop_ledger()
    update = {"engine": "connect", "connect": ConnectSettings(url="http://127.0.0.1:1")}
    world.flow = world.flow.model_copy(update=update)
    result = verified(world)
    assert (result["records"], result["found"], result["mode"]) == (100, 0, "order")
    assert "is missed: GET http://127.0.0.1:1" in result["warnings"][0]


def test_arguments_from_templates(world: VerifyWorld) -> None:
    """Each argument may come as text, as a template gives it."""
    assert verified(world, begin="10", end="20")["records"] == 10
    times = {"begin": "2023-11-14T22:13:20.010+00:00", "end": "2023-11-14T22:13:20.020+00:00"}
    assert BASE_MS == 1_700_000_000_000
    assert verified(world, **times)["records"] == 10
    assert verified(world, begin="None", end="", topics='["orders"]')["records"] == 100
    assert verified(world, by_order="true")["mode"] == "order"
    sampled = verified(world, sample="1", seed="7")["sampled"]
    assert (sampled["seed"], sampled["partitions"]) == (7, 1)


@pytest.mark.parametrize(
    "arguments",
    [{"sample": "many"}, {"seed": "x"}, {"begin": "yesterday"}, {"topics": "orders"}, {"by_order": "maybe"}],
)
def test_arguments_that_cannot_be_meant(world: VerifyWorld, arguments: dict[str, Any]) -> None:
    """They are refused, whatever they rendered to."""
    with pytest.raises(AirflowFailException):
        verified(world, **arguments)


def test_the_summary_is_bounded(world: VerifyWorld) -> None:
    """However much is found, what goes to Airflow's database stays small, and the counts are whole."""
    world.pair.us.create_topic("orders-many", 60)
    for partition in range(60):
        world.produce(150, topic="orders-many", partition=partition)
    world.run()
    for partition in range(60):
        log = world.pair.eu.topics["us.orders-many"].logs[partition]
        log.entries = [entry for entry in log.entries if entry.offset % 2]
    context = task_context()
    with pytest.raises(AirflowFailException):
        VerifyMirrorOperator(task_id="verify", flow=world.flow).execute(context)
    summary = context["ti"].pushed["verified"]
    assert (summary["found"], summary["partitions_left_out"]) == (60 * 75, 41)
    assert len(json.dumps(summary)) < 20_000
