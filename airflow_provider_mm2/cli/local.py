"""`mm2 local`: the local pair of real clusters, for a shell.

Results go to standard output, everything else to standard error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from airflow_provider_mm2.cli.output import AsJson, failures_as_exit_codes
from airflow_provider_mm2.local.errors import LocalExtraMissing
from airflow_provider_mm2.local.folders import pair_folder
from airflow_provider_mm2.local.spec import Security

if TYPE_CHECKING:
    from airflow_provider_mm2.local.pair import LocalPair

app = typer.Typer(help="Run a pair of real Kafka clusters on this machine.", no_args_is_help=True)

Folder = Annotated[Path | None, typer.Option("--dir", help="Folder of the pair.", show_default="a user folder")]


@app.command()
def up(
    folder: Folder = None,
    brokers: Annotated[int | None, typer.Option(min=1, help="Brokers of each cluster.", show_default="1")] = None,
    security: Annotated[
        Security | None, typer.Option(help="How clients talk to the brokers.", show_default="plaintext")
    ] = None,
    timeout_s: Annotated[float, typer.Option("--timeout", min=1, help="Seconds for the start.")] = 120.0,
    as_json: AsJson = False,
) -> None:
    """Start the pair, or what is missing of it, and print its addresses; it runs until `mm2 local down`.

    The first start downloads Kafka (57 MB) into the folder MM2_CACHE, by default one in the user's cache;
    MM2_MAVEN_URL names another Maven repository, JAVA_HOME another Java (17 or newer).
    """
    asked = {"brokers": brokers, "security": security}
    with failures_as_exit_codes(as_json):
        pair = _pair(folder, {name: value for name, value in asked.items() if value is not None})
        missing = 2 * pair.source.spec.brokers - _count_running(pair)
        with _progress() as report:
            pair.start(timeout_s=timeout_s, report=report)
        _print(pair.addresses, as_json)
    done = f"started {missing} brokers" if missing else "the pair is running already"
    typer.echo(f"{done}; folder and logs: {pair.folder}", err=True)


@app.command()
def status(folder: Folder = None, as_json: AsJson = False) -> None:
    """Tell which brokers of the pair run, and print its addresses."""
    with failures_as_exit_codes(as_json):
        pair = _pair(folder, {})
        running, addresses = pair.running(), pair.addresses
        document = {
            "state": _state(pair),
            "folder": str(pair.folder),
            "running": running,
            **{name: addresses.get(name, {}) for name in running},
        }
        _print(document, as_json)


@app.command()
def down(
    folder: Folder = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete its records, settings and logs, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop the pair; its records stay for the next `mm2 local up`, unless deleted."""
    with failures_as_exit_codes(as_json):
        pair = _pair(folder, {})
        addresses = pair.addresses
        ended = pair.stop()
        if delete:
            pair.delete()
        _print({"ended": ended, "deleted": delete, **addresses}, as_json)


def _pair(folder: Path | None, changes: dict[str, Any]) -> LocalPair:
    try:
        from airflow_provider_mm2.local.pair import LocalPair
    except ImportError as error:
        raise LocalExtraMissing(package=error.name or "psutil") from error
    return LocalPair.open(folder or pair_folder(), **changes)


def _count_running(pair: LocalPair) -> int:
    return sum(len(nodes) for nodes in pair.running().values())


def _state(pair: LocalPair) -> str:
    """Name what is there: absent, stopped, partial or running."""
    count = _count_running(pair)
    if not count:
        return "stopped" if pair.addresses else "absent"
    return "running" if count == 2 * pair.source.spec.brokers else "partial"


def _print(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(document))
        return
    for name, value in document.items():
        if isinstance(value, dict):
            typer.echo(f"{name}:")
            for key, inner in value.items():
                typer.echo(f"  {key}: {inner}")
        else:
            typer.echo(f"{name}: {value}")


class _Lines:
    """Progress for a log file or a pipe: one line when the kind of work changes, not one a jar."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = ""

    def __call__(self, line: str) -> None:
        kind = re.sub(r"\d+", "", line)
        if kind != self._last:
            self._console.print(line, soft_wrap=True)
        self._last = kind


@contextmanager
def _progress() -> Iterator[Any]:
    console = Console(stderr=True, highlight=False, markup=False)
    if not console.is_terminal:
        yield _Lines(console)
        return
    with console.status("starting") as spinner:
        yield spinner.update


if __name__ == "__main__":
    app()
