"""What commands print: one JSON document or text on standard output, everything else on standard error."""

from __future__ import annotations

import json
import logging
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
        title = column.replace("_", " ")
        # A number that is folded is read as two; where the heading is the longer one, it is what breaks.
        whole = numeric and len(title) <= max(len(_cell(row.get(column))) for row in rows)
        table.add_column(title, justify="right" if numeric else "left", overflow="fold", no_wrap=whole)
    for row in rows:
        table.add_row(*(_cell(row.get(column)) for column in columns))
    Console(highlight=False, markup=False, width=table_width()).print(table)


def table_width() -> int:
    """Columns that a table may have."""
    # A pipe has no width of its own, and a topic's name folded at 80 columns cannot be searched for.
    return Console().width if sys.stdout.isatty() else PIPE_WIDTH


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    # A group may be called anything: what would move the cursor is shown as an escape.
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(value))


NAMED = 10
"""Names of one rule that a table has."""


def print_left_out(left_out: list[dict[str, str]], kind: str) -> None:
    """Print what is left out, if anything is; where names are cut off, the title says where they are.

    :param kind: ``topic`` or ``group``.
    """
    rows = by_rule(left_out, kind)
    is_cut = any(row[f"{kind}s"] > NAMED for row in rows)
    if rows:
        title = f"{kind}s out, {NAMED} names of a rule at most: --json has all" if is_cut else f"{kind}s out"
        print_table(title, rows, ("rule", f"{kind}s", "names"))


def by_rule(left_out: list[dict[str, str]], kind: str) -> list[dict[str, Any]]:
    """What is left out, a row for each rule: a cluster has hundreds, and a flow wants a few.

    :param kind: ``topic`` or ``group``, which each row has beside its ``rule``.
    """
    names: dict[str, list[str]] = {}
    for row in left_out:
        names.setdefault(row["rule"], []).append(row[kind])
    return [
        {"rule": rule, f"{kind}s": len(some), "names": ", ".join(some[:NAMED]) + (", ..." if len(some) > NAMED else "")}
        for rule, some in sorted(names.items())
    ]


class Warnings(logging.Handler):
    """Prints warnings on standard error, those of the log and those of a report, each once for a command."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._told: set[str] = set()

    def begin(self) -> None:
        """Forget what was told by a command before, and listen."""
        self._told.clear()
        logging.getLogger("airflow_provider_mm2").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Print what is logged."""
        self.tell(record.getMessage())

    def tell(self, text: str) -> None:
        """Print a warning, unless it has been."""
        if text not in self._told:
            self._told.add(text)
            stderr.print(f"warning: {text}", soft_wrap=True)


WARNINGS = Warnings()


def print_warnings(warnings: list[str]) -> None:
    """Print warnings on standard error, as far as the log has not told them."""
    for warning in warnings:
        WARNINGS.tell(warning)


def problem_lines(problems: list[dict[str, Any]]) -> list[str]:
    """Each problem in one line, and below those of one kind, once, what they likely come from and the next move."""
    found: dict[str, list[str]] = {}
    for problem in problems:
        first, _, rest = problem["message"].partition("\n  Likely cause: ")
        found.setdefault(rest, []).append(first)
    lines: list[str] = []
    for rest, firsts in found.items():
        lines += firsts
        if rest:
            lines[-1] += f"\n  Likely cause: {rest}"
    return lines
