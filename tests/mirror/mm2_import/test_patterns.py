"""Lists of patterns: commas inside braces, letters that only look alike, expressions that only Java has."""

from __future__ import annotations

import json

import pytest

from airflow_provider_mm2.mirror.errors import ImportRefused
from airflow_provider_mm2.mirror.mm2_import.importer import import_files
from airflow_provider_mm2.mirror.mm2_import.patterns import fault_of, split
from tests.mirror.mm2_import.kafka_keys import dedicated, imported, told
from tests.mirror.mm2_import.test_every_key import config_of


def test_a_comma_inside_braces_is_refused_by_name() -> None:
    """K50: MirrorMaker 2 splits ``orders-[0-9]{1,3}`` in two; joined again by ``|`` it compiles and matches nothing."""
    with pytest.raises(ImportRefused) as caught:
        imported(dedicated("topics = orders-[0-9]{1,3}, invoices"))
    assert caught.value.problems[0].startswith("mm2.properties:5: topics: 'orders-[0-9]{1' has a { without its other")
    assert "'3}' has a } without" in caught.value.problems[1]
    flow = imported(dedicated("topics = orders-[0-9][0-9]?[0-9]?, invoices")).flows[0]
    assert flow.topics == ("orders-[0-9][0-9]?[0-9]?", "invoices")


@pytest.mark.parametrize("pattern", ["a{2}", "(a|b)", "[{(]", r"a\{", r"[\]}]", "[]}]", "[^]}]x", "a[(]b", r"\\"])
def test_balanced(pattern: str) -> None:
    """Braces that are closed, escaped, or inside a class."""
    assert fault_of(pattern) is None


@pytest.mark.parametrize(("pattern", "odd"), [("a{1", "{"), ("3}", "}"), ("(a", "("), ("[a-", "["), ("(a]}", "}")])
def test_unbalanced(pattern: str, odd: str) -> None:
    """Halves of what a comma has cut."""
    assert f"has a {odd} without its other half" in (fault_of(pattern) or "")


@pytest.mark.parametrize("pattern", [r"\p{Alpha}+", r"\Qa.b\E", "(?<name>a)", "[a-z&&[^b]]+", "*"])
def test_expressions_of_java(pattern: str) -> None:
    """What only Java takes, or Python takes for something else, is refused."""
    assert "that Python does not take" in (fault_of(pattern) or "")


def test_letters_that_look_alike() -> None:
    """K77: a Cyrillic letter in a pattern for topics matches none; its code point is shown. Groups may have any."""
    with pytest.raises(ImportRefused, match=r"U\+043E CYRILLIC SMALL LETTER O"):
        import_files([("c.json", json.dumps(config_of("source", topics="\u043erders")).encode())])
    with pytest.raises(ImportRefused, match=r"U\+000A"):
        import_files([("c.json", json.dumps(config_of("source", topics="a, or\nders")).encode())])
    both = [config_of("source"), config_of("checkpoint", groups="\u0433\u0440\u0443\u043f\u043f\u0430 1")]
    (flow,) = import_files([("c.json", json.dumps(both).encode())]).flows
    assert flow.groups == ("\u0433\u0440\u0443\u043f\u043f\u0430 1",)


def test_names_that_are_left_out_all_the_same() -> None:
    """K48: a topic named in full that an exclusion or the rule for internal names drops is told, each by name."""
    result = imported(dedicated(r"topics = orders, billing.internal, stock\\.replica, audit-internal"))
    lines = [found.why for found in result.unhonoured if found.key == "topics"]
    assert [line.split("'")[1] for line in lines] == ["billing.internal", "stock.replica", "audit-internal"]


def test_flags_that_reach_on() -> None:
    """MirrorMaker 2 joins the list, so ``(?i)`` counts for later patterns, too; the difference is told."""
    assert "flags such as (?i)" in told(imported(dedicated("topics = (?i)orders, stock")))["topics"]
    assert "topics" not in told(imported(dedicated("topics = stock, (?i)orders")))


def test_split() -> None:
    """Parts are trimmed, and empty ones match nothing."""
    assert split(" a , ,b,") == ("a", "b")
    assert split("") == ()


def test_an_empty_list_of_groups() -> None:
    """It matches no group, as in MirrorMaker 2."""
    assert imported(dedicated("groups =")).flows[0].groups == ()
