"""Downloads: once, whole, by one process at a time."""

from __future__ import annotations

import http.server
import io
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_mm2.local.errors import DownloadFailed
from airflow_provider_mm2.local.jars import KAFKA_COORDINATES, kafka_classpath, resolve_jars
from airflow_provider_mm2.local.ports import pick_ports

COORDINATES = ("org.example:thing:1.0",)
POM = b"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>org.example</groupId><artifactId>thing</artifactId><version>1.0</version></project>"""
DOWNLOAD = "from airflow_provider_mm2.local.jars import resolve_jars; print(resolve_jars(('org.example:thing:1.0',)))"


class Repository:
    """A Maven repository of one jar on this machine, which counts what is asked of it."""

    def __init__(self) -> None:
        self.jar = a_jar()
        self.asked: list[str] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.rsplit("/", 1)[1]
                outer.asked.append(name)
                body = {"thing-1.0.pom": POM, "thing-1.0.jar": outer.jar}.get(name)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_: object) -> None:
                """Keep the test's output clean."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/maven"


def a_jar() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("org/example/Thing.class", b"x" * 1000)
    return content.getvalue()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a cache of its own."""
    monkeypatch.setenv("MM2_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """Run a repository on this machine and have it used."""
    repository = Repository()
    monkeypatch.setenv("MM2_MAVEN_URL", repository.url)
    thread = threading.Thread(target=repository.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield repository
    repository.server.shutdown()
    repository.server.server_close()
    thread.join()


def test_second_use_asks_nobody(repository: Repository) -> None:
    """The jars are fetched once; afterwards the repository is not needed."""
    lines: list[str] = []
    folder = resolve_jars(COORDINATES, report=lines.append)
    assert [each.name for each in folder.iterdir()] == ["thing-1.0.jar"]
    assert lines[-1] == "downloading org.example:thing:1.0: 1 of 1 jars"
    repository.asked.clear()
    assert resolve_jars(COORDINATES) == folder
    assert repository.asked == []


def test_two_processes_download_once(repository: Repository) -> None:
    """Two processes that need the same jars at the same time fetch each of them once."""
    both = [subprocess.Popen([sys.executable, "-c", DOWNLOAD], stdout=subprocess.PIPE) for _ in range(2)]
    answers = [each.communicate()[0] for each in both]
    assert [each.returncode for each in both] == [0, 0]
    assert answers[0] == answers[1]
    assert repository.asked.count("thing-1.0.jar") == 1


def test_broken_jar_is_refused(repository: Repository, cache: Path) -> None:
    """A jar that arrives damaged is not kept: the next attempt fetches it anew."""
    whole, repository.jar = repository.jar, repository.jar.replace(b"xxx", b"xyx", 1)
    with pytest.raises(DownloadFailed, match=r"thing-1\.0\.jar arrived broken"):
        resolve_jars(COORDINATES)
    assert [each.name for each in cache.iterdir() if each.is_dir()] == []
    repository.jar = whole
    assert resolve_jars(COORDINATES).is_dir()


def test_unreachable_repository(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository that cannot be reached gives one message that names the log, which holds the details."""
    monkeypatch.setenv("MM2_MAVEN_URL", f"http://127.0.0.1:{pick_ports(1)[0].client}/maven")
    with pytest.raises(DownloadFailed) as failure:
        kafka_classpath()
    assert KAFKA_COORDINATES[0] in str(failure.value)
    assert str(cache / "download.log") in str(failure.value)
    assert "Traceback" in (cache / "download.log").read_text()


def test_unknown_jar(repository: Repository) -> None:
    """Coordinates the repository lacks are named in the message."""
    with pytest.raises(DownloadFailed, match=r"org\.example:absent:2\.0"):
        resolve_jars(("org.example:absent:2.0",))
    assert repository.asked
