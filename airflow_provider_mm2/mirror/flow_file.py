"""Flow files: one YAML file a flow, read so that every fault is told with its line, and no value is ever shown.

A setting's value can be a secret, and a typing error moves it anywhere: into a key, a tag, an alias. So messages are
made from key names and rules alone; what the YAML reader or pydantic say of a value is left out.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from airflow_provider_mm2.mirror.errors import FlowInvalid, FlowNotFound
from airflow_provider_mm2.mirror.flow import DagSettings, MirrorFlow
from airflow_provider_mm2.mirror.flow_problems import describe, place_name
from airflow_provider_mm2.mirror.flow_values import NAME_PATTERN
from airflow_provider_mm2.mirror.yaml_lines import Place, YamlDocument, YamlFault, read_yaml

FLOWS_VARIABLE = "MM2_FLOWS"
"""Environment variable that names the folder of flows, an absolute path."""

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowFile:
    """One file of the folder and what came of it.

    :param dag: the default where the file's own block is unusable.
    :param name: what the file calls its flow, also where the rest of it is wrong; None where it does not say.
    """

    path: Path
    result: MirrorFlow | FlowInvalid
    dag: DagSettings
    name: str | None = None


def flow_folder(default: Path) -> Path:
    """The folder of flows: ``$MM2_FLOWS``, else ``default``; never taken from the working directory.

    :raises FlowInvalid: ``MM2_FLOWS`` is not an absolute path.
    """
    given = os.environ.get(FLOWS_VARIABLE, "").strip()
    if not given:
        return default
    folder = Path(given).expanduser()
    if not folder.is_absolute():
        problem = f"{FLOWS_VARIABLE} is {given!r}: give an absolute path, workers run in other directories"
        raise FlowInvalid(path=FLOWS_VARIABLE, problems=(problem,))
    return folder


def load_flow(path: Path) -> MirrorFlow:
    """The flow of one file.

    :raises FlowNotFound: there is no such file.
    :raises FlowInvalid: it is not UTF-8, not YAML, or not a flow; one line for each problem.
    """
    return _flow_of(path, _read(path))


def flow_from_mapping(mapping: Mapping[str, object], label: str = "flow") -> MirrorFlow:
    """The flow that a mapping describes.

    :param label: what the mapping is called in messages.
    :raises FlowInvalid: it does not describe a flow; one line for each problem.
    """
    try:
        return MirrorFlow.model_validate(dict(mapping))
    except ValidationError as error:
        problems = tuple(_line(label, None, place, text) for place, text in describe(error))
    raise FlowInvalid(path=label, problems=problems)


def problem_in(path: Path, place: Place, text: str) -> FlowInvalid:
    """A fault found after loading, told with the line of ``place`` in the file."""
    try:
        line = _read(path).line_of(place)
    except (FlowInvalid, FlowNotFound):
        line = 1
    return FlowInvalid(path=str(path), problems=(_line(path.name, line, place, text),))


def read_flows(folder: Path) -> tuple[FlowFile, ...]:
    """Every flow file of a folder, by name; a bad file is a result, not an exception.

    Two files with one flow name are both refused: nothing says which of them is meant.

    :raises FlowNotFound: there is no such folder.
    """
    if not folder.is_dir():
        raise FlowNotFound(name="*", looked_in=str(folder))
    files = [_load(path) for path in sorted(folder.iterdir()) if _is_flow_file(path)]
    names = Counter(file.result.name for file in files if isinstance(file.result, MirrorFlow))
    return tuple(_refuse_shared_name(file, files, names) for file in files)


def find_flow(name_or_path: str, folder: Path, *, relative_to: Path | None = None) -> MirrorFlow:
    """A flow by its name, by its file's name without suffix, or by the path of its file.

    :param folder: where names, and relative paths, are looked for.
    :param relative_to: where relative paths are looked for first; a command line gives its working directory.
    :raises FlowNotFound: nothing fits; the error lists the flows that are there.
    :raises FlowInvalid: the file that fits is not a flow, or another has the same flow name.
    """
    if name_or_path.endswith(SUFFIXES):
        places = [place / name_or_path for place in (relative_to, folder) if place is not None]
        for path in places:
            if path.is_file():
                return load_flow(path)
        raise FlowNotFound(name=name_or_path, looked_in=str(places[0].parent), known=_known(folder))
    files = read_flows(folder) if folder.is_dir() else ()
    fitting = [file.result for file in files if name_or_path == file.name]
    fitting += [file.result for file in files if name_or_path == file.path.stem]
    if not fitting:
        raise FlowNotFound(name=name_or_path, looked_in=str(folder), known=_known(folder))
    if isinstance(fitting[0], FlowInvalid):
        raise fitting[0]
    return fitting[0]


def _known(folder: Path) -> tuple[str, ...]:
    files = read_flows(folder) if folder.is_dir() else ()
    return tuple(
        file.result.name if isinstance(file.result, MirrorFlow) else f"{file.path.name} (no flow as it stands)"
        for file in files
    )


def _is_flow_file(path: Path) -> bool:
    return path.suffix in SUFFIXES and not path.name.startswith(".") and path.is_file()


def _load(path: Path) -> FlowFile:
    try:
        document = _read(path)
    except FlowInvalid as error:
        return FlowFile(path=path, result=error, dag=DagSettings())
    try:
        flow = _flow_of(path, document)
    except FlowInvalid as error:
        return FlowFile(path=path, result=error, dag=_dag_settings(document), name=_name(document))
    return FlowFile(path=path, result=flow, dag=flow.dag, name=flow.name)


def _name(document: YamlDocument) -> str | None:
    """The flow's name where it is usable by itself, so that a failing DAG keeps its id and is not paused anew."""
    name = document.value.get("name") if isinstance(document.value, dict) else None
    return name if isinstance(name, str) and re.fullmatch(NAME_PATTERN, name) else None


def _dag_settings(document: YamlDocument) -> DagSettings:
    """The file's ``dag:`` block where it is usable by itself, so that a failing DAG keeps its schedule."""
    block = document.value.get("dag", {}) if isinstance(document.value, dict) else {}
    try:
        return DagSettings.model_validate(block)
    except ValidationError:
        return DagSettings()


def _refuse_shared_name(file: FlowFile, files: list[FlowFile], names: Counter[str]) -> FlowFile:
    flow = file.result
    if isinstance(flow, FlowInvalid) or names[flow.name] == 1:
        return file
    others = [
        other.path.name
        for other in files
        if other is not file and isinstance(other.result, MirrorFlow) and other.result.name == flow.name
    ]
    text = f"the flow name {flow.name!r} is also used by {', '.join(others)}; a name is unique on the target"
    return replace(file, result=problem_in(file.path, ("name",), text))


def _read(path: Path) -> YamlDocument:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise FlowNotFound(name=path.name, looked_in=str(path.parent), known=_known(path.parent)) from None
    except OSError as error:
        raise FlowInvalid(path=str(path), problems=(f"{path.name}: cannot be read: {error.strerror}",)) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        problem = _line(path.name, line, (), f"byte {error.start + 1} of the file is not UTF-8; save it as UTF-8")
        raise FlowInvalid(path=str(path), problems=(problem,)) from None
    try:
        return read_yaml(text)
    except YamlFault as fault:
        problems = (_line(path.name, fault.line, fault.place, fault.text),)
    raise FlowInvalid(path=str(path), problems=problems)


def _flow_of(path: Path, document: YamlDocument) -> MirrorFlow:
    if not isinstance(document.value, dict):
        kind = "empty" if document.value is None else "not a mapping"
        text = f"the file is {kind}; it begins with 'name:', 'source:', 'target:' and 'topics:'"
        raise FlowInvalid(path=str(path), problems=(_line(path.name, 1, (), text),))
    try:
        return MirrorFlow.model_validate(document.value)
    except ValidationError as error:
        found = [(document.line_of(place), place, text) for place, text in describe(error)]
    found.sort(key=lambda problem: problem[0])
    raise FlowInvalid(path=str(path), problems=tuple(_line(path.name, *problem) for problem in found))


def _line(label: str, line: int | None, place: Place, text: str) -> str:
    head = label if line is None else f"{label}:{line}"
    named = place_name(place)
    return f"{head}: {named}: {text}" if named else f"{head}: {text}"
