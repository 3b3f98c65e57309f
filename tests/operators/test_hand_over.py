"""The task that hands over: what it refuses before anything is asked. Its work is tested on a real worker."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.operators.hand_over import HandOverOperator
from airflow_provider_mm2.version_compat import AirflowFailException
from tests.mirror.connect.flows import FLOW
from tests.operators.task_context import task_context


def fails(message: str, **arguments: Any) -> None:
    """The task fails for good with this message."""
    with pytest.raises(AirflowFailException, match=message):
        HandOverOperator(**{"task_id": "hand_over", "flow": FLOW, **arguments}).execute(task_context())


def test_what_cannot_be_handed_over() -> None:
    """A switch that is none, and a flow that does not say where its Connect cluster is."""
    fails("neither true nor false", apply="perhaps")
    without = {name: value for name, value in FLOW.items() if name not in ("engine", "connect")}
    fails("it has no connect: block", flow=without)


def test_templated_fields() -> None:
    """Its fields are the flow and a switch, both filled in from templates."""
    assert HandOverOperator.template_fields == ("flow", "source_conn_id", "target_conn_id", "apply")
