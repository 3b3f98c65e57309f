"""Where values are, and which of them a move asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import MirrorError
from airflow_provider_mm2.mirror.recovery.repoint.ports import Move
from airflow_provider_mm2.mirror.recovery.repoint.values import Present


class Places(Protocol):
    """Where the values are. Keys are the flow's."""

    def where(self, key: str) -> str:
        """The place of a key, as people name it."""

    def read(self, key: str, tick: Tick) -> Present:
        """What stands there.

        :raises MirrorError: it cannot be read, or there is no such place.
        """

    def write(self, key: str, before: Present, after: Present, tick: Tick) -> None:
        """Put ``after`` there while ``before`` stands there; None removes it.

        :raises RepointChangedMeanwhile: something else stands there by now.
        :raises MirrorError: it cannot be written.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the flow says of a key: a value, plain or by alias.

    :param may_create: whether it may be missing before.
    :param one_way: on the side that becomes active alone: whatever is there is overwritten, and undoing leaves it.
    """

    key: str
    value: object
    may_create: bool = False
    one_way: bool = False


class Wishes(Protocol):
    """Which values a move asks for; those that depend on what stands there read it."""

    def wanted(self, move: Move, tick: Tick) -> Sequence[Wanted]:
        """The values, in the order in which they are changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedWishes:
    """Values that are in the flow itself."""

    values: tuple[Wanted, ...]

    def wanted(self, move: Move, tick: Tick) -> Sequence[Wanted]:
        """All of them, whatever moves."""
        return self.values


@dataclass(frozen=True, kw_only=True)
class Unusable:
    """Wishes of an entry that cannot be used here."""

    error: MirrorError

    def wanted(self, move: Move, tick: Tick) -> Sequence[Wanted]:
        """None, and why."""
        raise self.error


def concerns(patterns: Sequence[str], move: Move) -> bool:
    """Whether a move is of one of these groups; without patterns every one is."""
    return not patterns or any(re.fullmatch(pattern, group) for pattern in patterns for group in move.groups)


def as_text(value: object) -> object:
    """A value of the flow for a place that holds text alone: ``true`` and ``9092`` as they are written."""
    if isinstance(value, Mapping):
        return {alias: as_text(one) for alias, one in value.items()}
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
