"""Print the test files that import Airflow: ``python -m tests.importing_airflow``.

They are what runs again on the oldest supported Airflow; everything else cannot tell one Airflow from another. The text
is searched, not the imports alone: some tests hand a program to another process.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TESTS = Path(__file__).parent

NEEDS_AIRFLOW = re.compile(
    r"\b(from|import) airflow\b"
    r"|\bairflow_provider_mm2\.(?!(cli|local|mirror)\b)\w"  # the import contracts keep these three free of Airflow
    r"|\bpytest\.mark\.airflow\b"
)


def main() -> None:
    """Write one path a line."""
    for path in sorted(TESTS.rglob("test_*.py")):
        if NEEDS_AIRFLOW.search(path.read_text(encoding="utf-8")):
            sys.stdout.write(f"{path.relative_to(TESTS.parent)}\n")


if __name__ == "__main__":
    main()
