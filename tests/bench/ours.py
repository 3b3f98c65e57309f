"""The child that runs this mirror, as the operators and the command line do."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.flow import ClusterSettings, Cut, MirrorFlow
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.run import run_mirror
from tests.bench.children import Answer, Job, serve


def target_topic(name: str, topic: str) -> str:
    """Where a run of this name puts a topic."""
    return f"{name}.{topic}"


def mirror(job: Job) -> Answer:
    """Mirror ``topic`` under the flow and source alias ``name``; what ``mm2 run --json`` says."""
    flow = MirrorFlow(
        name=job["name"],
        source=ClusterSettings(alias=job["name"], settings=job["source"]),
        target=ClusterSettings(alias="target", settings=job["target"]),
        topics=(re.escape(job["topic"]),),
        cut=Cut.END,
    )
    pair = connect(flow)
    try:
        summary = run_mirror(flow, pair, bounds=RunBounds(until=None, since=None, started=datetime.now(timezone.utc)))
    finally:
        pair.close()
    return summary.to_json()


if __name__ == "__main__":
    serve(mirror)
