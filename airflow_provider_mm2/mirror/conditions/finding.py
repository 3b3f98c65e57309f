"""What was found of a condition, and whether it has held long enough. Pure but for the clock it is given."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Whether a condition is met, and the numbers by which it is or not.

    :param text: one sentence with the numbers, for people.
    :param facts: the numbers as plain JSON values, bounded.
    """

    met: bool
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)


class Holding:
    """Takes finding after finding, and lets a condition be met only when it was so for some time without a break.

    What lies between two looks is not seen.

    :param for_s: for how long; 0: one look is enough.
    :param clock: seconds that only grow.
    """

    def __init__(self, for_s: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._for_s = for_s
        self._clock = clock
        self._since: float | None = None

    @property
    def left_s(self) -> float | None:
        """How long it must still hold; None: it does not hold now."""
        return None if self._since is None else max(0.0, self._since + self._for_s - self._clock())

    def add(self, finding: Finding) -> Finding:
        """The finding, not met as long as it has not held for long enough."""
        if not finding.met:
            self._since = None
            return finding
        if self._since is None:
            self._since = self._clock()
        if not self._for_s:
            return finding
        held_s = self._clock() - self._since
        text = f"{finding.text}, for {held_s:.0f} of {self._for_s:.0f} s"
        return replace(finding, met=held_s >= self._for_s, text=text)

    def forget(self) -> None:
        """It could not be looked at, so nobody knows whether it held."""
        self._since = None
