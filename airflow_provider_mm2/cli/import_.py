"""`mm2 import`: MirrorMaker 2's own configuration as flow files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from airflow_provider_mm2.cli.output import AsJson, failures_as_exit_codes, print_document
from airflow_provider_mm2.mirror.errors import FilesInTheWay, ImportUnreadable
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.mm2_import.findings import Unhonoured
from airflow_provider_mm2.mirror.mm2_import.flow_text import flow_document, flow_yaml
from airflow_provider_mm2.mirror.mm2_import.importer import import_files

Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="A properties file, or connectors as JSON; several files are read as one."),
]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Write a file for each flow into DIR.")]


def command(files: Files, out: Out = None, as_json: AsJson = False) -> None:
    """Turn MirrorMaker 2's configuration into flows, and list every key that is not honoured. Contacts nothing."""
    with failures_as_exit_codes(as_json):
        imported = import_files([(str(path), _content(path)) for path in files])
        written = [] if out is None else write_flows(imported.flows, out)
    for found in imported.unhonoured:
        typer.echo(_line(found), err=True)
    if as_json:
        document = {
            "flows": [flow_document(flow) for flow in imported.flows],
            "unhonoured": [found.to_json() for found in imported.unhonoured],
        }
        print_document(document if out is None else {**document, "files": [str(path) for path in written]})
    elif out is None:
        typer.echo("---\n".join(map(flow_yaml, imported.flows)), nl=False)
    else:
        for path in written:
            typer.echo(str(path))


def write_flows(flows: tuple[MirrorFlow, ...], directory: Path) -> list[Path]:
    """Write a file for each flow, and give what was written.

    :param directory: made where it is missing; usually the folder of flows.
    :raises FilesInTheWay: one of them is there already; nothing was written.
    """
    wanted = {directory / f"{flow.name}.yaml": flow_yaml(flow) for flow in flows}
    in_the_way = tuple(str(path) for path in wanted if path.exists() or path.is_symlink())
    if in_the_way:
        raise FilesInTheWay(paths=in_the_way, otherwise="give another --out, or move the files away")
    directory.mkdir(parents=True, exist_ok=True)
    for path, text in wanted.items():
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    return list(wanted)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        problem = str(getattr(error, "strerror", None) or error)
    raise ImportUnreadable(path=str(path), problem=problem)


def _line(found: Unhonoured) -> str:
    """One key that is not honoured, as people read it."""
    place = f"{found.where}: " if found.where else ""
    value = "" if found.value is None else f" = {found.value}"
    return f"{place}{found.key}{value}: {found.why}; {found.instead}"
