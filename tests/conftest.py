"""Real Kafka for the tests marked ``broker``: one pair for the whole session, special clusters on demand.

With pytest-xdist all workers share one pair: the controller names a folder, the first worker that needs the pair
starts it there, and the controller stops it. Everything started in that folder is tied to the controller's life
by a guard, so nothing is left when the session is killed.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.cluster import LocalCluster
from airflow_provider_mm2.local.guard import guard_folder
from airflow_provider_mm2.local.pair import LocalPair
from tests.hypothesis_profiles import load_profile
from tests.java.class_archive import quick_java
from tests.java.connect_worker import shared_worker
from tests.slow_first import slow_first

load_profile()

# An environment may say that compiled modules are not kept: then each worker and each of several hundred child
# processes compiles everything again, which is most of what the short ones do.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

MakeCluster = Callable[..., LocalCluster]
TopicName = Callable[..., str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSession:
    """Where a session keeps its clusters, and whose life they are tied to."""

    folder: Path
    owner_pid: int


_SESSION = pytest.StashKey[KafkaSession]()
_BROKER_FIXTURES = {"pair", "make_cluster", "kafka_folder", "connect_url"}
CONNECT = "connect"


def pytest_configure(config: pytest.Config) -> None:
    """Name the session's folder; it is made when the first test needs it."""
    given = getattr(config, "workerinput", {}).get("kafka_session")
    folder, owner_pid = given or (f"{tempfile.gettempdir()}/mm2-tests-{uuid.uuid4().hex[:8]}", os.getpid())
    config.stash[_SESSION] = KafkaSession(folder=Path(folder), owner_pid=owner_pid)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each xdist worker the folder and the owner."""
    session = node.config.stash[_SESSION]
    node.workerinput["kafka_session"] = (str(session.folder), session.owner_pid)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the collector of garbage away from the modules and tests that stay: it took a tenth of the unit tests."""
    gc.disable()
    outcome = yield
    gc.freeze()
    gc.enable()
    return outcome


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test that starts a broker and is not marked so: unmarked tests are pure. Let slow ones begin first."""
    for item in items:
        used = _BROKER_FIXTURES & set(getattr(item, "fixturenames", ()))
        if used and item.get_closest_marker("broker") is None:
            raise pytest.UsageError(f"{item.nodeid} uses {sorted(used)} and is not marked broker")
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = slow_first(items, lambda item: item.get_closest_marker("slow") is not None, workers=workers)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop the pair, and fail a session that leaves a process of its own behind."""
    kafka = session.config.stash[_SESSION]
    if kafka.owner_pid != os.getpid() or not kafka.folder.exists():
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    processes.end(kafka.folder / CONNECT, grace_s=0)
    LocalPair(kafka.folder / "pair").stop()
    left = [process.pid for process in processes.find(kafka.folder)]
    if left:
        processes.end(kafka.folder, grace_s=0)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if reporter:
            reporter.write_line(f"\nERROR: tests left Java processes behind: {left}", red=True)
    if session.exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(kafka.folder, ignore_errors=True)
    elif reporter:
        reporter.write_line(f"\nthe brokers' logs are in {kafka.folder}")


@pytest.fixture(scope="session")
def _guarded(pytestconfig: pytest.Config) -> Iterator[Path]:
    """Give the session's folder, everything in it tied to the session's life, and Java quick to start."""
    kafka = pytestconfig.stash[_SESSION]
    kafka.folder.mkdir(parents=True, exist_ok=True)
    guard_folder(kafka.folder, owner_pid=kafka.owner_pid)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in quick_java(kafka.folder / "class-archive").items():
            patch.setenv(name, value)
        yield kafka.folder


@pytest.fixture(scope="session")
def pair(_guarded: Path) -> LocalPair:
    """Give the session's source and target clusters, one broker each, running.

    Shared by all tests: use names of your own (``topic_name``), and do not stop or kill anything.
    """
    return LocalPair(_guarded / "pair").start()


@pytest.fixture(scope="session")
def connect_url(_guarded: Path, pair: LocalPair) -> str:
    """Give the REST address of the session's Connect worker, which writes to the target exactly once.

    Shared by all tests: name flows as nobody else does.
    """
    return shared_worker(_guarded / CONNECT, pair)


@pytest.fixture
def kafka_folder(_guarded: Path) -> Iterator[Path]:
    """Give a folder for Java processes of one test (``run_java(..., folder=kafka_folder)``), ended after it."""
    folder = _guarded / f"test-{uuid.uuid4().hex[:8]}"
    folder.mkdir()
    yield folder
    processes.end(folder, grace_s=0)


@pytest.fixture
def make_cluster(kafka_folder: Path) -> MakeCluster:
    """Start clusters of a test's own, ended after it: ``make_cluster(brokers=3, properties={...})``.

    Takes the arguments of ``LocalCluster`` except its folder.
    """

    def make(**settings: Any) -> LocalCluster:
        number = len(list(kafka_folder.iterdir()))
        return LocalCluster(kafka_folder / f"cluster-{number}", **settings).start()

    return make


@pytest.fixture
def topic_name() -> TopicName:
    """Give names no other test uses: ``topic_name()``, ``topic_name("orders")``."""

    def name(prefix: str = "topic") -> str:
        return f"{prefix}-{uuid.uuid4().hex[:8]}"

    return name
