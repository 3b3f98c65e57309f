"""The child that is the command line, ``mm2 run FLOW --json``."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path

from airflow_provider_mm2.cli.main import app
from tests.bench.children import Answer, Job, serve
from tests.bench.ours import flow_settings


def run_command(job: Job) -> Answer:
    """Run a flow file, which goes to ``folder``; the JSON document that the command prints."""
    flow_file = Path(job["folder"]) / f"{job['name']}.yaml"
    flow_file.write_text(json.dumps(flow_settings(job)), encoding="utf-8")  # JSON is YAML
    output = io.StringIO()
    with redirect_stdout(output):
        app(["run", str(flow_file), "--json"], standalone_mode=False)
    answer: Answer = json.loads(output.getvalue())
    return answer


if __name__ == "__main__":
    serve(run_command)
