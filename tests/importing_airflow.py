"""Print the test files that import Airflow: ``python -m tests.importing_airflow``.

They are what runs again on the oldest supported Airflow; everything else cannot tell one Airflow from another.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = "airflow_provider_mm2"
WITHOUT_AIRFLOW = {f"{PACKAGE}.{name}" for name in ("cli", "local", "mirror")}
"""The import contracts in ``pyproject.toml`` keep these free of Airflow."""


def imported_names(tree: ast.AST) -> Iterator[str]:
    """Dotted names that a module imports, at its top or inside a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def needs_airflow(source: str) -> bool:
    """Whether a test module imports Airflow, itself or through the provider, or is marked ``airflow``."""
    if "pytest.mark.airflow" in source:
        return True
    for name in imported_names(ast.parse(source)):
        parts = name.split(".")
        if parts[0] == "airflow":
            return True
        if parts[0] == PACKAGE and len(parts) > 1 and ".".join(parts[:2]) not in WITHOUT_AIRFLOW:
            return True
    return False


def main() -> None:
    """Write one path a line."""
    for path in sorted(TESTS.rglob("test_*.py")):
        if needs_airflow(path.read_text(encoding="utf-8")):
            sys.stdout.write(f"{path.relative_to(TESTS.parent)}\n")


if __name__ == "__main__":
    main()
