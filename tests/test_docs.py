"""What README and docs say is what the code has, and the reverse."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from datetime import datetime
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer.main
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.mirror.connect.limits import LIMITS
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.mm2_import.keys import KEYS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

SAID_IN_WORDS = {"as below", "MirrorMaker 2's list"}
"""Defaults too long for a table."""


def documented_keys() -> Iterator[tuple[str, str]]:
    """Give each key of a flow in docs/flow.md with its default, as they are written there."""
    for line in (ROOT / "docs" / "flow.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            yield from ((key, cells[1]) for key in re.findall(r"`([^`]+)`", cells[0]))


def fields_of(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Give each key of a model and of the models in it, with its field."""
    for name, field in model.model_fields.items():
        yield prefix + name, field
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from fields_of(field.annotation, f"{prefix}{name}.")


def written(field: FieldInfo) -> str:
    """Give a field's default as docs/flow.md writes it."""
    if field.is_required():
        return "required"
    default: Any = field.default
    if isinstance(default, BaseModel):
        return "as below"
    if isinstance(default, datetime):
        return f"`{default:%Y-%m-%dT%H:%M:%SZ}`"
    value = default.value if isinstance(default, Enum) else default
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`"


def test_every_key_of_a_flow_is_documented() -> None:
    """docs/flow.md has each key once, with its default, and none that does not exist."""
    documented = list(documented_keys())
    assert sorted(key for key, _ in documented) == sorted(key for key, _ in fields_of(MirrorFlow))
    defaults = dict(documented)
    assert [
        f"{key}: {defaults[key]} is documented, {written(field)} is so"
        for key, field in fields_of(MirrorFlow)
        if defaults[key] != written(field) and defaults[key] not in SAID_IN_WORDS
    ] == []


def test_every_limit_of_connectors_is_documented() -> None:
    """The page on Connect has a row for each key that MirrorMaker 2 honours in part, with the values that it takes."""
    page = (ROOT / "docs" / "how-to" / "connect.md").read_text("utf-8")
    rows = [row for row in re.findall(r"^\| (`.*`) \| (.*) \| .* \|$", page, re.M) if "Mirror" not in row[0]]
    taken = {
        key: set(re.findall(r"`([^`]+)`", values)) for keys, values in rows for key in re.findall(r"`([^`]+)`", keys)
    }
    words = {True: "true", False: "false"}
    assert taken == {key: {str(words.get(one, one)) for one in limit.able} for key, limit in LIMITS.items()}


def test_every_key_that_an_import_honours_is_documented() -> None:
    """The page on MirrorMaker 2 has a row for each of its keys that becomes a key of a flow, and none for others."""
    page = (ROOT / "docs" / "how-to" / "mirrormaker-2.md").read_text("utf-8")
    table = page.split("| of MirrorMaker 2 |")[1].split("\n\n")[0]
    documented = {key for row in table.splitlines()[2:] for key in re.findall(r"`([^`]+)`", row.split("|")[1])}
    fields = {field for row in table.splitlines()[2:] for field in re.findall(r"`([a-z_.]+)`", row.split("|")[2])}
    own_code = {"source.cluster.alias", "target.cluster.alias", "replication.policy.class", "replication.factor"}
    own_code |= {"replication.policy.separator", "offset-syncs.topic.replication.factor"}
    own_code |= {"checkpoints.topic.replication.factor", "sync.topic.acls.enabled", "use.defaults.from"}
    assert documented == own_code | {key for key, known in KEYS.items() if known.field is not None}
    assert fields <= {key for key, _ in fields_of(MirrorFlow)}


def commands(group: Any, prefix: str = "mm2") -> Iterator[tuple[str, Any]]:
    """Give each command of the command line by its whole name."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command


def options(command: Any) -> set[str]:
    """Give the long options of a command."""
    return {name for option in command.params for name in option.opts if name.startswith("--")}


COMMANDS = dict(commands(typer.main.get_command(app)))


def test_every_command_is_documented() -> None:
    """docs/cli.md has a section for each command, with its options, and none that does not exist."""
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    sections = dict(
        re.findall(r"^## `(mm2 [^`]+?)(?: [A-Z]+)?`\n(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL)
    )
    assert sections.keys() == COMMANDS.keys()
    for name, command in COMMANDS.items():
        assert set(re.findall(r"`(--[a-z-]+)", sections[name])) == options(command), name


def test_every_sensor_is_documented() -> None:
    """The page on groups has a row for each sensor, and no page names one that does not exist."""
    folder = ROOT / "airflow_provider_mm2" / "sensors"
    trees = (ast.parse(path.read_text("utf-8")) for path in folder.glob("*.py") if path.stem != "flow_sensor")
    there = {node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}
    page = (ROOT / "docs" / "how-to" / "groups.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(\w+Sensor)` \|", page, flags=re.MULTILINE)) == there
    assert {name for each in PAGES for name in re.findall(r"\b(\w+Sensor)\b", each.read_text("utf-8"))} <= there


def test_every_operator_is_documented() -> None:
    """docs/python.md names each operator that a DAG may use, and no page names one that does not exist."""
    folder = ROOT / "airflow_provider_mm2" / "operators"
    trees = (ast.parse(path.read_text("utf-8")) for path in folder.glob("*.py"))
    there = {node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}
    operators = {name for name in there if name.endswith("Operator")} - {"FlowOperator", "InvalidFlowOperator"}
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    assert set(re.findall(r"`(\w+Operator)`", page)) == operators
    named = {name for each in PAGES for name in re.findall(r"\b([A-Z]\w+Operator)\b", each.read_text("utf-8"))}
    assert named - operators <= {"BashOperator"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_shown_exists(page: Path) -> None:
    """Whatever a page tells to type exists, options too."""
    text = page.read_text("utf-8")
    for line in re.findall(r"(?:^|`|\$ )(mm2 [a-z][^`\n]*)", text, flags=re.MULTILINE):
        words = line.split()
        name = next((" ".join(words[:count]) for count in (3, 2) if " ".join(words[:count]) in COMMANDS), None)
        assert name is not None, line
        assert set(re.findall(r"--[a-z-]+", line)) <= options(COMMANDS[name]), line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_target_shown_exists(page: Path) -> None:
    """Each `make` command in a page is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE))
    used = re.findall(r"(?:^|`|\$ )make ([a-z-]+)", page.read_text("utf-8"), flags=re.MULTILINE)
    assert set(used) <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    """Links between pages lead to files that exist."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_cut_blocks_are_what_they_are_cut_from(page: Path) -> None:
    """A block marked as cut from a file is a piece of that file."""
    blocks = re.findall(r"<!-- from (\S+) -->\n```\w*\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL)
    for name, block in blocks:
        assert block in (ROOT / name).read_text("utf-8"), f"{page.name}: {name}"


def test_what_to_import_can_be_imported() -> None:
    """Every name in docs/python.md is in the module that it names."""
    rows = re.findall(
        r"^\| (`.*`)[^|]* \| `(airflow_provider_mm2\.[\w.]+)` \|$", (ROOT / "docs/python.md").read_text("utf-8"), re.M
    )
    assert len(rows) >= 14
    for names, module in rows:
        for name in re.findall(r"`(\w+)`", names):
            assert hasattr(import_module(module), name), (module, name)


def test_the_first_screen_shows_a_short_dag() -> None:
    """The README's DAG and flow are cut from dags/ and have at most 15 lines together."""
    readme = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(r"<!-- from dags/\S+ -->\n```\w*\n(.*?)```", readme, flags=re.DOTALL)
    assert len(blocks) == 2
    assert sum(len(block.splitlines()) for block in blocks) <= 15
