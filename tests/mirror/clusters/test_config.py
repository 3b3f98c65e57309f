"""Settings of a cluster: secrets, variables, and what each client is forced to."""

import pytest

from airflow_provider_mm2.mirror.clusters import config
from airflow_provider_mm2.mirror.errors import SettingRefused, VariableMissing
from airflow_provider_mm2.mirror.flow import ClusterSettings

GIVEN: config.Settings = {
    "bootstrap.servers": "b:1",
    "group.id": "app",
    "isolation.level": "read_uncommitted",
    "auto.offset.reset": "earliest",
    "enable.auto.offset.store": True,
    "allow.auto.create.topics": True,
    "compression.type": "lz4",
    "transactional.id": "theirs",
    "sasl.username": "u",
}


@pytest.mark.parametrize(
    "key",
    [
        "sasl.password",
        "ssl.key.pem",
        "ssl.key.password",
        "ssl.certificate.pem",
        "ssl.keystore.key",
        "sasl.jaas.config",
        "basic.auth.user.info",
        "sasl.oauthbearer.client.secret",
        "SASL.PASSWORD",
        "my.api.token",
    ],
)
def test_secret_keys(key: str) -> None:
    """K23: keys that hold secrets are known as such, also those that Airflow's own masker lets through."""
    assert config.is_secret(key)
    assert config.redacted({key: "hunter2", "client.id": "c"}) == {key: "***", "client.id": "c"}


@pytest.mark.parametrize("key", ["bootstrap.servers", "sasl.username", "sasl.mechanism", "ssl.ca.location", "key"])
def test_plain_keys(key: str) -> None:
    """A setting that is no secret is shown."""
    assert not config.is_secret(key)


def test_plain_secrets_of_a_flow() -> None:
    """A secret in a flow is plain unless its whole value is one variable."""
    secrets = {"sasl.password": "x${A}", "ssl.key.pem": "${PEM}"}
    cluster = ClusterSettings(alias="us", settings={"bootstrap.servers": "b:1", **secrets})
    assert config.plain_secrets(cluster) == ("sasl.password",)


def test_variables_are_filled_in() -> None:
    """``${NAME}`` in a value is taken from the environment, also inside a longer text."""
    cluster = ClusterSettings(alias="us", settings={"bootstrap.servers": "${HOST}:9092"})
    assert config.resolve_settings(cluster, environment={"HOST": "k1"}) == {"bootstrap.servers": "k1:9092"}


def test_connections_are_taken_as_they_are() -> None:
    """A password in a connection that looks like a variable is a password."""
    connection = {"bootstrap.servers": "b:1", "sasl.password": "a${B}c"}
    assert config.resolve_settings(ClusterSettings(alias="us", connection="c"), connection, {}) == connection


def test_missing_variable() -> None:
    """A variable that is not set is refused with the setting and the name, never filled with nothing."""
    cluster = ClusterSettings(alias="us", settings={"bootstrap.servers": "${HOST}:9092"})
    with pytest.raises(VariableMissing, match=r"\$\{HOST\}[\s\S]*export HOST"):
        config.resolve_settings(cluster, environment={})


def test_callbacks_are_refused() -> None:
    """A callback given as text is refused by name instead of failing deep inside the client."""
    cluster = ClusterSettings(alias="us", connection="kafka_us")
    with pytest.raises(SettingRefused, match="oauth_cb"):
        config.resolve_settings(cluster, {"bootstrap.servers": "b:1", "oauth_cb": "pkg.auth.token"})


def test_connection_without_servers() -> None:
    """A connection without bootstrap.servers is refused."""
    with pytest.raises(SettingRefused, match=r"bootstrap\.servers"):
        config.resolve_settings(ClusterSettings(alias="us", connection="kafka_us"), {"sasl.username": "u"})


def test_readers_cannot_be_lowered() -> None:
    """K16, K26: whatever a connection says, a reader sees committed data only, never commits and never jumps."""
    for settings in (
        config.reader_settings(GIVEN, group="g"),
        config.copy_reader_settings(GIVEN, group="g", max_record_bytes=1),
        config.state_reader_settings(GIVEN, group="g"),
        config.progress_settings(GIVEN, group="g"),
    ):
        assert settings["isolation.level"] == "read_committed"
        assert settings["enable.auto.commit"] is False
        assert settings["enable.auto.offset.store"] is False
        assert settings["auto.offset.reset"] == "error"
        assert settings["group.id"] == "g"
        assert settings["sasl.username"] == "u"
        assert "compression.type" not in settings


def test_no_client_creates_topics() -> None:
    """K91: no client of ours lets a broker make a topic by asking for it."""
    producer = config.producer_settings(GIVEN, transactional_id="t", timeout_s=60)
    for settings in (
        producer,
        config.admin_settings(GIVEN),
        config.reader_settings(GIVEN, group="g"),
        config.member_settings(GIVEN, group="g", owner="o", session_s=6),
    ):
        assert settings["allow.auto.create.topics"] is False


def test_producer_without_transactions() -> None:
    """Without transactions a producer is idempotent, gives nothing up and leaves no gap, whatever a connection says."""
    plain = config.plain_producer_settings({**GIVEN, "transaction.timeout.ms": 1})
    assert not [key for key in plain if key.startswith("transaction")]
    assert (plain["enable.idempotence"], plain["enable.gapless.guarantee"]) == (True, True)
    assert (plain["acks"], plain["delivery.timeout.ms"]) == ("all", 0)
    assert plain["allow.auto.create.topics"] is False


@pytest.mark.parametrize("off", [False, "false", "False"])
def test_producer_without_idempotence(off: object) -> None:
    """A target that refuses idempotent producers gets one request at a time, so that the order is kept."""
    plain = config.plain_producer_settings({**GIVEN, "enable.idempotence": off})
    assert plain["enable.idempotence"] is False
    assert plain["max.in.flight.requests.per.connection"] == 1
    assert "enable.gapless.guarantee" not in plain
    assert config.producer_settings({**GIVEN, "enable.idempotence": off}, transactional_id="t", timeout_s=60)[
        "enable.idempotence"
    ]


def test_producer_is_ours() -> None:
    """A producer keeps the user's compression, and its id, acks and size are the mirror's."""
    producer = config.producer_settings(GIVEN, transactional_id="mm2.f.0", timeout_s=60)
    assert producer["transactional.id"] == "mm2.f.0"
    assert producer["acks"] == "all"
    assert producer["compression.type"] == "lz4"
    assert int(str(producer["message.max.bytes"])) > 5_000_000
    assert "group.id" not in producer
