"""One attempt at a run in a process of its own, forked by ``tests.proof.nursery``.

JOB is a JSON file: the flow, the faults and the folder for the files that tell the test what happened. The outcome is
written when the attempt ends by itself; an attempt that was killed leaves none.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import signal
import traceback
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from airflow_provider_mm2.mirror.clusters.confluent import copy
from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.errors import MirrorError
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.run import mirror_shard, run_mirror
from tests.proof.points import Fault
from tests.proof.trap import Trap, TrappedPair

BATCH = 20
"""Messages of one ``consume``: small, so that a chunk's limits are met after few records."""

CRASH = "crash"
"""Outcome of an attempt that ended with something else than an error of the mirror."""


def main(job_file: str) -> None:
    """Run the job and write its outcome."""
    faulthandler.register(signal.SIGUSR1)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    job: dict[str, Any] = json.loads(Path(job_file).read_text(encoding="utf-8"))
    copy.TICK_S = 0.0  # at every batch, so that the tick in mid copy is passed in short chunks too
    if job["small_batches"]:
        copy.BATCH_COUNTS = (BATCH, BATCH)
    outcome = _attempt(job)
    partial = Path(job["folder"]) / "partial"
    partial.write_text(json.dumps(outcome), encoding="utf-8")
    partial.rename(partial.with_name("outcome"))


def _attempt(job: dict[str, Any]) -> dict[str, Any]:
    flow = MirrorFlow.model_validate_json(job["flow"])
    trap = Trap([Fault.from_json(each) for each in job["faults"]], Path(job["folder"]))
    inner = connect(flow)
    pair = TrappedPair(inner, trap)
    until = None if job["until"] is None else datetime.fromisoformat(job["until"])
    bounds = RunBounds(until=until, since=None, started=datetime.now(timezone.utc))
    try:
        if job["shard"] is None:
            summary = run_mirror(flow, pair, bounds=bounds, owner=job["owner"]).to_json()
        else:
            result = mirror_shard(flow, pair, job["shard"], bounds=bounds, owner=job["owner"])
            summary = {"records": sum(part.records for part in result.partitions), "warnings": list(result.warnings)}
    except MirrorError as error:
        return {"error": type(error).__name__, "retriable": error.retriable, "text": str(error)}
    except Exception:  # noqa: BLE001 - the parent shows it
        return {"error": CRASH, "text": traceback.format_exc()}
    finally:
        inner.close()
    return {"summary": summary}
