"""Which access rules go over to a target topic. Source: MirrorMaker 2, ``testAclFiltering`` and others."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_mm2.mirror.interval.acls import plan_acls
from airflow_provider_mm2.mirror.model import TopicAcl

TOPICS = {"orders": "us.orders", "orders-2": "us.orders-2"}


def acl(name: str = "orders", operation: str = "READ", permission: str = "ALLOW", **changes: Any) -> TopicAcl:
    """An access rule of the application."""
    rule = {"prefixed": False, "principal": "User:app", "host": "*"}
    return TopicAcl(name=name, operation=operation, permission=permission, **{**rule, **changes})


@pytest.mark.parametrize(
    ("operation", "permission", "there"),
    [
        ("READ", "ALLOW", "READ"),
        ("DESCRIBE", "ALLOW", "DESCRIBE"),
        ("ALTER_CONFIGS", "ALLOW", "ALTER_CONFIGS"),
        ("ALL", "ALLOW", "READ"),
        ("WRITE", "ALLOW", None),
        ("WRITE", "DENY", "WRITE"),
        ("ALL", "DENY", "ALL"),
    ],
)
def test_what_becomes_of_a_rule(operation: str, permission: str, there: str | None) -> None:
    """All becomes Read, Write is left out, what is denied stays denied; the name is the target topic's."""
    plan = plan_acls(TOPICS, [acl("orders", operation, permission)], [])
    assert plan.create == (() if there is None else (acl("us.orders", there, permission),))
    assert plan.left_out == ()


def test_only_what_is_missing() -> None:
    """A rule that is there is not created again, and two that become one are created once."""
    source = [acl(), acl(operation="ALL"), acl(host="10.0.0.1"), acl("orders-2", principal="User:other")]
    there = [acl("us.orders", host="10.0.0.1"), acl("us.orders", "DELETE")]
    assert plan_acls(TOPICS, source, there).create == (
        acl("us.orders"),
        acl("us.orders-2", principal="User:other"),
    )


def test_rules_of_many_topics_are_listed() -> None:
    """A rule for all topics, or for all that begin so, is left out with the reason where it bears on a mirrored one."""
    wide, prefixed, elsewhere = acl("*"), acl("ord", prefixed=True), acl("stock", prefixed=True)
    plan = plan_acls(TOPICS, [wide, prefixed, elsewhere, acl("stock")], [])
    assert plan.create == ()
    assert plan.left_out == (
        (wide, "for all topics, of which the target has others than the source"),
        (prefixed, "for all topics that begin so, of which the target has others than the source"),
    )
