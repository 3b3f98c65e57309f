"""A real Airflow for the tests marked ``airflow``: a home and a database of its own for each process.

Import this before anything of Airflow: Airflow reads its settings while it is imported. The conftest of every folder
whose tests import Airflow does so.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

HOME = Path(tempfile.mkdtemp(prefix="mm2-airflow-"))
DAGS = HOME / "dags"
DATABASE = HOME / "airflow.db"
LOGS = HOME / "logs"

PATIENCE_S = "30"
"""How long a task waits for an answer of Airflow's own API, beside which other tests run; late ones end it."""

IS_3_1 = version("apache-airflow").startswith("3.1.")

DAGS.mkdir()
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
os.environ.update(
    {
        "AIRFLOW_HOME": str(HOME),
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "True",
        "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": PATIENCE_S,
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{DATABASE}",
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(LOGS),
    }
)
os.environ.pop("MM2_FLOWS", None)


def _import_quietly(*modules: str) -> None:
    """Import modules of Airflow, which warn of one another and of their libraries, not of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in modules:
            import_module(module)
        import_module("sqlalchemy.orm").configure_mappers()


if IS_3_1:
    # There the operators and the look-up of connections need Airflow's database models.
    _import_quietly("airflow.serialization.serialized_objects", "airflow.models.connection")
    _import_quietly("airflow.providers.standard.operators.hitl")  # it looks for its neighbours in their old places


@cache
def initialised() -> None:
    """Make the database, once a process."""
    _import_quietly("airflow.api_fastapi.execution_api.app", "airflow.utils.db")
    import_module("airflow.utils.db").initdb()
    if IS_3_1:
        # There each task of dag.test makes an API server of its own, which takes seconds; later Airflows keep one.
        supervisor: Any = import_module("airflow.sdk.execution_time.supervisor")
        supervisor.in_process_api_server = cache(supervisor.in_process_api_server)


def run_dag(dag: Any, **arguments: Any) -> Any:
    """Run a DAG as ``airflow dags test`` does, and give its run.

    ``dag.test`` wants the DAG in a bundle that the database knows, and runs Airflow's servers in this process: what
    their modules warn of is passed over, what ours do stays an error.
    """
    initialised()
    bundles: Any = import_module("airflow.dag_processing.bundles.manager")
    bundles.DagBundlesManager().sync_bundles_to_db()
    bags: Any = import_module("airflow.models.dagbag" if IS_3_1 else "airflow.dag_processing.dagbag")
    bundle = {} if IS_3_1 else {"bundle_name": "dags-folder"}
    bag = bags.DagBag(dag_folder=str(DAGS), bundle_path=DAGS, **bundle)
    bag.bag_dag(dag)
    bags.sync_bag_to_db(bag, "dags-folder", None)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"(?!airflow_provider_mm2\.|tests\.)")
        return dag.test(**arguments)
