"""Names on the target: replication policy and separator. Under other names a flow would copy everything again."""

from __future__ import annotations

import re
from collections.abc import Mapping

from airflow_provider_mm2.mirror.mm2_import import reasons
from airflow_provider_mm2.mirror.mm2_import.findings import Findings, Given
from airflow_provider_mm2.mirror.mm2_import.values import read_switch

POLICY, SEPARATOR = "replication.policy.class", "replication.policy.separator"
INTERNAL = "replication.policy.internal.topic.separator.enabled"

_SEPARATOR = re.compile(r"[a-zA-Z0-9._\-]{1,10}")
_CLASS = re.compile(r"[\w$]+(\.[\w$]+)+")
POLICIES = {
    "org.apache.kafka.connect.mirror.DefaultReplicationPolicy": "default",
    "org.apache.kafka.connect.mirror.IdentityReplicationPolicy": "identity",
    "io.strimzi.kafka.connect.mirror.IdentityReplicationPolicy": "identity",
}


def naming(options: Mapping[str, Given], findings: Findings) -> dict[str, str]:
    """The flow's ``replication_policy`` and ``separator``, where they are given."""
    keys: dict[str, str] = {}
    if POLICY in options:
        keys["replication_policy"] = _policy(options[POLICY], findings)
    if SEPARATOR in options:
        keys["separator"] = options[SEPARATOR].value
        if _SEPARATOR.fullmatch(keys["separator"]) is None:
            problem = "not 1 to 10 of the characters that names of topics have, so the names cannot be kept"
            findings.refuse(options[SEPARATOR], problem)
    if INTERNAL in options and read_switch(options[INTERNAL], findings) is False and keys.get("separator", ".") != ".":
        findings.tell(options[INTERNAL], *reasons.INTERNAL_SEPARATOR)
    return keys


def _policy(given: Given, findings: Findings) -> str:
    """The policy; a class of Java stays as it is, so that a run refuses it until there is one of Python."""
    name = given.value.strip()
    if name in POLICIES:
        return POLICIES[name]
    if _CLASS.fullmatch(name) is None:
        findings.refuse(given, "not the name of a class with its package")
    else:
        findings.tell(given, *reasons.POLICY)
    return name
