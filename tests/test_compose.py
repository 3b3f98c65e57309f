"""``docker-compose.yaml`` without a Docker engine: held against the Compose schema, Airflow's settings and our code."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from airflow_provider_mm2.local.jars import KAFKA_VERSION
from airflow_provider_mm2.local.spec import ClusterSpec, Ports, broker_properties

ROOT = Path(__file__).parents[1]
KAFKA_SERVICES = ("source", "target")

DOCUMENTED_PROBES = {
    # Each image's own documentation probes it with this program, so it is in the image.
    "apache/kafka": "/opt/kafka/bin/kafka-broker-api-versions.sh",
    "postgres": "pg_isready",
    "apache/airflow": "curl",
}

OWN_OF_EACH_BROKER = {
    # Where a broker listens and keeps its data differs by nature; everything else must equal the local pair.
    "node.id",
    "listeners",
    "advertised.listeners",
    "listener.security.protocol.map",
    "controller.quorum.voters",
    "log.dirs",
}


def read_yaml(path: Path) -> Any:
    """Read a YAML file as plain values, anchors and merges resolved."""
    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """Give the services of the Compose file."""
    loaded: dict[str, Any] = read_yaml(ROOT / "docker-compose.yaml")["services"]
    return loaded


def environment(services: dict[str, Any], service: str) -> dict[str, str]:
    """Give the variables of one service."""
    found: dict[str, str] = services[service]["environment"]
    return found


def kafka_properties(services: dict[str, Any], service: str) -> dict[str, str]:
    """Translate a broker's variables as the image does: ``KAFKA_LOG_DIRS`` becomes ``log.dirs``."""
    return {
        name.removeprefix("KAFKA_").lower().replace("_", "."): value
        for name, value in environment(services, service).items()
        if name.startswith("KAFKA_")
    }


def listeners(text: str) -> dict[str, tuple[str, int]]:
    """Read ``NAME://host:port,...`` as name to host and port."""
    found = re.findall(r"(\w+)://([^:,]*):(\d+)", text)
    return {name: (host, int(port)) for name, host, port in found}


def image_of(services: dict[str, Any], service: str) -> tuple[str, str]:
    """Give repository and tag of a service's image, of a built one those it is built from."""
    image = services[service].get("image")
    if image is None:
        dockerfile = ROOT / services[service]["build"]["dockerfile"]
        image = re.findall(r"^FROM (\S+)", dockerfile.read_text(encoding="utf-8"), flags=re.MULTILINE)[-1]
    repository, _, tag = image.partition(":")
    return repository, tag


def locked_version(package: str) -> str:
    """Give the version of a package in the lock of the Airflow we develop on."""
    lock = (ROOT / "requirements" / "airflow-3.3.txt").read_text(encoding="utf-8")
    match = re.search(rf"^{re.escape(package)}==(\S+)", lock, flags=re.MULTILINE)
    assert match is not None
    return match[1]


def test_it_follows_the_compose_schema() -> None:
    """The file is valid by the schema of the Compose specification."""
    schema = json.loads((files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json").read_text("utf-8"))
    jsonschema.validate(read_yaml(ROOT / "docker-compose.yaml"), schema)


def test_versions_are_those_that_are_tested(services: dict[str, Any]) -> None:
    """Kafka and Airflow run there in the versions of the tests, and no image floats."""
    images = {service: image_of(services, service) for service in services}
    assert images["source"] == images["target"] == ("apache/kafka", KAFKA_VERSION)
    assert images["airflow"][0] == "apache/airflow"
    assert images["airflow"][1].split("-")[0] == locked_version("apache-airflow")
    assert all(re.match(r"\d", tag) for _, tag in images.values())


def test_airflow_reads_every_variable(services: dict[str, Any]) -> None:
    """Each AIRFLOW__ variable names a section and an option that Airflow describes."""
    spec = importlib.util.find_spec("airflow")
    assert spec is not None
    assert spec.origin is not None
    described = read_yaml(Path(spec.origin).parent / "config_templates" / "config.yml")
    names = [name for name in environment(services, "airflow") if name.startswith("AIRFLOW__")]
    for name in names:
        _, section, option = name.lower().split("__")
        assert option in described[section]["options"], name
    assert len(names) >= 3


def test_the_flow_reads_every_variable(services: dict[str, Any]) -> None:
    """The shipped flow takes its addresses from the variables given here, and they lead to the two brokers."""
    given = environment(services, "airflow")
    flows = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "dags" / "flows").glob("*.yaml"))
    assert {name for name in given if name.startswith("MM2_")} == set(re.findall(r"\$\{(MM2_\w+)", flows))
    for service, variable in zip(KAFKA_SERVICES, ("MM2_SOURCE", "MM2_TARGET"), strict=True):
        advertised = listeners(kafka_properties(services, service)["advertised.listeners"])
        host, port = advertised["INTERNAL"]
        assert given[variable] == f"{host}:{port}"
        assert host == service


@pytest.mark.parametrize("service", KAFKA_SERVICES)
def test_broker_settings_are_those_of_the_local_pair(services: dict[str, Any], service: str) -> None:
    """Every broker setting is one that the tests run real brokers with, with the same value."""
    ports = Ports(client=1, internal=2, controller=3)
    tested = broker_properties(ClusterSpec(name=service), 0, [ports], folder=Path("/x"), tls_folder=Path("/x"))
    settings = kafka_properties(services, service)
    assert settings.keys() <= tested.keys()
    shared = settings.keys() - OWN_OF_EACH_BROKER
    assert {name: settings[name] for name in shared} == {name: tested[name] for name in shared}


@pytest.mark.parametrize("service", KAFKA_SERVICES)
def test_listeners_and_ports_agree(services: dict[str, Any], service: str) -> None:
    """What a broker advertises it listens on, and what this machine reaches is published where it is advertised."""
    settings = kafka_properties(services, service)
    listening, advertised = listeners(settings["listeners"]), listeners(settings["advertised.listeners"])
    protocols = dict(pair.split(":") for pair in settings["listener.security.protocol.map"].split(","))
    assert protocols.keys() == listening.keys() == {"INTERNAL", "CLIENT", "CONTROLLER"}
    assert advertised.keys() == {"INTERNAL", "CLIENT"}
    assert all(advertised[name][1] == listening[name][1] for name in advertised)
    assert settings["controller.quorum.voters"] == f"{settings['node.id']}@127.0.0.1:{listening['CONTROLLER'][1]}"
    host, port = advertised["CLIENT"]
    assert services[service]["ports"] == [f"{host}:{port}:{port}"]
    assert services[service]["healthcheck"]["test"][-1] == f"127.0.0.1:{listening['INTERNAL'][1]}"


def test_the_clusters_are_two(services: dict[str, Any]) -> None:
    """Each broker has a cluster id of its own, of the length Kafka's storage tool takes."""
    ids = {environment(services, service)["CLUSTER_ID"] for service in KAFKA_SERVICES}
    assert len(ids) == 2
    assert all(len(base64.urlsafe_b64decode(f"{cluster_id}==")) == 16 for cluster_id in ids)


def test_ports_are_open_to_this_machine_alone(services: dict[str, Any]) -> None:
    """Nothing here has a password worth the name, so every port is bound to the loopback interface."""
    published = [port for service in services.values() for port in service.get("ports", [])]
    assert len(published) == 3
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_each_service_waits_for_healthy_ones(services: dict[str, Any]) -> None:
    """Every service is probed with a program its image has, and whoever depends on one waits for the probe."""
    for service, settings in services.items():
        assert settings["healthcheck"]["test"][:2] == ["CMD", DOCUMENTED_PROBES[image_of(services, service)[0]]]
        for needed, how in settings.get("depends_on", {}).items():
            assert needed in services
            assert how == {"condition": "service_healthy"}


def test_mounts_and_volumes_exist(services: dict[str, Any]) -> None:
    """A mounted folder is in the repository, a named volume is declared, and none is left over."""
    mounted = [entry.split(":")[0] for service in services.values() for entry in service.get("volumes", [])]
    named = {name for name in mounted if not name.startswith(".")}
    assert named == set(read_yaml(ROOT / "docker-compose.yaml")["volumes"])
    assert all((ROOT / name).is_dir() for name in mounted if name.startswith("."))


def test_the_image_gets_what_it_is_built_from(services: dict[str, Any]) -> None:
    """Each file the Dockerfile copies exists and is let through by the ignore file beside it."""
    dockerfile = ROOT / services["airflow"]["build"]["dockerfile"]
    ignore = dockerfile.with_name(f"{dockerfile.name}.dockerignore").read_text(encoding="utf-8").split()
    copied = re.findall(r"^COPY (?:--\S+ )*(.+) \S+$", dockerfile.read_text(encoding="utf-8"), flags=re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    assert all((ROOT / name).exists() for name in names)
    assert set(names) == {entry.removeprefix("!") for entry in ignore if entry.startswith("!")}
