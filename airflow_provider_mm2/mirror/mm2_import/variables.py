"""Names of environment variables that stand for secrets and for what is known elsewhere only."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Variables:
    """Gives one name to each value of a cluster's setting, and another to another value.

    The values are kept for that comparison alone and never shown.
    """

    _values: dict[str, tuple[str, str]] = field(default_factory=dict, repr=False)

    def name(self, alias: str, setting: str, value: str) -> str:
        """A variable for a value, such as ``MM2_US_SASL_PASSWORD``; the same for the same cluster and value."""
        stem = re.sub(r"[^A-Z0-9]+", "_", f"mm2_{alias}_{setting}".upper())
        name, number = stem, 1
        while self._values.setdefault(name, (alias, value)) != (alias, value):
            number += 1
            name = f"{stem}_{number}"
        return name
