"""What the arguments of a drill's task mean, as they come out of templates."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.mirror.drill.drill import DrillOrder
from airflow_provider_mm2.mirror.drill.game_plan import LIMIT_RECORDS, GameDayOrder
from airflow_provider_mm2.mirror.errors import ArgumentRefused
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.operators.drill import DrDrillOperator


def order_of(**arguments: Any) -> DrillOrder | GameDayOrder:
    """What a task with these arguments asks for."""
    return DrDrillOperator(task_id="drill", flow="orders", **arguments)._order()


@pytest.mark.parametrize(
    ("arguments", "order"),
    [
        ({}, DrillOrder(mode=Mode.PLANNED, load_s=10, failback=False)),
        (
            {"mode": "unplanned", "load_s": "3", "game_day": "False", "topics": "[]"},
            DrillOrder(mode=Mode.UNPLANNED, load_s=3),
        ),
        ({"game_day": True}, GameDayOrder(topics=(), groups=(), limit_records=LIMIT_RECORDS)),
        (
            {"game_day": "True", "mode": "planned", "topics": '["t"]', "groups": ["a", "b"], "limit_records": "50"},
            GameDayOrder(topics=("t",), groups=("a", "b"), limit_records=50),
        ),
    ],
)
def test_what_is_asked_for(arguments: dict[str, Any], order: DrillOrder | GameDayOrder) -> None:
    """Text of templates counts as what it says; the form's defaults go with a game day."""
    assert order_of(**arguments) == order


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"mode": "later"}, "mode"),
        ({"game_day": True, "mode": "unplanned"}, "game_day"),
        ({"game_day": True, "failback": True}, "game_day"),
        ({"game_day": "perhaps"}, "game_day"),
        ({"game_day": True, "limit_records": 0}, "limit_records"),
        ({"game_day": True, "groups": "billing"}, "groups"),
        ({"groups": ["billing"]}, "groups"),
        ({"topics": '["orders"]'}, "topics"),
        ({"limit_records": 50}, "limit_records"),
        ({"load_s": 0}, "load_s"),
        ({"load_s": "soon"}, "load_s"),
    ],
)
def test_refused(arguments: dict[str, Any], argument: str) -> None:
    """What does not go together, or is no list, is refused by its name when the task is made."""
    with pytest.raises(ArgumentRefused) as caught:
        DrDrillOperator(task_id="drill", flow="orders", **arguments)
    assert caught.value.argument == argument


def test_refused_once_it_is_known() -> None:
    """What comes out of a template is looked at when the task runs, not before."""
    task = DrDrillOperator(task_id="drill", flow="orders", mode="{{ params.mode }}", groups="{{ params.groups }}")
    task.mode = "later"
    with pytest.raises(ArgumentRefused, match="neither planned nor unplanned"):
        task._order()
    task.mode, task.groups = "planned", '["billing"]'
    with pytest.raises(ArgumentRefused, match="add game_day=True"):
        task._order()
