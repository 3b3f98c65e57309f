"""What the provider tells Airflow: valid by Airflow's own schemas, and true."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.metadata import entry_points, metadata
from pathlib import Path
from typing import Any

import jsonschema

import tests.airflow_env  # noqa: F401 # before anything of Airflow
from airflow_provider_mm2.provider_info import get_provider_info


def schema(name: str) -> dict[str, Any]:
    """Give one of the schemas that Airflow is installed with."""
    folder = Path(str(import_module("airflow").__file__)).parent
    loaded: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
    return loaded


def test_airflow_accepts_it() -> None:
    """A fault in it stops every Airflow command, so it is held against the schema that Airflow uses."""
    jsonschema.validate(get_provider_info(), schema("provider_info.schema.json"))


def test_each_part_is_as_the_development_schema_wants_it() -> None:
    """The stricter schema of Airflow's own providers finds misspelt keys, which Airflow passes over in silence."""
    strict = schema("provider.yaml.schema.json")["properties"]
    for key, value in get_provider_info().items():
        assert key in strict
        jsonschema.validate(value, strict[key])


def test_the_name_is_that_of_the_distribution() -> None:
    """Airflow refuses to start when the two differ."""
    assert get_provider_info()["package-name"] == metadata("airflow-provider-mm2")["Name"]
    (entry,) = (point for point in entry_points(group="apache_airflow_provider") if "mm2" in point.value)
    assert entry.load() is get_provider_info


def test_every_module_it_names_can_be_imported() -> None:
    """Each dotted path exists, and belongs to this package."""
    named = [
        module
        for kind in ("operators", "sensors", "triggers", "hooks")
        for part in get_provider_info()[kind]  # type: ignore[attr-defined] # a literal
        for module in part["python-modules"]
    ]
    assert named
    for module in named:
        assert import_module(module).__name__.startswith("airflow_provider_mm2.")


def test_the_official_connection_type_is_left_to_its_owner() -> None:
    """Declaring ``kafka`` here would take it over, since our name sorts before the official provider's."""
    assert "connection-types" not in get_provider_info()
