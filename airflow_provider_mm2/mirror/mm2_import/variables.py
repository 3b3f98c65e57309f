"""Names that nothing else has: of flows, and of the environment variables that stand for secrets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Names:
    """Gives each name once. Where it was given before, it gets a number, counted on from the last one."""

    _taken: set[str] = field(default_factory=set)
    _last: dict[str, int] = field(default_factory=dict)

    def unique(self, stem: str, between: str, longest: int | None = None) -> str:
        """The stem, with a number behind it where it is taken.

        :param between: what stands between them.
        :param longest: characters; the stem is cut so that the number has room.
        """
        name = stem
        while name in self._taken:
            number = self._last[stem] = self._last.get(stem, 1) + 1
            ending = f"{between}{number}"
            name = (stem if longest is None else stem[: longest - len(ending)]) + ending
        self._taken.add(name)
        return name


@dataclass(slots=True, kw_only=True)
class Variables:
    """Gives one name to each value of a cluster's setting, and another to another value.

    The values are kept for that comparison alone and never shown.
    """

    _names: dict[tuple[str, str, str], str] = field(default_factory=dict, repr=False)
    _given: Names = field(default_factory=Names, repr=False)

    def name(self, alias: str, setting: str, value: str) -> str:
        """A variable for a value, such as ``MM2_US_SASL_PASSWORD``; the same for the same cluster and value."""
        stem = re.sub(r"[^A-Z0-9]+", "_", f"mm2_{alias}_{setting}".upper())
        asked = (stem, alias, value)
        if asked not in self._names:
            self._names[asked] = self._given.unique(stem, "_")
        return self._names[asked]
