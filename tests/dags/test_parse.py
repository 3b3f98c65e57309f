"""Parsing is cheap: no Kafka client, no connection, 50 flows in next to no time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.dags.flow_texts import flow_text

pytestmark = pytest.mark.airflow

ROOT = Path(__file__).parents[2]

SCRIPT = """
import json, sys, time
from airflow.sdk import DAG, BaseHook, TaskGroup, BaseOperator, AssetAlias, TriggerRule
try:
    from airflow.sdk import CronTriggerTimetable
except ImportError:
    import airflow.timetables.trigger
import socket
def refuse(*arguments): raise AssertionError("a connection was opened")
socket.socket.connect = refuse
before = set(sys.modules)
used = time.process_time()
from airflow_provider_mm2.dags import load_flow_dags
from airflow_provider_mm2.failover_dag import load_failover_dag
imported = time.process_time()
namespace = {"__file__": sys.argv[1]}
load_flow_dags(namespace)
load_failover_dag(namespace)
loaded = time.process_time()
json.dump(
    {
        "dags": [name for name in namespace if name.startswith("mm2_")],
        "modules": sorted(set(sys.modules) - before),
        "airflow_s": used,
        "import_s": imported - used,
        "load_s": loaded - imported,
    },
    sys.stdout,
)
"""

NOT_WHILE_PARSING = ("confluent_kafka", "typer", "pandas", "airflow_provider_mm2.cli", "airflow_provider_mm2.local")


def parse(tmp_path: Path, flows: int) -> dict[str, Any]:
    """Parse a DAG file with so many flows in a process of its own, and give what it tells of itself."""
    folder = tmp_path / "flows"
    folder.mkdir()
    for number in range(flows):
        (folder / f"flow{number}.yaml").write_text(flow_text(f"flow{number}"))
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(tmp_path / "dag.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ), cwd="/")
    told: dict[str, Any] = json.loads(done.stdout[done.stdout.index('{"dags"') :])
    assert len(told["dags"]) == flows + 1  # and the one of failovers
    return told


def test_parsing_loads_nothing_slow_and_opens_no_connection(tmp_path: Path) -> None:
    """What a DAG file brings in is ours, YAML and pydantic; the copy and its client come in ``execute``."""
    modules = parse(tmp_path, 1)["modules"]
    assert [name for name in modules if name.startswith(NOT_WHILE_PARSING)] == []
    assert "airflow_provider_mm2.mirror.run" not in modules
    assert "airflow_provider_mm2.mirror.recovery.failover" not in modules
    assert "airflow_provider_mm2.mirror.flow_file" in modules


def test_sensors_load_nothing_slow() -> None:
    """A DAG file with every sensor brings in neither the Kafka client nor the triggerer's modules."""
    program = "import json, sys, tests.how_to.move_billing; json.dump(sorted(sys.modules), sys.stdout)"
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    modules: list[str] = json.loads(done.stdout[done.stdout.index('["') :])
    assert "airflow_provider_mm2.sensors.mirror" in modules
    slow = (*NOT_WHILE_PARSING, "airflow_provider_mm2.triggers.", "airflow_provider_mm2.mirror.conditions.")
    assert [name for name in modules if name.startswith(slow)] == []


def test_fifty_flows_take_a_part_of_what_airflow_takes(tmp_path: Path) -> None:
    """The scheduler parses DAG files all the time: on any machine ours cost less than Airflow's own import does.

    Processor time of one process, so that a busy machine makes both dearer.
    """
    told = parse(tmp_path, 50)
    assert told["import_s"] + told["load_s"] < told["airflow_s"] * 0.75, {**told, "modules": len(told["modules"])}
