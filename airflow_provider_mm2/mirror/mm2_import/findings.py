"""What is told of keys that a flow has no place for, and what ends an import. No secret ever gets in here."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, replace

from airflow_provider_mm2.mirror.clusters.config import SECRET_KEYS, is_secret

LONGEST_SHOWN = 200
"""Longest value that is repeated; a certificate pasted into a key is not."""

_NAME = re.compile(r"[A-Za-z0-9_\-]+(->[A-Za-z0-9_\-]+)?(\.[A-Za-z0-9_\-]+)+")
_NUMBERED = re.compile(r"(.*): ?(?:connector )?([0-9]+)(?: \(.*\))?", re.DOTALL)
"""A line of a file, or a connector in it."""

_PADDING = re.compile(r"=*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One key as it was given.

    :param key: as it is written, with whatever stands in front of it.
    :param where: file and line, or file and connector.
    """

    key: str
    value: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unhonoured:
    """A key that does not become part of a flow as it is.

    :param key: as it was written; ``...`` where it may be a piece of a secret.
    :param value: None where it may be a secret.
    :param where: file and line, or file and connector; empty for what was not given at all.
    """

    key: str
    value: str | None
    why: str
    instead: str
    where: str = ""

    def to_json(self) -> dict[str, str | None]:
        """The fields as plain values."""
        return asdict(self)


@dataclass(slots=True, kw_only=True)
class Findings:
    """Collects what is told, each thing once, and what ends the import.

    :param no_flow: why something that could be a flow is none.
    """

    no_flow: list[str] = field(default_factory=list)
    _told: dict[Unhonoured, set[str]] = field(default_factory=dict)
    _used: set[Given] = field(default_factory=set)
    _idle: list[tuple[Given, str, str]] = field(default_factory=list)
    _problems: dict[str, None] = field(default_factory=dict)

    @property
    def problems(self) -> tuple[str, ...]:
        """What ends the import, in the order it was found."""
        return tuple(self._problems)

    @property
    def has_problems(self) -> bool:
        """Whether anything ends the import."""
        return bool(self._problems)

    def tell(self, given: Given, why: str, instead: str, *, cluster: str = "") -> None:
        """Tell of a key that is known, with its value unless it is a secret.

        :param cluster: alias of the one it is told of: a key for all clusters may have another fate in each.
        """
        self._used.add(given)
        self._add(Unhonoured(key=given.key, value=_shown(given), why=why, instead=instead, where=given.where), cluster)

    def use(self, given: Given) -> None:
        """Note that a key is honoured in some flow."""
        self._used.add(given)

    def tell_if_idle(self, given: Given, why: str, instead: str) -> None:
        """Tell of a key, unless another flow honours it or it is told of with a better reason."""
        self._idle.append((given, why, instead))

    def in_order(self) -> tuple[Unhonoured, ...]:
        """All that is told, in the order of the files; what was not given comes last."""
        for given, why, instead in self._idle:
            if given not in self._used:
                self._add(Unhonoured(key=given.key, value=_shown(given), why=why, instead=instead, where=given.where))
        among: dict[tuple[str, str], set[str]] = {}
        for found, clusters in self._told.items():
            among.setdefault((found.key, found.where), set()).update(clusters)
        every = [
            replace(found, why=f"for {', '.join(sorted(clusters))}: {found.why}")
            if all(clusters) and clusters != among[found.key, found.where]
            else found
            for found, clusters in self._told.items()
        ]
        return tuple(sorted(every, key=_place))

    def tell_unknown(self, given: Given, why: str, instead: str) -> None:
        """Tell of a key that nobody knows.

        Its value may be a secret; where a backslash is missing at the end of a line, the key itself is a piece of one.
        So it is shown only where it looks like a key: a name with a dot in it, and a value behind it.
        """
        is_a_name = _NAME.fullmatch(given.key) is not None and _PADDING.fullmatch(given.value) is None
        value = given.value if given.value.lower() in ("true", "false") else None
        key = given.key if is_a_name else "..."
        self._add(Unhonoured(key=key, value=value, why=why, instead=instead, where=given.where))

    def tell_absent(self, key: str, why: str, instead: str) -> None:
        """Tell of a key that was not given, where MirrorMaker 2's default is not ours."""
        self._add(Unhonoured(key=key, value=None, why=why, instead=instead))

    def refuse(self, given: Given, problem: str) -> None:
        """Note what ends the import; ``problem`` holds no value of a key that may be a secret."""
        self.problem(f"{given.where}: {given.key}: {problem}")

    def problem(self, text: str) -> None:
        """Note what ends the import."""
        self._problems[text] = None

    def _add(self, found: Unhonoured, cluster: str = "") -> None:
        self._told.setdefault(found, set()).add(cluster)


def _place(found: Unhonoured) -> tuple[bool, str, int]:
    label, number = found.where, "0"
    if (match := _NUMBERED.fullmatch(found.where)) is not None:
        label, number = match.group(1), match.group(2)
    return (not found.where, label, int(number))


def may_be_secret(key: str) -> bool:
    """Whether the value of a key must never be shown, whatever stands in front of the key."""
    return is_secret(key) or key.lower().endswith(tuple(f".{secret}" for secret in SECRET_KEYS))


def _shown(given: Given) -> str | None:
    hidden = may_be_secret(given.key) or "${" in given.value or len(given.value) > LONGEST_SHOWN
    return None if hidden else given.value
