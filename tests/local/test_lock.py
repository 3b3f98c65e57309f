"""One holder at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_mm2.local.errors import FolderBusy
from airflow_provider_mm2.local.lock import locked


def test_second_holder_waits_and_gives_up(tmp_path: Path) -> None:
    """While somebody holds the lock others wait, and say which file when the wait was too long."""
    lock = tmp_path / "folder" / "lock"
    with locked(lock), pytest.raises(FolderBusy, match=str(lock)), locked(lock, timeout_s=0.01):
        pytest.fail("held twice")


def test_lock_is_free_after_a_failure(tmp_path: Path) -> None:
    """A block that fails frees the lock."""
    lock = tmp_path / "lock"
    with pytest.raises(ZeroDivisionError), locked(lock):
        raise ZeroDivisionError
    with locked(lock, timeout_s=0):
        pass
