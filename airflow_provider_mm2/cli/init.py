"""`mm2 init`: one flow and the DAG files, as the repository's `dags/` has them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from airflow_provider_mm2.cli.output import AsJson, failures_as_exit_codes, print_document
from airflow_provider_mm2.mirror.errors import FilesInTheWay


def init(directory: Path, force: bool = False) -> list[Path]:
    """Write the DAG files and the first flow, and give what was written.

    :param directory: made where it is missing; usually Airflow's folder of DAGs.
    :param force: overwrite files of these names.
    :raises FilesInTheWay: one of them is there already; nothing was written.
    """
    wanted = {directory / name: content for name, content in _templates().items()}
    in_the_way = tuple(str(path) for path in wanted if path.exists() or path.is_symlink())
    if in_the_way and not force:
        raise FilesInTheWay(
            paths=in_the_way, otherwise="give another directory, move the files away, or overwrite them with --force"
        )
    for path, content in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return list(wanted)


def command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Usually Airflow's folder of DAGs.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the DAG files and a first flow into DIR; they run as they are against the local pair."""
    with failures_as_exit_codes(as_json):
        written = init(directory, force)
    if as_json:
        print_document({"files": [str(path) for path in written]})
    else:
        for path in written:
            typer.echo(str(path))


def _templates() -> dict[str, bytes]:
    """Content of each file by its relative name; the package holds them as they are written."""
    root = Path(__file__).with_name("templates")
    found = sorted(path for path in root.rglob("*") if path.suffix in {".py", ".yaml"})
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}
