"""How many examples property tests try: few and always the same by default, many and new ones for a soak."""

from __future__ import annotations

import os

from hypothesis import settings


def is_long() -> bool:
    """Whether tests may take their time: ``MM2_HYPOTHESIS=long``, or a soak (``MM2_SOAK=1``)."""
    return os.environ.get("MM2_HYPOTHESIS") == "long" or os.environ.get("MM2_SOAK") == "1"


def load_profile() -> None:
    """Choose the profile: the long one tries fifty times as many."""
    settings.register_profile("short", max_examples=60, derandomize=True, deadline=None, database=None)
    settings.register_profile("long", max_examples=3000, deadline=None, print_blob=True)
    settings.load_profile("long" if is_long() else "short")
