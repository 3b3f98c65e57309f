"""Run every DAG of a folder of flows with debug logging: ``python -m tests.dags.secrets_child DAG_FILE HOME_FILE``.

A process of its own, so that everything it writes can be searched. It writes the state of each run to standard output.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from tests.airflow_env import HOME, run_dag


def main(dag_file: str, kept_home: str) -> None:
    """Run them one after another, and keep Airflow's home."""
    from airflow_provider_mm2.dags import load_flow_dags

    namespace: dict[str, Any] = {"__file__": dag_file}
    for dag in load_flow_dags(namespace):
        sys.stdout.write(f"\nSTATE {dag.dag_id} {run_dag(dag).state}\n")
    shutil.copytree(HOME, Path(kept_home))


if __name__ == "__main__":
    main(*sys.argv[1:])
