"""Every exception of the project, each with its facts as fields and a message in three parts.

An error says what was found (with numbers), the likely cause and the next move. ``retriable`` tells whether the
same call may succeed when it is made again without anybody changing anything; operators and the command line
decide by it alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(kw_only=True, eq=False)
class MirrorError(Exception):
    """Base of all errors; subclasses add facts as fields and three templates filled from them.

    ``exit_code``: what the command line ends with (2 bad settings, 3 worth a retry, 4 failed for good).
    """

    retriable: ClassVar[bool] = False
    exit_code: ClassVar[int] = 4
    found: ClassVar[str] = "something failed"
    likely_cause: ClassVar[str] = "unknown"
    next_move: ClassVar[str] = "read the log above this line"

    def __post_init__(self) -> None:
        """Give ``Exception`` the rendered text, so that tracebacks and ``repr`` show it."""
        super().__init__(str(self))

    @property
    def facts(self) -> dict[str, object]:
        """The fields of this error, as plain values."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __str__(self) -> str:
        """Render the three parts on three lines."""
        facts = self.facts
        return (
            f"{self.found.format(**facts)}\n"
            f"  Likely cause: {self.likely_cause.format(**facts)}\n"
            f"  Next move: {self.next_move.format(**facts)}"
        )


@dataclass(kw_only=True, eq=False)
class SettingsError(MirrorError):
    """The settings or arguments are wrong; nothing was contacted or written."""

    exit_code: ClassVar[int] = 2


@dataclass(kw_only=True, eq=False)
class RetriableError(MirrorError):
    """The same call may succeed later without a change."""

    retriable: ClassVar[bool] = True
    exit_code: ClassVar[int] = 3
