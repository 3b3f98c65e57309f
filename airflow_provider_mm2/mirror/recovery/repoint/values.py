"""Values that a repoint reads and writes: what the flow says for each side, what stands there, what may be told."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from airflow_provider_mm2.mirror.clusters.config import is_secret
from airflow_provider_mm2.mirror.errors import RepointValueMissing
from airflow_provider_mm2.mirror.recovery.repoint.ports import Json, Move
from airflow_provider_mm2.mirror.repoint_rules import PLACEHOLDER
from airflow_provider_mm2.mirror.setting_text import VARIABLE

_SECRET_SHAPE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|(?:password|passphrase|secret|token)[\w.\"']*\s*[=:]|://[^/\s:@]*:[^/\s@]+@"
    r"|^(?:bearer|basic) \S",
    re.IGNORECASE,
)
LONGEST_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Held:
    """A value that is there; where there is none, None stands for it."""

    value: Json


Present = Held | None


def same(one: Present, other: Present) -> bool:
    """Whether two are the same in JSON's eyes, where ``1`` is not ``true``."""
    if one is None or other is None:
        return one is other
    return json.dumps(one.value, sort_keys=True) == json.dumps(other.value, sort_keys=True)


def shown(present: Present, *, secret: bool) -> str:
    """A value as it may be told."""
    if present is None:
        return "(not there)"
    if secret or has_secret_shape(present):
        return "***"
    text = present.value if isinstance(present.value, str) else json.dumps(present.value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}... ({len(text)} characters)"


def is_secret_key(key: str) -> bool:
    """Whether a key's value is never shown or recorded, however its words are joined (``DB_PASSWORD``)."""
    return is_secret(key) or is_secret(re.sub(r"[_/\-]", ".", key))


def has_secret_shape(present: Present) -> bool:
    """Whether a value looks like a secret, whatever its key is called."""
    return present is not None and isinstance(present.value, str) and _SECRET_SHAPE.search(present.value) is not None


def reads_environment(value: object) -> bool:
    """Whether a value of the flow has a ``${NAME}`` in it, which is taken for a secret."""
    texts = value.values() if isinstance(value, Mapping) else [value]
    return any(VARIABLE.search(text) for text in texts if isinstance(text, str))


def value_for(value: object, move: Move, alias: str, where: str) -> Json:
    """What a value of the flow is on one side.

    :raises RepointValueMissing: an environment variable, or a topic's name, is not known.
    """
    plain = value[alias] if isinstance(value, Mapping) else value
    if not isinstance(plain, str):
        return plain

    def fill(match: re.Match[str]) -> str:
        if match["escaped"]:
            return match["escaped"][1:-1]
        return _placeholder(match["name"], move, alias, where)

    return with_environment(PLACEHOLDER.sub(fill, plain), where)


def with_environment(text: str, where: str) -> str:
    """A text with every ``${NAME}`` filled in.

    :raises RepointValueMissing: there is no such variable.
    """

    def look_up(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if found is None:
            raise RepointValueMissing(where=where, problem=f"there is no environment variable {match[1]}")
        return found

    return VARIABLE.sub(look_up, text)


def _placeholder(name: str, move: Move, alias: str, where: str) -> str:
    if name == "alias":
        return alias
    if name == "bootstrap.servers":
        if alias not in move.bootstrap:
            raise RepointValueMissing(where=where, problem=f"no addresses are known of cluster {alias!r}")
        return move.bootstrap[alias]
    topic = name.partition(":")[2]
    found = move.topics.get(topic, {}).get(alias)
    if found is None:
        problem = f"no topic {topic!r} is mirrored{near(topic, move.topics)}"
        raise RepointValueMissing(where=where, problem=problem)
    return found


def near(name: str, known: Iterable[str]) -> str:
    """The names that may have been meant, as the end of a sentence."""
    found = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f" (near it: {', '.join(found)})" if found else ""
