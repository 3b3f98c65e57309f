"""The child that runs this mirror, as the operators do; the command line has a child of its own."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.run import run_mirror
from tests.bench.children import Answer, Job, serve


def target_topic(name: str, topic: str) -> str:
    """Where a run of this name puts a topic."""
    return f"{name}.{topic}"


def flow_settings(job: Job) -> dict[str, object]:
    """The flow that mirrors ``topic`` under the name and source alias ``name``, as a flow file has it."""
    return {
        "name": job["name"],
        "source": {"alias": job["name"], "settings": job["source"]},
        "target": {"alias": "target", "settings": job["target"]},
        "topics": [re.escape(job["topic"])],
        "cut": "end",
    }


def mirror(job: Job) -> Answer:
    """Mirror a topic; what ``mm2 run --json`` says."""
    flow = MirrorFlow.model_validate(flow_settings(job))
    pair = connect(flow)
    try:
        summary = run_mirror(flow, pair, bounds=RunBounds(until=None, since=None, started=datetime.now(timezone.utc)))
    finally:
        pair.close()
    return summary.to_json()


if __name__ == "__main__":
    serve(mirror)
