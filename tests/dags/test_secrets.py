"""K23: planted secrets are nowhere to be found in what Airflow keeps, logs and shows, nor on the target."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.clusters.naming import gate_topic, ledger_topic
from airflow_provider_mm2.mirror.model import TopicPartition
from tests.contract.lab import BASE_MS, Side
from tests.contract.real_lab import RealLab
from tests.fakes.log import Message

pytestmark = [pytest.mark.airflow, pytest.mark.broker]

ROOT = Path(__file__).parents[2]

SECRETS = {
    "sasl.password": "planted-sasl-password",
    "ssl.key.pem": "-----BEGIN PRIVATE KEY-----\nplanted-line-of-key\nplanted-other-line\n-----END PRIVATE KEY-----",
    "sasl.jaas.config": 'a.b.PlainLoginModule required username="app" password="planted-in-jaas";',
    "ssl.keystore.key": "planted-keystore-key",
    "ssl.key.password": "planted-key-password",
    "basic.auth.user.info": "app:planted-in-user-info",
    "sasl.oauthbearer.client.secret": "planted-oauth-secret",
}
"""The case's list of keys; every value holds a word to be looked for."""

PLANTED = re.compile(r"planted[-\w]+")

AIRFLOWS_OWN = "msg=MaskSecret("
"""With debug logging, and only in ``dag.test``, Airflow logs the message by which a task tells it what to mask."""


@pytest.fixture
def lab(pair: LocalPair) -> Iterator[RealLab]:
    """Give hands and eyes on both clusters."""
    real = RealLab(pair.addresses)
    yield real
    real.close()


@pytest.mark.slow
def test_no_secret_is_left_anywhere(lab: RealLab, pair: LocalPair, tmp_path: Path) -> None:
    """Runs that succeed, fail at connect, or are refused, all with debug logging, show none of the values."""
    topic = lab.new_name()
    lab.create_topic(Side.SOURCE, topic, settings={"retention.ms": "-1"})
    lab.produce(Side.SOURCE, TopicPartition(topic, 0), Message(value=b"v", timestamp_ms=BASE_MS))
    source, target = (pair.addresses[side]["bootstrap.servers"] for side in ("source", "target"))
    flows = tmp_path / "flows"
    flows.mkdir()

    def write(name: str, source_line: str, target_line: str) -> str:
        text = f"name: {topic}-{name}\nsource: {{alias: us, {source_line}}}\ntarget: {{alias: {name}, {target_line}}}\n"
        (flows / f"{name}.yaml").write_text(f"{text}topics: [{topic}]\ndag: {{retries: 0}}\n")
        return f"mm2_mirror__{topic}-{name}"

    plain_target = f'settings: {{bootstrap.servers: "{target}", sasl.password: "${{EU_PASSWORD}}"}}'
    expected = {
        # A plain listener does not look at the password, so this one succeeds.
        write("good", "connection: kafka_good", plain_target): "success",
        write("refused", "connection: kafka_all", plain_target): "failed",
        write("unreachable", "connection: kafka_unreachable", plain_target): "failed",
        write("badkey", "connection: kafka_badkey", plain_target): "failed",
    }
    plain = json.dumps({"bootstrap.servers": source, **SECRETS})
    expected |= {
        write("plain", f"settings: {plain}", plain_target): "failed",
        write("misspelt", f"setings: {plain}", plain_target): "failed",
    }

    sasl = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "app"}
    nowhere = {"bootstrap.servers": "127.0.0.1:1", "debug": "all"}
    connections = {
        "KAFKA_GOOD": {"bootstrap.servers": source, "sasl.password": SECRETS["sasl.password"], "debug": "all"},
        "KAFKA_ALL": {**nowhere, **SECRETS},
        "KAFKA_UNREACHABLE": {**nowhere, **sasl, "sasl.password": SECRETS["sasl.password"]},
        "KAFKA_BADKEY": {**nowhere, "security.protocol": "SSL", "ssl.key.pem": SECRETS["ssl.key.pem"]},
    }
    kept = tmp_path / "home"
    output = run_all(tmp_path / "dag.py", kept, connections)
    assert dict(re.findall(r"STATE (\S+) (\w+)", output)) == expected

    shown = "\n".join(line for line in output.splitlines() if AIRFLOWS_OWN not in line)
    assert "ssl.key.pem failed: not in PEM format" in shown
    assert "127.0.0.1:1/bootstrap: Broker changed state" in shown
    searched = {"output": shown}
    for path in kept.rglob("*"):
        if path.is_file():
            searched[str(path.relative_to(kept))] = path.read_bytes().decode(errors="replace")
    assert "airflow.db" in searched
    for state in (gate_topic(f"{topic}-good"), ledger_topic(f"{topic}-good")):
        searched[state] = repr(lab.visible(Side.TARGET, TopicPartition(state, 0)))
        assert topic in searched[state]
    found = {place: sorted(set(PLANTED.findall(text))) for place, text in searched.items() if PLANTED.search(text)}
    assert found == {}


def run_all(dag_file: Path, kept: Path, connections: dict[str, dict[str, str]]) -> str:
    """Run the folder's DAGs in a process of their own, and give all that it writes."""
    environment = {
        **os.environ,
        **{
            f"AIRFLOW_CONN_{name}": json.dumps({"conn_type": "kafka", "extra": extra})
            for name, extra in connections.items()
        },
        "EU_PASSWORD": "planted-in-the-environment",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "DEBUG",
    }
    command = [sys.executable, "-m", "tests.dags.secrets_child", str(dag_file), str(kept)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr
