"""The settings of a Java client as librdkafka's: one set for a cluster, where MirrorMaker 2 has one for each role.

Source: MirrorMaker 2, ``MirrorConnectorConfig`` (``sourceConsumerConfig`` and its like), ``MirrorMakerConfig``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from airflow_provider_mm2.mirror.flow_values import Setting
from airflow_provider_mm2.mirror.mm2_import import client_keys, reasons
from airflow_provider_mm2.mirror.mm2_import.findings import Findings, Given
from airflow_provider_mm2.mirror.mm2_import.security import add_sasl, add_tls
from airflow_provider_mm2.mirror.mm2_import.settings import ClusterDraft
from airflow_provider_mm2.mirror.mm2_import.suggest import unknown_client_key
from airflow_provider_mm2.mirror.mm2_import.variables import Variables

ROLES = ("consumer", "producer", "admin")


class Side(Enum):
    """Which of the two clusters; the value is the role whose client carries the records."""

    SOURCE = "consumer"
    TARGET = "producer"


AS_A_RUN_DOES = {
    "isolation.level": ("read_committed",),
    "auto.offset.reset": ("earliest",),
    "acks": ("all", "-1"),
    "enable.idempotence": ("true",),
    "enable.auto.commit": ("false",),
    "allow.auto.create.topics": ("false",),
}
"""Values that change nothing."""

_IN_COMMON = client_keys.SECURITY | client_keys.SAME_NAME | client_keys.RENAMED.keys() | {client_keys.COMPRESSION}
_TAKEN = _IN_COMMON - client_keys.SASL_WITHOUT_EQUAL - client_keys.TLS_BY_OPENSSL - {client_keys.COMPRESSION}
_LOGIN_HANDLER = "sasl.login.callback.handler.class"
"""Told with the login it belongs to."""


def cluster_settings(
    alias: str, side: Side, client: Mapping[str, Given], findings: Findings, variables: Variables
) -> dict[str, Setting]:
    """The settings of one cluster.

    :param client: Java's keys; those of one role with it in front, such as ``consumer.fetch.max.bytes``.
    """
    shared = {key: given for key, given in client.items() if _role_of(key) is None}
    roles = {role: _of_role(client, role) for role in ROLES}
    _share(side, shared, roles, findings)
    draft = ClusterDraft(alias=alias, given=shared, findings=findings, variables=variables)
    _put_address(draft)
    for key in client_keys.SAME_NAME | client_keys.RENAMED.keys():
        _put_plain(draft, key)
    add_sasl(draft)
    add_tls(draft)
    for key, given in shared.items():
        _tell_shared(draft, side, key, given)
    for role, keys in roles.items():
        for key, given in keys.items():
            _tell_role(side, role, key, given, findings)
    return dict(sorted(draft.settings.items(), key=_reading_order))


def _role_of(key: str) -> str | None:
    head, dot, _ = key.partition(".")
    return head if dot and head in ROLES else None


def _of_role(client: Mapping[str, Given], role: str) -> dict[str, Given]:
    return {key.partition(".")[2]: given for key, given in client.items() if _role_of(key) == role}


def _share(side: Side, shared: dict[str, Given], roles: dict[str, dict[str, Given]], findings: Findings) -> None:
    """Move what all roles of a cluster agree on out of them; where they do not, tell."""
    for role in (side.value, *(role for role in ROLES if role != side.value)):
        for key in [key for key in roles[role] if key in _IN_COMMON]:
            given = roles[role].pop(key)
            is_of_all = key in client_keys.SECURITY
            if key not in shared and (role == side.value or is_of_all):
                shared[key] = given
            elif key in shared and shared[key].value.strip() == given.value.strip():
                continue
            elif is_of_all:
                findings.tell(given, *reasons.ONE_CONNECTION)
            else:
                findings.tell_if_idle(given, *reasons.UNUSED_ROLE)


def _put_address(draft: ClusterDraft) -> None:
    """The brokers; a variable where nothing says which."""
    given = draft.given.get("bootstrap.servers")
    if given is None or not given.value.strip():
        name = draft.variables.name(draft.alias, "bootstrap.servers", "")
        draft.settings["bootstrap.servers"] = f"${{{name}}}"
        why, instead = "it is not given", f"set {name} where runs take place to the addresses of the brokers"
        draft.findings.tell_absent(f"bootstrap.servers of {draft.alias}", why, instead)
        return
    draft.put("bootstrap.servers", given, ",".join(part.strip() for part in given.value.split(",") if part.strip()))


def _put_plain(draft: ClusterDraft, key: str) -> None:
    """A setting that librdkafka has too; its number where it is one."""
    given = draft.given.get(key)
    if given is None or not given.value.strip() or key in ("bootstrap.servers", "ssl.key.password"):
        return
    setting = client_keys.RENAMED.get(key, key)
    numbers = client_keys.RANGES.get(setting)
    text = given.value.strip()
    if (key, text) == ("client.dns.lookup", "default"):
        draft.tell(key, reasons.NO_EQUAL)
    elif numbers is None:
        draft.put(setting, given)
    elif text == "-1":  # "no limit" or "the system's" in Java
        draft.settings[setting] = 0
    elif re.fullmatch(r"[0-9]{1,10}", text) and int(text) in numbers:
        draft.settings[setting] = int(text)
    else:
        why = f"librdkafka takes {numbers.start} to {numbers.stop - 1} for {setting}"
        draft.tell(key, reasons.Reason(why, f"choose {setting} in settings: of the flow"))


def _tell_shared(draft: ClusterDraft, side: Side, key: str, given: Given) -> None:
    """What :func:`_put_plain` and its like have not taken."""
    if key == client_keys.COMPRESSION and side is Side.TARGET:
        draft.put(key, given)
    elif key not in _TAKEN and key != _LOGIN_HANDLER:
        _tell_role(side, side.value, key, given, draft.findings)


def _tell_role(side: Side, role: str, key: str, given: Given, findings: Findings) -> None:
    """Tell of a setting of one client, unless a run does it anyway."""
    value = given.value.strip().lower()
    carries_records = role == side.value
    if value in AS_A_RUN_DOES.get(key, ()):
        return
    if key not in client_keys.CLIENT_KEYS:
        unknown_client_key(given, key, findings)
    elif not carries_records:
        findings.tell_if_idle(given, *(_reason_for(key) if key in client_keys.BY_THE_MIRROR else reasons.UNUSED_ROLE))
    elif key == "isolation.level":
        findings.tell(given, *reasons.UNCOMMITTED)
    elif key == "auto.offset.reset" and side is Side.SOURCE:
        findings.tell(given, *reasons.FROM_LATEST)
    else:
        findings.tell(given, *_reason_for(key))


def _reason_for(key: str) -> reasons.Reason:
    if key in client_keys.BY_THE_MIRROR:
        return reasons.OWN_TUNING
    if key in client_keys.TLS_BY_OPENSSL:
        return reasons.TLS_BY_OPENSSL
    return reasons.UNUSED_ROLE if key == client_keys.COMPRESSION else reasons.NO_EQUAL


def _reading_order(setting: tuple[str, Setting]) -> tuple[int, str]:
    """Where to, how, as whom, and then the rest."""
    order = ("bootstrap.", "security.", "sasl.mechanism", "sasl.username", "sasl.", "ssl.")
    key = setting[0]
    return next((at for at, head in enumerate(order) if key.startswith(head)), len(order)), key
