"""The child that is ``mm2 verify FLOW --json``."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path

from airflow_provider_mm2.cli.main import app
from tests.bench.children import Answer, Job, serve


def verify(job: Job) -> Answer:
    """Compare what a flow file in ``folder`` has mirrored; records and seconds.

    :raises RuntimeError: something was found.
    """
    output = io.StringIO()
    with redirect_stdout(output):
        options = ["--by-order"] if job["by_order"] else []
        code = app(
            ["verify", str(Path(job["folder"]) / f"{job['name']}.yaml"), *options, "--json"], standalone_mode=False
        )
    document = json.loads(output.getvalue())
    if code or document["mismatches"]:
        raise RuntimeError(f"mismatches: {document['mismatches'][:3]}")
    return {"records": document["records"], "seconds": document["seconds"]}


if __name__ == "__main__":
    serve(verify)
