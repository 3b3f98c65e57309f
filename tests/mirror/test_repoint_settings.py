"""The ``repoint:`` list of a flow: each fault is told with its line, and every key is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from airflow_provider_mm2.mirror.errors import FlowInvalid
from airflow_provider_mm2.mirror.flow_file import load_flow
from airflow_provider_mm2.mirror.repoint_settings import repoint_models

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "repoint.md").read_text("utf-8")
HEAD = """\
name: orders
source: {alias: us, connection: kafka_us}
target: {alias: eu, connection: kafka_eu}
topics: ["orders.*"]
topics_exclude: ["orders-not"]
repoint:
"""
FILE = "  - kind: file\n    path: /x.properties\n"


def problem(path: Path, text: str) -> str:
    """Give the one line of the refusal."""
    path.write_text(HEAD + text)
    with pytest.raises(FlowInvalid) as caught:
        load_flow(path)
    (told,) = caught.value.problems
    return told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            FILE + "    set: {a: '{bootstrap.server}'}\n",
            "9: repoint.0.set.a: unknown placeholder {bootstrap.server}; ",
        ),
        (
            FILE + "    set:\n      a: x\n      b: '{topic:payments}'\n",
            "11: repoint.0.set.b: the flow mirrors no topic ",
        ),
        (FILE + "    set: {a: '{topic:orders-not}'}\n", "9: repoint.0.set.a: the flow mirrors no topic 'orders-not'"),
        (
            FILE + "    set: {a: {us: x, asia: y, eu: z}}\n",
            "9: repoint.0.set.a.asia: unknown alias; there are us",
        ),
        (FILE + "    set: {a: {us: x}}\n", "9: repoint.0.set.a: there is no value for 'eu'"),
        (FILE + "    set: {a: [x]}\n", "9: repoint.0.set.a: give text, a number, true or false, or a mapping"),
        (FILE + "    sets: {a: x}\n    set: {a: x}\n", "9: repoint.0.sets: unknown key; did you mean 'set'?"),
        (FILE, "7: repoint.0.set: this key is missing"),
        (FILE + "    set: {}\n", "9: repoint.0.set: "),
        ("  - path: /x\n", "7: repoint.0.kind: this key is missing"),
        (
            "  - kind: fail\n    path: /x\n",
            "7: repoint.0.kind: there are file, http, consul, etcd, ",
        ),
        ("  - kind: file\n    path: x.env\n    set: {a: b}\n", "8: repoint.0.path: give an absolute path"),
        ("  - kind: file\n    path: /x.conf\n    set: {a: b}\n", "7: repoint.0: the name does not tell the format"),
        (2 * (FILE + "    set: {a: x}\n"), "10: repoint.1: item 1 of the list has the same name"),
        ("  - {kind: http, url: 'http://u:p@h', body: x}\n", "7: repoint.0.url: an address holds no user and password"),
        ("  - {kind: http, url: 'ftp://h', body: x}\n", "7: repoint.0.url: give an address that begins with http"),
        ("  - {kind: http, body: x}\n", "7: repoint.0: give either 'url' or 'connection'"),
        ("  - {kind: http, url: 'http://h'}\n", "7: repoint.0: give either 'set' (JSON pointers and values) or 'body'"),
        ("  - {kind: etcd, url: 'http://h'}\n", "7: repoint.0: give 'set' (whole values), 'documents'"),
        (
            "  - {kind: consul, url: 'http://h', documents: {k: {set: {a: b}}}}\n",
            "7: repoint.0: the name of 'k' does not tell its format",
        ),
        (
            "  - {kind: consul, url: 'http://h', set: {k.env: x}, documents: {k.env: {set: {a: b}}}}\n",
            "7: repoint.0: 'k.env' is in 'set' and in 'documents'",
        ),
        (
            "  - {kind: consul, url: 'http://h', documents: {k.env: {sett: {a: b}, set: {a: '{x}'}}}}\n",
            "7: repoint.0.documents.k.env.sett: unknown key; did you mean 'set'?",
        ),
        (
            "  - {kind: etcd, url: 'http://h', set: {a: b}, auth: {user: u}}\n",
            "7: repoint.0.auth: give 'user' and ",
        ),
        ("  - {kind: connect, url: 'http://h', connectors: s}\n", "7: repoint.0.connectors: give a list, also of one"),
        (
            "  - {kind: connect, url: 'http://h', connectors: [s], stop: pause}\n",
            "7: repoint.0: offsets are set only",
        ),
        (
            "  - {kind: kubernetes, namespace: n, config_map: c, set: {a: b}, workloads: [pod/x]}\n",
            "7: repoint.0.workloads.0: ",
        ),
        ("  - {kind: variable, key: k}\n", "7: repoint.0: give either 'value' (the whole variable) or 'set'"),
        (
            "  - {kind: connection, connection: c, set: {hots: x}}\n",
            "7: repoint.0: 'set' takes host, port, ",
        ),
        ("  - {kind: python, callable: module.function, set: {a: b}}\n", "7: repoint.0.callable: "),
        (FILE + "    set: {a: x}\n    groups: ['(']\n", "10: repoint.0.groups.0: '(' is not a regular expression"),
    ],
)
def test_a_fault_is_told_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    """Each rule names the line, the key and what to do."""
    assert problem(tmp_path / "f.yaml", text).startswith(f"f.yaml:{told}")


def test_what_is_no_placeholder(tmp_path: Path) -> None:
    """Braces of JSON, an environment variable and doubled braces are left alone; names are given or made."""
    body = """  - {kind: http, url: 'http://h', body: '{"a": 1, "b": "${NAME}", "c": "{{x}}", "d": {}}'}\n"""
    path = tmp_path / "f.yaml"
    path.write_text(HEAD + body + FILE + "    name: mine\n    set: {a: '{topic:orders-1}'}\n")
    assert [item.label for item in load_flow(path).repoint] == ["http http://h", "mine"]


def documented(kind: str) -> set[str]:
    """Give the keys that the page documents for a kind, with those that all take."""
    tables = re.findall(r"^### ([^\n]+)\n(.*?)(?=^### |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)
    common = PAGE.split("## Kinds")[1].split("### `file`")[0]
    sections = [text for heading, text in tables if f"`{kind}`" in heading]
    assert len(sections) == 1, kind
    rows = [*common.splitlines(), *sections[0].splitlines()]
    return {key for row in rows if row.startswith("| `") for key in re.findall(r"`(\w+)`", row.split("|")[1])}


@pytest.mark.parametrize("kind", repoint_models())
def test_every_key_is_documented(kind: str) -> None:
    """The page has a row for each key of each kind."""
    assert set(repoint_models()[kind].model_fields) <= documented(kind)


def test_no_key_is_documented_that_does_not_exist() -> None:
    """Every key in the page's tables is one of some kind."""
    there = {key for model in repoint_models().values() for key in model.model_fields}
    assert {key for kind in repoint_models() for key in documented(kind)} <= there


def test_the_examples_are_flows(tmp_path: Path) -> None:
    """Every example of the page is read as it stands."""
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(blocks) == 7
    for block in blocks:
        path = tmp_path / "f.yaml"
        path.write_text(HEAD + block.removeprefix("repoint:\n"))
        assert load_flow(path).repoint
