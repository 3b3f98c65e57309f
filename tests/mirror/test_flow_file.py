"""Flow files: each fault is told with its line, and no value of the file is ever shown."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest

from airflow_provider_mm2.mirror.clusters.config import resolve_settings
from airflow_provider_mm2.mirror.errors import FlowInvalid, FlowNotFound
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.flow_file import (
    find_flow,
    flow_folder,
    flow_from_mapping,
    load_flow,
    problem_in,
    read_flows,
)

GOOD = """\
name: orders
source: {alias: us, settings: {bootstrap.servers: "127.0.0.1:19092"}}
target:
  alias: eu
  connection: kafka_eu
topics:
  - orders
  - "orders-.*"
"""

SECRET = "hunter2-of-orders"  # noqa: S105 # planted, to be looked for in messages

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Give a writer of flow files: ``write(text, name="orders.yaml")``."""

    def write_file(text: str | bytes, name: str = "orders.yaml") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write_file


def problems(path: Path) -> tuple[str, ...]:
    """Lines of the refusal of a file."""
    with pytest.raises(FlowInvalid) as caught:
        load_flow(path)
    assert caught.value.path == str(path)
    assert all(problem in str(caught.value) for problem in caught.value.problems)
    return caught.value.problems


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("rto_s: 0", "greater than 0"),
        ("rto_s: -5", "greater than 0"),
        ("rto_s: .inf", "finite"),
        ("rpo_s: -1", "greater than or equal to 0"),
        ("rpo_s: .nan", "finite"),
        ("rpo_s: soon", "number"),
        ("lost: -1", "greater than or equal to 0"),
        ("skipped: 1.5", "integer"),
    ],
)
def test_limits_of_drills_that_nobody_can_keep(write: Write, limit: str, said: str) -> None:
    """A limit that no drill can be held to is refused by its line, before anything is drilled."""
    (problem,) = problems(write(f"{GOOD}drill:\n  {limit}\n"))
    assert "orders.yaml:10: " in problem
    assert f"drill.{limit.split(':')[0]}" in problem
    assert said in problem


def test_a_flow_is_read_from_its_file(write: Write) -> None:
    """A file gives the same flow as the mapping it holds."""
    flow = load_flow(write(GOOD))
    assert flow == MirrorFlow.model_validate(
        {
            "name": "orders",
            "source": {"alias": "us", "settings": {"bootstrap.servers": "127.0.0.1:19092"}},
            "target": {"alias": "eu", "connection": "kafka_eu"},
            "topics": ["orders", "orders-.*"],
        }
    )


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ("shard: 2\n", "orders.yaml:9: shard: unknown key; did you mean 'shards'?"),
        ("dag:\n  shedule: '@daily'\n", "orders.yaml:10: dag.shedule: unknown key; did you mean 'schedule'?"),
        ("zzzzzz: 2\n", "orders.yaml:9: zzzzzz: unknown key; there are ahead, allow_rewind, "),
        ("\n\nchunk:\n  seconds: -1\n", "orders.yaml:12: chunk.seconds: input should be greater than 0"),
        ("cut: maybe\n", "orders.yaml:9: cut: input should be 'interval' or 'end'"),
        ("groups: app\n", "orders.yaml:9: groups: give a list of patterns, one each: ['app']"),
        ("groups: [app, 'a(b']\n", "orders.yaml:9: groups.1: 'a(b' is not a regular expression: missing ), "),
        ("chunk: 5\n", "orders.yaml:9: chunk: give a mapping of keys to values"),
        ("dag: {start_date: 2013-01-01T05:00}\n", "orders.yaml:9: dag.start_date: a time without a zone"),
        ("dag: {start_date: soon}\n", "orders.yaml:9: dag.start_date: give a date or a time with a zone"),
        ("dag: {schedule: '61 *'}\n", "orders.yaml:9: dag.schedule: '61 *' is not a cron expression of five fields"),
        ("dag: {schedule: '@minutely'}\n", "orders.yaml:9: dag.schedule: '@minutely' is none of @hourly, "),
        ("dag: {schedule: null, timetable: data_interval}\n", "orders.yaml:9: dag: timetable 'data_interval' needs"),
        ("shards: 2\nshards: 3\n", "orders.yaml:10: shards: given twice"),
        ("groups:\n\t- app\n", "orders.yaml:10: not YAML: found character '\\t' that cannot start any token (indent"),
        ("dag: {schedule: @daily}\n", "orders.yaml:9: not YAML: found character '@' that cannot start any token (put"),
        ("groups: [a\n", "orders.yaml:10: not YAML: expected ',' or ']', but got '<stream end>'"),
        ("---\nname: b\n", "orders.yaml:9: not YAML: but found another document (one file holds one flow)"),
        ("3: b\n", "orders.yaml:9: a key that is not text; put it in quotes"),
        ("groups: !app [a]\n", "orders.yaml:9: groups: tags are not taken"),
        ("separator: !dot .\n", "orders.yaml:9: separator: tags are not taken; put a value that begins with '!'"),
        ("groups: &g [*g]\n", "orders.yaml:9: groups.0: nested too deep or too large for a flow"),
    ],
)
def test_a_fault_is_told_with_its_line(write: Write, added: str, expected: str) -> None:
    """Each kind of fault names the file, the line, the key and what is wrong."""
    found = problems(write(GOOD + added))
    assert len(found) == 1
    assert found[0].startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "orders.yaml:1: the file is empty; it begins with 'name:'"),
        ("# nothing yet\n", "orders.yaml:1: the file is empty; it begins with 'name:'"),
        ("- name: orders\n", "orders.yaml:1: the file is not a mapping; it begins with 'name:'"),
        (b"name: orders\ntopics: [\xfc]\n", "orders.yaml:2: byte 23 of the file is not UTF-8; save it as UTF-8"),
        ("name: or\x01ders\n", "orders.yaml:1: a control character; save the file as plain text"),
    ],
)
def test_a_file_that_holds_no_flow_is_refused(write: Write, text: str | bytes, expected: str) -> None:
    """Empty files, lists, other encodings and control characters are faults with a line too."""
    assert problems(write(text))[0].startswith(expected)


def test_every_fault_is_told_at_once_in_the_order_of_the_file(write: Write) -> None:
    """One reading tells all faults, so that a file is not mended one line at a time."""
    text = GOOD.replace("alias: eu", "alias: 'e u'").replace("connection: kafka_eu", "conection: kafka_eu")
    found = problems(write(text.replace("name: orders\n", "") + "cut: maybe\n"))
    assert [problem.split(": ")[:2] for problem in found] == [
        ["orders.yaml:1", "name"],
        ["orders.yaml:3", "target.alias"],
        ["orders.yaml:4", "target.conection"],
        ["orders.yaml:8", "cut"],
    ]


@pytest.mark.parametrize(
    "settings",
    [
        f"{{bootstrap.servers: b, sasl.password: {SECRET}, sasl.password: {SECRET}}}",
        f"{{bootstrap.servers: b, sasl.password: *{SECRET}}}",
        f"{{bootstrap.servers: b, sasl.password: !{SECRET} x}}",
        f"{{bootstrap.servers: b, sasl.password: [{SECRET}]}}",
        f"{{bootstrap.servers: b, sasl.password: {{a: {SECRET}}}}}",
        f"{{bootstrap.servers: b, sasl.password:{SECRET}: 1}}",
        f"{{bootstrap.servers: b, sasl.password={SECRET}: 1}}",
        f"{{bootstrap.servers: b, sasl.password:{SECRET}}}",
        f"{{bootstrap.servers: b, sasl.password: '{SECRET}}}",
        f"{{bootstrap.servers: b, sasl.password: {SECRET}: x}}",
        f"{{bootstrap.servers: b, sasl.password: @{SECRET}}}",
        f"{{sasl.password: {SECRET}}}",
        f"[sasl.password, {SECRET}]",
        SECRET,
        f"{{bootstrap.servers: b}}, sasl.password: {SECRET}",
        f"{{bootstrap.servers: b}}, sasl.password={SECRET}: x",
        f"{{bootstrap.servers: b}}, alias: {SECRET}",
    ],
)
def test_no_value_is_shown(write: Write, settings: str) -> None:
    """Whatever is wrong with the settings, the message and its traceback do not hold the secret."""
    path = write(GOOD.replace('{bootstrap.servers: "127.0.0.1:19092"}', settings))
    with pytest.raises(FlowInvalid) as caught:
        load_flow(path)
    shown = (
        f"{caught.value!s}{caught.value!r}{caught.value.facts}{caught.value.__cause__!r}{caught.value.__context__!r}"
    )
    assert SECRET not in shown
    assert "orders.yaml:" in shown


@pytest.mark.parametrize(
    "value", ["${HIDDEN", "$HIDDEN}", " $HIDDEN} ", "a ${} b", "${1X}", "${{HIDDEN}}", "${A}${B", "${A-b}"]
)
def test_half_a_variable_is_refused(write: Write, value: str) -> None:
    """Without its closing brace a variable was taken as the password itself; the line and the key are told."""
    settings = f"{{\n  bootstrap.servers: b,\n  sasl.password: '{value}'}}"
    path = write(GOOD.replace('{bootstrap.servers: "127.0.0.1:19092"}', settings))
    with pytest.raises(FlowInvalid) as caught:
        load_flow(path)
    (problem,) = caught.value.problems
    assert "orders.yaml:4: source.settings.sasl.password: it has the beginning or the end of ${NAME}" in problem
    assert value not in problem


@pytest.mark.parametrize("value", ["$", "a$b", "$NAME", "{NAME}", "a$b}c", "$$", "pa$s{word}", "${A}", "${A}:1,${B_2}"])
def test_a_dollar_stays_one(write: Write, value: str) -> None:
    """Any other ``$`` is itself, and whole variables are filled in."""
    settings = f"{{bootstrap.servers: b, sasl.password: '{value}'}}"
    flow = load_flow(write(GOOD.replace('{bootstrap.servers: "127.0.0.1:19092"}', settings)))
    assert flow.source.settings == {"bootstrap.servers": "b", "sasl.password": value}


def test_what_is_filled_in_is_itself() -> None:
    """A variable's value and a connection's may have a ``${`` in them: nothing is filled in twice."""
    flow = flow_from_mapping(
        {
            "name": "o",
            "topics": ["a"],
            "source": {"alias": "us", "settings": {"bootstrap.servers": "b", "sasl.password": "${SECRET}"}},
            "target": {"alias": "eu", "connection": "eu"},
        },
        label="flow=",
    )
    assert resolve_settings(flow.source, environment={"SECRET": "x${y"})["sasl.password"] == "x${y"
    given = {"bootstrap.servers": "b", "sasl.password": "${y"}
    assert resolve_settings(flow.target, connection=given) == given


def test_a_mapping_is_refused_without_its_values() -> None:
    """A flow given in Python has no lines; its faults are told the same way otherwise."""
    given = {"name": "o", "source": {"alias": "us", "settings": {"sasl.password": SECRET}}, "topics": ["a"]}
    with pytest.raises(FlowInvalid) as caught:
        flow_from_mapping(given, label="flow=")
    assert caught.value.problems == (
        "flow=: source: 'settings' has no 'bootstrap.servers'",
        "flow=: target: this key is missing",
    )
    assert SECRET not in f"{caught.value.__cause__!r}{caught.value.__context__!r}"


def test_what_looks_like_a_date_or_a_number_keeps_its_kind(write: Write) -> None:
    """Dates stay text for the key that takes them; numbers and booleans of settings keep their kind."""
    extra = "dag: {start_date: 2013-01-01}\n"
    settings = '{bootstrap.servers: b, client.id: 2013-01-01, linger.ms: 0x10, retries: 1_000, a: true, b: 1.5, c: "1"}'
    flow = load_flow(write(GOOD.replace('{bootstrap.servers: "127.0.0.1:19092"}', settings) + extra))
    assert flow.dag.start_date == datetime(2013, 1, 1, tzinfo=timezone.utc)
    assert flow.source.settings == {
        "bootstrap.servers": "b",
        "client.id": "2013-01-01",
        "linger.ms": 16,
        "retries": 1000,
        "a": True,
        "b": 1.5,
        "c": "1",
    }
    assert {type(value) for value in flow.source.settings.values()} == {str, int, bool, float}


def test_a_bad_file_spoils_only_itself(write: Write) -> None:
    """The folder gives every file with what came of it; other files and editors' leftovers are passed over."""
    write(GOOD)
    bad = write(GOOD.replace("name: orders", "name: bad") + "shard: 2\ndag: {schedule: '@daily'}\n", "bad.yml")
    write("not a flow", "README.md")
    write("x: [", ".#orders.yaml")
    first, second = read_flows(bad.parent)
    assert (first.path, type(first.result), first.dag.schedule) == (bad, FlowInvalid, "@daily")
    assert isinstance(second.result, MirrorFlow)
    assert second.result.name == "orders"


def test_one_name_in_two_files_refuses_both(write: Write) -> None:
    """Nothing says which of two files with one flow name is meant, so neither runs."""
    folder = write(GOOD).parent
    write("\n" + GOOD, "copy.yaml")
    copy, orders = (file.result for file in read_flows(folder))
    assert isinstance(copy, FlowInvalid)
    assert isinstance(orders, FlowInvalid)
    assert copy.problems[0].startswith("copy.yaml:2: name: the flow name 'orders' is also used by orders.yaml; ")
    assert orders.problems[0].startswith("orders.yaml:1: name: the flow name 'orders' is also used by copy.yaml; ")
    with pytest.raises(FlowInvalid):
        find_flow("orders", folder)


def test_a_flow_is_found_by_name_stem_and_path(write: Write, tmp_path: Path) -> None:
    """A name is looked for among the flows' own names first, then among the files'."""
    path = write(GOOD, "local.yaml")
    write(GOOD.replace("name: orders", "name: other"), "other-file.yaml")
    for wanted in ("orders", "local", str(path), "local.yaml"):
        assert find_flow(wanted, tmp_path).name == "orders"
    assert find_flow("local.yaml", tmp_path / "missing", relative_to=tmp_path).name == "orders"


def test_an_unknown_flow_is_refused_with_what_is_there(write: Write, tmp_path: Path) -> None:
    """The refusal names the folder and the flows in it; a file that is no flow is listed by its file name."""
    write(GOOD)
    write("x: [", "bad.yaml")
    for wanted in ("order", "order.yaml", str(tmp_path / "order.yaml")):
        with pytest.raises(FlowNotFound) as caught:
            find_flow(wanted, tmp_path)
        assert caught.value.known == ("bad.yaml (no flow as it stands)", "orders")
        assert str(tmp_path) in str(caught.value)
    with pytest.raises(FlowNotFound):
        find_flow("order", tmp_path / "missing")
    with pytest.raises(FlowNotFound):
        read_flows(tmp_path / "missing")
    with pytest.raises(FlowInvalid, match=r"bad\.yaml:1: "):
        find_flow("bad", tmp_path)


def test_a_later_fault_gets_its_line(write: Write) -> None:
    """What is found after loading is told with the line of its key, or of what is around it."""
    path = write(GOOD + "dag:\n  schedule: '99 * * * *'\n")
    assert problem_in(path, ("dag", "schedule"), "bad").problems == ("orders.yaml:10: dag.schedule: bad",)
    assert problem_in(path, ("dag", "pool"), "bad").problems == ("orders.yaml:9: dag.pool: bad",)


def test_the_folder_comes_from_the_environment_or_the_caller(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """``$MM2_FLOWS`` wins over the caller's default, and must not depend on the working directory."""
    monkeypatch.delenv("MM2_FLOWS", raising=False)
    assert flow_folder(tmp_path) == tmp_path
    monkeypatch.setenv("MM2_FLOWS", "/srv/flows")
    assert flow_folder(tmp_path) == Path("/srv/flows")
    monkeypatch.setenv("MM2_FLOWS", "flows")
    with pytest.raises(FlowInvalid, match="give an absolute path"):
        flow_folder(tmp_path)
