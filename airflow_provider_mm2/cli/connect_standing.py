"""What `mm2 status` and `mm2 connect` show of the connectors that mirror a flow."""

from __future__ import annotations

from typing import Any

from airflow_provider_mm2.cli.output import print_table, stderr


def show_connect_standing(document: dict[str, Any]) -> None:
    """The connectors with their tasks, or why they cannot be asked."""
    if document["connect_problem"]:
        stderr.print(f"the Connect cluster cannot be asked: {document['connect_problem']}", soft_wrap=True)
        return
    show_connectors(document)


def show_connectors(document: dict[str, Any]) -> None:
    """The connectors, each with the states of its tasks."""
    rows = [
        {**each, "tasks": ", ".join(f"{task['task']}: {task['state']}" for task in each["tasks"]) or None}
        for each in document["connectors"]
    ]
    print_table(f"connectors of flow {document['flow']}", rows, ("connector", "state", "worker", "tasks"))
