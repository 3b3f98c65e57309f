"""Large files: the work grows with their size, whatever is in them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from types import FrameType

import javaproperties
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.mm2_import.importer import import_files
from airflow_provider_mm2.mirror.mm2_import.property_lines import logical_lines
from airflow_provider_mm2.mirror.mm2_import.suggest import nearest
from tests.mirror.mm2_import.kafka_keys import dedicated
from tests.mirror.mm2_import.test_every_key import config_of

pytestmark = pytest.mark.thorough

FIRST = 100_000
"""So that all numbers have as many digits."""


def lines(form: str) -> Callable[[int], bytes]:
    """Give a properties file with so many lines of a form, each with its number in it."""
    return lambda count: dedicated(*(form.format(number) for number in range(FIRST, FIRST + count))).encode()


def clusters(count: int) -> bytes:
    """Give a properties file of so many clusters, each with keys, and one direction."""
    names = [f"c{number}" for number in range(count // 40)]
    keys = "".join(f"{names[number % len(names)]}.consumer.fetch.{FIRST + number} = 1\n" for number in range(count))
    beats = "emit.heartbeats.enabled = false\n"
    return f"clusters = {', '.join(names)}\nc0->c1.enabled = true\n{beats}{keys}".encode()


def one_list(count: int) -> bytes:
    """Give a properties file with one long list, each topic on a line of its own."""
    return dedicated("topics = " + ",\\\n".join(f"orders{number}" for number in range(count))).encode()


def connectors(count: int, alias: str = "us{}") -> bytes:
    """Give connectors that copy, each with a password and the one for checkpoints beside it."""
    found = []
    for number in range(count):
        same = {"source.cluster.alias": alias.format(number), "source.cluster.sasl.password": f"p{number}"}
        found += [{**config_of(kind), **same} for kind in ("source", "checkpoint", "heartbeat")]
    return json.dumps(found).encode()


def copies(count: int) -> bytes:
    """Give connectors that all copy in one direction, each with a password of its own."""
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p{}";'
    config = config_of("source")
    return json.dumps(
        [{**config, "source.cluster.sasl.jaas.config": login.format(number)} for number in range(count)]
    ).encode()


FILES = {
    "behind a cluster": lines("us.x{}.foo = bar"),
    "of a role": lines("us.consumer.x{}.foo = bar"),
    "of a direction": lines("us->eu.x{}.foo = bar"),
    "with nothing in front": lines("x{}.foo = bar"),
    "one key again and again": lines("us.foo = {}"),
    "of no cluster there is": lines("us->x{}.topics = orders"),
    "many clusters": clusters,
    "connectors": connectors,
    "connectors of one direction": copies,
}


def calls(data: bytes) -> int:
    """Count the functions that an import calls."""
    nearest.cache_clear()
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        import_files([("a file", data)])
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("kind", FILES)
def test_the_work_grows_with_the_file(kind: str) -> None:
    """Four times the keys are less than five times the work: 8,000 lines took 7 s before."""
    make = FILES[kind]
    assert calls(make(800)) < 5 * calls(make(200))


def test_lines_that_go_on_are_read_in_one_pass() -> None:
    """Sixteen times the lines of one list take less than forty times as long; 256 times where each is read again."""

    def seconds(count: int) -> float:
        begun = time.process_time()
        import_files([("a file", one_list(count))])
        return time.process_time() - begun

    seconds(1_000)
    assert seconds(16_000) < 40 * max(seconds(1_000), 0.01)


@given(st.text(alphabet="ab=: \t\f\\\n\r#!", max_size=40))
@example("a = b \\\\\\\n  c\\\n# d")
@example("\\\n# = 1")
def test_lines_are_joined_as_java_does(text: str) -> None:
    """Line for line it gives the same keys and values as the file in one piece does."""
    pieces = [element for _, line in logical_lines(text) for element in javaproperties.parse(line)]
    assert [(element.key, element.value) for element in pieces if isinstance(element, javaproperties.KeyValue)] == [
        (element.key, element.value)
        for element in javaproperties.parse(text)
        if isinstance(element, javaproperties.KeyValue)
    ]


def test_a_line_is_told_by_its_first() -> None:
    """Blank lines, comments and lines that go on are counted."""
    text = "# one\n\r\n a = b\\\r\n c\\\rd\n\n\\\n\n!e\nf = g"
    assert list(logical_lines(text)) == [(3, "a = bcd"), (10, "f = g")]
