"""The task on connectors: what it refuses before anything is asked. Its work is tested on a real worker."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.mirror.errors import SecretInFlow
from airflow_provider_mm2.operators.connect import ACTIONS, ConnectMirrorOperator
from airflow_provider_mm2.version_compat import AirflowFailException
from tests.mirror.connect.flows import FLOW
from tests.operators.task_context import task_context

SECRET = "hunter2-of-connect"  # noqa: S105 - planted, to be looked for


def fails(message: str, **arguments: Any) -> None:
    """The task fails for good with this message."""
    with pytest.raises(AirflowFailException, match=message):
        ConnectMirrorOperator(**{"task_id": "connect", "flow": FLOW, **arguments}).execute(task_context())


def test_arguments_that_cannot_be_meant() -> None:
    """Another action, a switch that is none, a flow that runs mirror, a variable that is not set."""
    fails(f"'puts' is none of {', '.join(ACTIONS)}", action="puts")
    fails("neither true nor false", apply="perhaps")
    fails("so runs mirror it, and no connectors do", flow={**FLOW, "engine": "bounded"})
    token = {"url": "http://127.0.0.1:1", "auth": {"token": "${NO_SUCH_TOKEN}"}}
    fails("there is no such environment variable", flow={**FLOW, "connect": token})
    fails("'no_such' cannot be used: it is not defined", flow={**FLOW, "connect": {"connection": "no_such"}})


@pytest.mark.parametrize(
    ("connect", "key"),
    [
        ({"auth": {"user": "me", "password": SECRET}}, "connect.auth.password"),
        ({"auth": {"token": SECRET}}, "connect.auth.token"),
        ({"headers": {"Authorization": f"Bearer {SECRET}"}}, "connect.headers.Authorization"),
        ({"headers": {"X-Api-Token": SECRET}}, "connect.headers.X-Api-Token"),
    ],
)
def test_a_plain_secret_is_refused_while_parsing(connect: dict[str, Any], key: str) -> None:
    """What a flow holds ends in Airflow's database, so a log-in stands in a variable or a connection."""
    with pytest.raises(SecretInFlow) as caught:
        ConnectMirrorOperator(task_id="connect", flow={**FLOW, "connect": {"url": "http://c", **connect}})
    assert (key in str(caught.value), SECRET in str(caught.value)) == (True, False)


def test_what_is_no_secret_is_taken() -> None:
    """A variable, and a header for nothing secret."""
    headers = {"Authorization": "Bearer ${TOKEN}", "X-Team": "orders"}
    connect = {"url": "http://c", "auth": {"user": "me", "password": "${PASSWORD}"}, "headers": headers}
    assert ConnectMirrorOperator(task_id="connect", flow={**FLOW, "connect": connect}).action == "put"
