"""What whoever starts a DAG by hand is asked: the flow among those that can be chosen, and the rest of the form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import Param

from airflow_provider_mm2.hooks.cluster import refuse_plain_secrets
from airflow_provider_mm2.mirror.errors import FlowInvalid, SecretInFlow
from airflow_provider_mm2.mirror.flow_file import FlowFile

STARTED_BY_HAND: Mapping[str, Any] = {
    "schedule": None,
    "is_paused_upon_creation": False,  # a run of a paused DAG waits, and an emergency does not
    # A worker that dies is replaced by a retry, which goes on at the recorded step.
    "default_args": {"retries": 2, "retry_delay": timedelta(seconds=30)},
}
"""Arguments of a DAG that a person starts."""


def flows_to_choose(files: Sequence[FlowFile]) -> tuple[list[str], list[str]]:
    """Names of the flows that can be chosen, and what is wrong with the other files."""
    names: list[str] = []
    problems: list[str] = []
    for file in files:
        if isinstance(file.result, FlowInvalid):
            problems.append(str(file.result))
            continue
        try:
            refuse_plain_secrets(file.result)
        except SecretInFlow as error:
            problems.append(f"{file.path.name}: {error}")
            continue
        names.append(file.result.name)
    return sorted(names), problems


def flow_choice(flows: Sequence[str]) -> Param:
    """The flow that whoever starts a run picks."""
    choice: dict[str, Any] = {"enum": list(flows)} if flows else {}
    return Param(type="string", title="Flow", **choice)


def common_form() -> dict[str, Param]:
    """What whoever starts a run is asked besides."""
    some: dict[str, Any] = {"type": ["array", "null"], "items": {"type": "string"}}
    seconds: dict[str, Any] = {"type": "integer", "minimum": 0, "section": "Waiting"}
    return {
        "groups": Param([], **some, title="Groups", description="Only these consumer groups; empty: all of the flow"),
        "topics": Param([], **some, title="Topics", description="Only positions on these source topics; empty: all"),
        "dry_run": Param(False, type="boolean", title="Dry run", description="Show the numbers and write nothing"),
        "skip_approval": Param(
            False, type="boolean", title="Skip approval", description="Approve whatever the numbers are, beforehand"
        ),
        "rollback": Param(
            False, type="boolean", title="Roll back", description="Only undo the failover of this flow that is open"
        ),
        "quiet_s": Param(5, **seconds, title="Seconds for which the source must stand still"),
        "stop_wait_s": Param(120, **seconds, title="Seconds that groups are given to leave the source"),
        "confirm_wait_s": Param(0, **seconds, title="Seconds that groups are given to come up on the target"),
        "force": Param(
            False,
            type="boolean",
            section="Waiting",
            title="Force",
            description="Go on although the source is written to or read from",
        ),
    }
