"""Keys that nobody knows: what may have been meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from airflow_provider_mm2.mirror.mm2_import.client_keys import CLIENT_KEYS
from airflow_provider_mm2.mirror.mm2_import.findings import Findings, Given
from airflow_provider_mm2.mirror.mm2_import.keys import KEYS

_LEAVE_OUT = "leave it out"


_ALIKE = 0.75
_REMEMBERED = 4096


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """Keys that may have been meant, with what rules most of them out at once: a file may have any number of others.

    :param by_length: the keys of so many characters, each with the set of its characters.
    """

    dotted: frozenset[str]
    by_length: dict[int, tuple[tuple[str, frozenset[str]], ...]]

    @classmethod
    def of(cls, keys: Iterable[str]) -> Known:
        """The keys, sorted by what is compared first."""
        by_length: dict[int, list[tuple[str, frozenset[str]]]] = {}
        for key in sorted(keys):
            by_length.setdefault(len(key), []).append((key, frozenset(key)))
        return cls(
            dotted=frozenset(key for keys in by_length.values() for key, _ in keys if "." in key),
            by_length={length: tuple(keys) for length, keys in by_length.items()},
        )

    def ending(self, name: str) -> str | None:
        """The longest key that stands behind a dot of the name."""
        start = max(0, len(name) - max(self.by_length) - 1)
        ends = (name[at + 1 :] for at in range(start, len(name)) if name[at] == ".")
        return next((end for end in ends if end in self.dotted), None)

    def alike(self, name: str) -> str | None:
        """The key that looks most like a name."""
        return next(iter(difflib.get_close_matches(name, list(self._near(name)), n=1, cutoff=_ALIKE)), None)

    def _near(self, name: str) -> Iterator[str]:
        """The keys that may be alike: not where the lengths, or characters that only one has, rule it out."""
        own = set(name)
        for length, keys in self.by_length.items():
            in_both = _ALIKE * (len(name) + length) / 2
            if in_both <= min(len(name), length):
                for key, characters in keys:
                    if len(own - characters) <= len(name) - in_both and len(characters - own) <= length - in_both:
                        yield key


OPTIONS = Known.of(KEYS)
CLIENTS = Known.of(CLIENT_KEYS)
ANY = Known.of({*KEYS, *CLIENT_KEYS})


@lru_cache(maxsize=_REMEMBERED)
def nearest(name: str, known: Known) -> str | None:
    """The known key that a name ends with, else one that looks like it."""
    return known.ending(name) or known.alike(name)


def unknown_key(given: Given, name: str, findings: Findings) -> None:
    """Tell of a key that is none of MirrorMaker 2's.

    :param name: the key without what stands in front of it.
    """
    _tell(given, nearest(name, ANY), "MirrorMaker 2 does not know it either", findings)


def unknown_client_key(given: Given, name: str, findings: Findings) -> None:
    """Tell of a key that is none of a Kafka client's."""
    _tell(given, nearest(name, CLIENTS), "Kafka's clients do not know it either", findings)


def _tell(given: Given, near: str | None, why: str, findings: Findings) -> None:
    findings.tell_unknown(given, why, _LEAVE_OUT if near is None else f"did you mean {near}?")
