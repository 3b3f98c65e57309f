"""What a drill leaves for people and for a CI: the document, JUnit XML, the page, a line for the trend."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from airflow_provider_mm2.mirror.drill.page import html_page, junit_xml, read_history, summary_line
from airflow_provider_mm2.mirror.errors import ExtraMissing, FileNotWritable, NotAHistory, OptionsDisagree

PathGiven = Path | str | None


def check_extra(*asked: PathGiven) -> None:
    """See that what makes reports is installed, before anything is drilled.

    :raises ExtraMissing: it is not, and a report is asked for.
    """
    missing = tuple(name for name in ("jinja2", "junitparser", "pygal") if find_spec(name) is None)
    if missing and any(asked):
        raise ExtraMissing(extra="drill", packages=missing)


def check_writable(**asked: PathGiven) -> None:
    """See that each file can be written, and is another one, before anything is drilled.

    :param asked: by option.
    :raises FileNotWritable: one cannot.
    :raises OptionsDisagree: two are the same.
    """
    seen: dict[Path, str] = {}
    for name, given in asked.items():
        if not given:
            continue
        path, option = Path(given).absolute(), f"--{name.replace('_', '-')}"
        folder = path.parent
        if path.is_dir() or not folder.is_dir():
            problem = "it is a folder" if path.is_dir() else f"there is no folder {str(folder)!r}"
            raise FileNotWritable(path=str(given), problem=problem)
        if not os.access(path if path.exists() else folder, os.W_OK):
            raise FileNotWritable(path=str(given), problem="permission denied")
        if path in seen:
            raise OptionsDisagree(options=(seen[path], option), problem=f"both are {str(given)!r}")
        seen[path] = option


def earlier_drills(history: Path | None, flow: str) -> list[dict[str, Any]]:
    """What a file of histories has of a flow; none where there is no such file yet.

    :raises NotAHistory: it is something else.
    :raises FileNotWritable: it cannot be read.
    """
    if history is None or not history.exists():
        return []
    try:
        return read_history(history.read_text(encoding="utf-8").splitlines(), flow)
    except UnicodeDecodeError as error:
        raise NotAHistory(path=str(history), problem="it is no text") from error
    except ValueError as error:
        raise NotAHistory(path=str(history), problem=str(error)) from error
    except OSError as error:
        raise FileNotWritable(path=str(history), problem=str(error)) from error


def write_files(
    document: Mapping[str, Any],
    *,
    json_out: PathGiven = None,
    junit: PathGiven = None,
    html: PathGiven = None,
    history: PathGiven = None,
    earlier: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Write what is asked for.

    :raises FileNotWritable: one cannot be written.
    """
    line = summary_line(document)
    try:
        if history:
            with Path(history).open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        if json_out:
            Path(json_out).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        if junit:
            Path(junit).write_text(junit_xml(document), encoding="utf-8")
        if html:
            Path(html).write_text(html_page(document, [*earlier, json.loads(line)]), encoding="utf-8")
    except OSError as error:
        raise FileNotWritable(path=str(error.filename), problem=error.strerror or str(error)) from error
