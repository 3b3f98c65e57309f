"""Files of MirrorMaker 2 as pairs of key and value: a properties file, or JSON of Kafka Connect.

Source: Java, ``Properties.load`` (ISO 8859-1, the last of two equal keys counts); Kafka Connect, the bodies of
``POST /connectors``, ``PUT /connectors/NAME/config`` and the answer of ``GET /connectors?expand=info``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import javaproperties

from airflow_provider_mm2.mirror.mm2_import.findings import Findings, Given
from airflow_provider_mm2.mirror.mm2_import.property_lines import logical_lines

_SHOWN_NAME = re.compile(r"[\w.>\-]{1,100}")
"""Names that are told beside the number."""

_SHAPES = (
    "give connectors as Kafka Connect takes them: a map of keys, {'name': ..., 'config': {...}}, a list of these, or "
    "the answer of GET /connectors?expand=info"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Properties:
    """A properties file."""

    label: str
    entries: tuple[Given, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """The configuration of one connector.

    :param name: None where it has none.
    """

    name: Given | None
    entries: dict[str, Given]
    where: str


def read_document(label: str, data: bytes, findings: Findings) -> Properties | tuple[Connector, ...]:
    """A file by what it begins with: a brace or bracket begins JSON, all else is a properties file.

    :param label: what the file is called in messages.
    """
    if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        return tuple(_connectors(label, data, findings))
    return Properties(label=label, entries=_properties(label, data, findings))


def _properties(label: str, data: bytes, findings: Findings) -> tuple[Given, ...]:
    found: dict[str, Given] = {}
    for line, text in logical_lines(data.decode("iso-8859-1")):
        try:
            elements = list(javaproperties.parse(text))
        except javaproperties.InvalidUEscapeError:
            hint = "\\u without four hexadecimal digits, which Java refuses; write \\\\ for \\"
            findings.problem(f"{label}:{line}: {hint}")
            break
        for element in elements:
            if isinstance(element, javaproperties.KeyValue):
                given = Given(key=element.key, value=element.value, where=f"{label}:{line}")
                _tell_twice(found.get(element.key), given, findings)
                found[element.key] = given
    return tuple(found.values())


def _tell_twice(before: Given | None, given: Given, findings: Findings) -> None:
    if before is not None and before.value != given.value:
        findings.tell_unknown(before, f"given again at {given.where}; the last one counts", "leave one of them out")


def _connectors(label: str, data: bytes, findings: Findings) -> Iterator[Connector]:
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        findings.problem(f"{label}: byte {error.start + 1} is not UTF-8; save the file as UTF-8")
    except json.JSONDecodeError as error:
        findings.problem(f"{label}:{error.lineno}: not JSON: {error.msg} (column {error.colno})")
    except RecursionError:
        findings.problem(f"{label}: nested too deep; {_SHAPES}")
    else:
        items = document if isinstance(document, list) else _unpacked(document)
        for number, item in enumerate(items, start=1):
            connector = _connector(label, number, item, findings)
            if connector is not None:
                yield connector


def _unpacked(document: object) -> list[object]:
    """The connectors in one JSON object: the answer of ``GET /connectors?expand=info`` holds several."""
    if isinstance(document, dict) and document and all(_is_info(value) for value in document.values()):
        return [{"name": name, **value["info"]} for name, value in document.items()]
    return [document]


def _is_info(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("info"), dict)


def _connector(label: str, number: int, item: object, findings: Findings) -> Connector | None:
    place = f"{label}: connector {number}"
    if not isinstance(item, dict):
        findings.problem(f"{place}: not a map; {_SHAPES}")
        return None
    if "apiVersion" in item and "kind" in item:
        findings.problem(
            f"{place}: a resource of Kubernetes; give what its operator made of it: the answer of "
            "GET /connectors?expand=info, asked of its Connect cluster"
        )
        return None
    config = item.get("config", item)
    name = item.get("name", config.get("name") if isinstance(config, dict) else None)
    if isinstance(name, str) and _SHOWN_NAME.fullmatch(name):
        place = f"{place} ({name})"
    if not isinstance(config, dict) or not isinstance(name, str | None):
        findings.problem(f"{place}: {_SHAPES}")
        return None
    entries: dict[str, Given] = {}
    for key, value in config.items():
        given = Given(key=key, value=_text(value), where=place)
        if isinstance(value, dict | list):
            findings.refuse(given, "a list or a map; Kafka Connect takes text, with commas between the parts")
        elif value is not None:
            entries[key] = given
    named = Given(key="name", value=name, where=place) if name else None
    return Connector(name=named, entries=entries, where=place)


def _text(value: object) -> str:
    """A JSON scalar as the text that Kafka Connect makes of it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
