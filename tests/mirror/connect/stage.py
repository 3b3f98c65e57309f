"""A flow of its own on the session's Connect worker: topics, its file, and the command line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from typer.testing import CliRunner, Result

from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.connect.connectors import Part
from airflow_provider_mm2.mirror.connect.rest import is_rebalancing
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.contract.lab import Side, messages
from tests.contract.real_lab import RealLab

LIMIT_S = 90.0


class ConnectStage:
    """A topic with ten records on the source, and a flow that connectors are to mirror it by."""

    def __init__(
        self,
        pair: LocalPair,
        lab: RealLab,
        url: str,
        folder: Path,
        partitions: int = 1,
        count: int = 10,
        **changes: Any,
    ) -> None:
        self.lab, self.url, self.folder = lab, url, folder
        self.trust = ""
        self.topic, self.name = lab.new_name(), lab.new_name()
        self.source, self.target = TopicPartition(self.topic, 0), TopicPartition(f"us.{self.topic}", 0)
        self.document: dict[str, Any] = {
            "name": self.name,
            "source": {"alias": "us", "settings": dict(pair.addresses["source"])},
            "target": {"alias": "eu", "settings": dict(pair.addresses["target"])},
            "topics": [self.topic],
            "groups": [self.topic],
            "engine": "connect",
            "connect": {"url": url, "refresh_s": 1, "wait_s": 60},
            **changes,
        }
        lab.create_topic(Side.SOURCE, self.topic, partitions=partitions, settings={"retention.ms": "-1"})
        lab.produce(Side.SOURCE, self.source, *messages(count))

    @property
    def flow(self) -> MirrorFlow:
        """The flow."""
        return MirrorFlow.model_validate(self.document)

    def mm2(self, action: str, *options: str, code: int = 0) -> str:
        """Run ``mm2 connect`` on the flow's file, which ends as it should; what it prints, all of it."""
        result = self._run("connect", action, *options)
        assert result.exit_code == code, result.output
        return result.output

    def call(self, command: str, *options: str, code: int | None = 0) -> Any:
        """Run another command on the flow's file; its document.

        :param code: how it is to end; None: however it does.
        """
        result = self._run(command, "--json", *options)
        assert code in (None, result.exit_code), result.output
        return json.loads(result.stdout)

    def told(self, action: str, *options: str, code: int | None = 0) -> Any:
        """The document of ``mm2 connect --json``."""
        return self.call("connect", action, *options, code=code)

    def _run(self, command: str, *arguments: str) -> Result:
        file = self.folder / f"{self.name}.yaml"
        file.write_text(json.dumps(self.document), encoding="utf-8")
        return CliRunner().invoke(app, [command, str(file), *arguments])

    def connector(self, part: Part) -> str:
        """The name of one of its connectors."""
        return f"{self.name}.{part.value}"

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Ask Connect itself, once its workers do not rebalance."""
        answers: list[httpx.Response] = []

        def is_settled() -> bool:
            url = f"{self.url}/connectors{path}"
            answers.append(httpx.request(method, url, timeout=30, trust_env=False, **options))
            return not is_rebalancing(answers[-1])

        until(is_settled, "an answer of the workers")
        return answers[-1]

    def names(self) -> list[str]:
        """The flow's connectors that there are."""
        return sorted(name for name in self.ask("GET", "").json() if name.startswith(self.name))

    def mirrored(self) -> list[Any]:
        """What a reader of committed records finds on the target; nothing where the topic is not there yet."""
        there = self.target.topic in self.lab.pair.target.list_topics()
        return [message.value for _, message in self.lab.visible(Side.TARGET, self.target)] if there else []

    def await_mirrored(self, count: int) -> list[Any]:
        """Wait until so many records are on the target."""
        until(lambda: len(self.mirrored()) >= count, f"{count} records on the target")
        return self.mirrored()

    def status(self) -> Any:
        """The document of its status, whatever it is."""
        return json.loads(self._run("connect", "status", "--json").stdout)

    def await_running(self) -> Mapping[str, Any]:
        """Wait until all of it runs; the document of its status."""
        until(lambda: self.status()["running"], "running connectors")
        document: Mapping[str, Any] = self.status()
        return document


@contextmanager
def stage_of(
    pair: LocalPair, url: str, folder: Path, partitions: int = 1, count: int = 10, **changes: Any
) -> Iterator[ConnectStage]:
    """Make a stage, and take its connectors away after it."""
    lab = RealLab(pair.addresses)
    stage = ConnectStage(pair, lab, url, folder, partitions, count, **changes)
    try:
        yield stage
    finally:
        for name in stage.names():
            stage.ask("DELETE", f"/{name}")
        lab.close()


def until(is_so: Callable[[], bool], what: str) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)
