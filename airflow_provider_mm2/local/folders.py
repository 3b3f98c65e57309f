"""Where downloads and the pair of ``mm2 local`` are kept when nobody says otherwise."""

from __future__ import annotations

import os
from pathlib import Path

_NAME = "airflow-provider-mm2"


def cache_folder() -> Path:
    """Give the folder downloads are kept in: MM2_CACHE, else one in the user's cache folder."""
    chosen = os.environ.get("MM2_CACHE")
    return Path(chosen).expanduser() if chosen else _of_user("XDG_CACHE_HOME", "~/.cache")


def pair_folder() -> Path:
    """Give the folder ``mm2 local`` keeps its pair in: one in the user's folder for state."""
    return _of_user("XDG_STATE_HOME", "~/.local/state") / "local"


def _of_user(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or default).expanduser() / _NAME
