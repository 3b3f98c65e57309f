"""MirrorMaker 2's files as flows: the one way in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from airflow_provider_mm2.mirror.errors import ImportRefused
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.flow_problems import describe, place_name
from airflow_provider_mm2.mirror.flow_values import NAME_PATTERN
from airflow_provider_mm2.mirror.mm2_import.cluster_settings import Side, cluster_settings
from airflow_provider_mm2.mirror.mm2_import.connectors import read_connectors
from airflow_provider_mm2.mirror.mm2_import.dedicated import read_dedicated
from airflow_provider_mm2.mirror.mm2_import.direction import Direction
from airflow_provider_mm2.mirror.mm2_import.documents import Connector, Properties, read_document
from airflow_provider_mm2.mirror.mm2_import.findings import Findings, Unhonoured
from airflow_provider_mm2.mirror.mm2_import.options import flow_keys
from airflow_provider_mm2.mirror.mm2_import.variables import Names, Variables

LONGEST_NAME = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What came of an import.

    :param flows: at least one; their names are unique.
    :param unhonoured: every key that is not part of them as it was given.
    """

    flows: tuple[MirrorFlow, ...]
    unhonoured: tuple[Unhonoured, ...]


def import_files(files: Iterable[tuple[str, bytes]]) -> Imported:
    """The flows of MirrorMaker 2's configuration.

    Each key is honoured or listed. No secret is in what is given back: ``${NAME}`` stands for it, and the list says
    what to set.

    :param files: name and content of each: a properties file of the dedicated mode, or connectors as JSON.
    :raises ImportRefused: a file cannot be read, has what MirrorMaker 2 itself would refuse or take for something
        else than was meant, or names that cannot be kept; or there is no flow in any of them.
    """
    given = list(files)
    findings = Findings()
    flows = tuple(_flows(given, findings))
    if not flows and not findings.has_problems:
        findings.problem("there is no flow: no direction A->B.enabled = true, and no MirrorSourceConnector")
        for why in findings.no_flow:
            findings.problem(why)
    if findings.has_problems:
        raise ImportRefused(path=", ".join(label for label, _ in given), problems=findings.problems)
    return Imported(flows=flows, unhonoured=findings.in_order())


def _flows(files: list[tuple[str, bytes]], findings: Findings) -> Iterator[MirrorFlow]:
    variables, names = Variables(), Names()
    for direction in _directions(files, findings):
        name = names.unique(_stem(direction.name), "-", LONGEST_NAME)
        if direction.named is not None and direction.named.value != name:
            why = f"the name of a flow is unique and has letters, digits, '_' and '-' only: it is {name}"
            findings.tell(direction.named, why, "choose another before its first run, if you like")
        flow = _flow(direction, name, findings, variables)
        if flow is not None:
            yield flow


def _directions(files: list[tuple[str, bytes]], findings: Findings) -> Iterator[Direction]:
    connectors: list[Connector] = []
    for label, data in files:
        document = read_document(label, data, findings)
        if isinstance(document, Properties):
            yield from read_dedicated(document, findings)
        else:
            connectors += document
    yield from read_connectors(connectors, findings)


def _flow(direction: Direction, name: str, findings: Findings, variables: Variables) -> MirrorFlow | None:
    for alias in (direction.source, direction.target):
        if re.fullmatch(NAME_PATTERN, alias) is None:
            findings.problem(
                f"the alias {alias!r} has other characters than letters, digits, '_' and '-': it is part of the names "
                "on the target, so it cannot be changed here"
            )
    keys: dict[str, Any] = flow_keys(direction, findings)
    sides = {
        "source": (direction.source, Side.SOURCE, direction.source_client),
        "target": (direction.target, Side.TARGET, direction.target_client),
    }
    for side, (alias, which, client) in sides.items():
        keys[side] = {"alias": alias, "settings": cluster_settings(alias, which, client, findings, variables)}
    if findings.has_problems:
        return None
    try:
        return MirrorFlow.model_validate({"name": name, **keys})
    except ValidationError as error:
        problems = describe(error)
    for place, text in problems:
        findings.problem(f"flow {name}: {place_name(place)}: {text}")
    return None


def _stem(wanted: str) -> str:
    """A name of the characters that a flow's name has."""
    return re.sub(r"-{2,}", "-", re.sub(r"[^a-zA-Z0-9_\-]+", "-", wanted)).strip("-")[:LONGEST_NAME] or "flow"
