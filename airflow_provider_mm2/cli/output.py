"""What commands print: one JSON document or text on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from airflow_provider_mm2.mirror.errors import MirrorError

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

PIPE_WIDTH = 160

stderr = Console(stderr=True, highlight=False, markup=False)


@contextmanager
def failures_as_exit_codes(as_json: bool = False) -> Iterator[None]:
    """Print an error of ours and end with its exit code: 2 settings, 3 worth a retry, 4 failed for good.

    With ``as_json`` the error is a document on standard output too.
    """
    try:
        yield
    except MirrorError as error:
        typer.echo(str(error), err=True)
        if as_json:
            typer.echo(json.dumps({"error": error_json(error)}, default=str))
        raise typer.Exit(error.exit_code) from error


def error_json(error: MirrorError) -> dict[str, Any]:
    """An error as plain values."""
    facts = {name: list(value) if isinstance(value, tuple) else value for name, value in error.facts.items()}
    return {"kind": type(error).__name__, "message": str(error), "retriable": error.retriable, "facts": facts}


def print_document(document: dict[str, Any]) -> None:
    """Print one JSON document on standard output."""
    typer.echo(json.dumps(document))


def print_table(title: str, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    """Print rows as a table on standard output; a missing value is a dash."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for column in columns:
        numeric = any(isinstance(row.get(column), (int, float)) for row in rows)
        table.add_column(column.replace("_", " "), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row.get(column)) for column in columns))
    # A pipe has no width of its own, and a topic's name folded at 80 columns cannot be searched for.
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    Console(highlight=False, markup=False, width=width).print(table)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    # A group may be called anything: what would move the cursor is shown as an escape.
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(value))


def by_rule(left_out: list[dict[str, str]], kind: str) -> list[dict[str, Any]]:
    """What is left out, a row for each rule: a cluster has hundreds, and a flow wants a few.

    :param kind: ``topic`` or ``group``, which each row has beside its ``rule``.
    """
    names: dict[str, list[str]] = {}
    for row in left_out:
        names.setdefault(row["rule"], []).append(row[kind])
    return [
        {"rule": rule, f"{kind}s": len(some), "names": ", ".join(some[:10]) + (", ..." if len(some) > 10 else "")}
        for rule, some in sorted(names.items())
    ]


def print_warnings(warnings: list[str]) -> None:
    """Print warnings on standard error."""
    for warning in warnings:
        stderr.print(f"warning: {warning}", soft_wrap=True)
