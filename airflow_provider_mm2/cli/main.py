"""The `mm2` command: the same flow as the operators, for a shell, when Airflow itself is gone."""

from __future__ import annotations

import sys
import traceback
from importlib import metadata
from typing import Annotated

import typer

from airflow_provider_mm2.cli import (
    connect,
    drill,
    failback,
    failover,
    forget,
    groups,
    hand_over,
    import_,
    init,
    local,
    mirror,
    seed,
    verify,
)
from airflow_provider_mm2.cli.output import WARNINGS

FAILED_FOR_GOOD = 4

app = typer.Typer(
    help="Keep a pair of Kafka clusters ready for disaster.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mm2 {metadata.version('airflow-provider-mm2')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and end.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the command itself, before any of its commands."""
    WARNINGS.begin()


app.command()(mirror.run)
app.command()(mirror.plan)
app.command()(mirror.status)
app.command()(groups.groups)
app.command()(seed.seed)
app.command()(forget.forget)
app.command()(verify.verify)
app.command()(failover.failover)
app.command()(failback.failback)
app.command()(drill.drill)
app.command()(connect.connect)
app.command("hand-over")(hand_over.command)
app.command("import")(import_.command)
app.command("init")(init.command)
app.add_typer(local.app, name="local")


def main() -> None:
    """Run the command line; a fault of our own ends with 4, never with 1, which means that something was found."""
    try:
        app()
    except Exception:  # noqa: BLE001 - the last resort of a process; the traceback is shown whole
        traceback.print_exc()
        sys.exit(FAILED_FOR_GOOD)


if __name__ == "__main__":
    main()
