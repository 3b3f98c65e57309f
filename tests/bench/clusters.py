"""The clusters of a benchmark: those that a test has, or a pair of its own for as long as it takes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from airflow_provider_mm2.local.guard import guard_folder
from airflow_provider_mm2.local.pair import LocalPair


@contextmanager
def running(pair: LocalPair | None, folder: Path | None) -> Iterator[tuple[LocalPair, Path]]:
    """Give a pair, and a folder that is gone afterwards.

    :param pair: runs already, and goes on; one is started, and ended, without.
    :param folder: where the folder is made; the system's temporary one without.
    """
    with tempfile.TemporaryDirectory(prefix="mm2-bench-", dir=folder) as made:
        if pair is not None:
            yield pair, Path(made)
            return
        guard_folder(Path(made))
        with LocalPair(Path(made) / "pair") as started:
            yield started, Path(made)
