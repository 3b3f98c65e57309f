"""A Java client's settings as librdkafka's: logins, stores, roles, and values from elsewhere."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.clusters.config import is_secret
from airflow_provider_mm2.mirror.mm2_import.importer import Imported
from airflow_provider_mm2.mirror.mm2_import.jaas import read_jaas
from tests.mirror.mm2_import.kafka_keys import dedicated, imported, told

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def source_of(result: Imported) -> dict[str, object]:
    """Give the source's settings without its brokers."""
    settings = result.flows[0].source.settings or {}
    return {key: value for key, value in settings.items() if key != "bootstrap.servers"}


def source_with(*lines: str) -> dict[str, object]:
    """Give the source's settings that these lines, each behind ``us.``, add."""
    return source_of(imported(dedicated(*(f"us.{line}" for line in lines))))


@pytest.mark.parametrize(
    ("password", "expected"),
    [
        ("s3cret", "${MM2_US_SASL_PASSWORD}"),
        ("${file:/etc/mm2.properties:password}", "${MM2_US_SASL_PASSWORD}"),
        ("${env:KAFKA_PASSWORD}", "${KAFKA_PASSWORD}"),
        ("${KAFKA_PASSWORD}", "${KAFKA_PASSWORD}"),
    ],
)
def test_a_password_becomes_a_variable(password: str, expected: str) -> None:
    """The variable is named, and keeps its name where it was one before."""
    result = imported(dedicated(f'us.sasl.jaas.config = {PLAIN} required username="u" password="{password}";'))
    assert source_of(result) == {"sasl.username": "u", "sasl.password": expected}
    assert f"set {expected[2:-1]} where runs take place to the password in it" in told(result)["us.sasl.jaas.config"]


def test_two_passwords_have_two_variables() -> None:
    """Where a direction has a login of its own, or two aliases come to one name."""
    head = f"{PLAIN} required username=u password"
    lines = (
        f"us.sasl.jaas.config={head}=a;",
        f"eu->us.target.cluster.sasl.jaas.config={head}=b;",
        "eu->us.enabled=true",
    )
    first, second = imported(dedicated(*lines)).flows
    assert (first.source.settings or {})["sasl.password"] == "${MM2_US_SASL_PASSWORD}"
    assert (second.target.settings or {})["sasl.password"] == "${MM2_US_SASL_PASSWORD_2}"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('a.b.M required x="1" y=2;', {"x": "1", "y": "2"}),
        ("M required x='a \"b' ;", {"x": 'a "b'}),
        (r'M optional x="a\"b;c" y="";', {"x": 'a"b;c', "y": ""}),
        ("  M\n required\n  x=1\n;\n", {"x": "1"}),
        ("M required;", {}),
    ],
)
def test_jaas(text: str, options: dict[str, str]) -> None:
    """Quotes, escapes and line ends as Java reads them; the module is the class's last name."""
    login = read_jaas(text)
    assert login is not None
    assert (login.module, login.options) == ("M", options)
    assert "options" not in repr(login)


@pytest.mark.parametrize(
    "text", ["", "M x=1;", "M required x=1", 'M required x="1;', "M required x=1; N required;", "${a:b}"]
)
def test_jaas_that_cannot_be_read(text: str) -> None:
    """Without its semicolon or its quotes, or with two logins, it is not guessed at."""
    assert read_jaas(text) is None


def test_a_login_that_cannot_be_read_is_to_be_set() -> None:
    """A whole login from a config provider: user and password are variables."""
    lines = ("sasl.mechanism = SCRAM-SHA-256", "sasl.jaas.config = ${vault:mm2:jaas}")
    assert source_with(*lines) == {
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "${MM2_US_SASL_USERNAME}",
        "sasl.password": "${MM2_US_SASL_PASSWORD}",
    }


def test_values_from_a_config_provider() -> None:
    """What a provider has is never taken literally; what is not a setting of a cluster is refused elsewhere."""
    result = imported(dedicated("us.client.id = ${file:/etc/a:id}", "us.client.rack = rack-${ZONE}"))
    assert source_of(result) == {"client.id": "${MM2_US_CLIENT_ID}", "client.rack": "rack-${ZONE}"}
    assert "a config provider of Kafka Connect has the value" in told(result)["us.client.id"]
    assert "set ZONE where runs take place" in told(result)["us.client.rack"]


@pytest.mark.parametrize("kind", ["JKS", "PKCS12", None])
def test_trust_from_a_store_of_java(kind: str | None) -> None:
    """There is no equal: a variable takes its place, and how to convert it is told."""
    lines = ["us.ssl.truststore.location = /t.jks", "us.ssl.truststore.password = hidden"]
    result = imported(dedicated(*lines, *([f"us.ssl.truststore.type = {kind}"] if kind else [])))
    assert source_of(result) == {"ssl.ca.location": "${MM2_US_SSL_CA_LOCATION}"}
    line = told(result)["us.ssl.truststore.location"]
    assert f"keytool -list -rfc -storetype {kind or 'JKS'} -keystore STORE > ca.pem" in line
    assert "set MM2_US_SSL_CA_LOCATION" in line
    assert "us.ssl.truststore.password" in told(result)


def test_pem() -> None:
    """Files in PEM are taken; text in PEM too, certificates of one's own and keys as variables."""
    files = ("ssl.truststore.type=PEM", "ssl.truststore.location=/ca.pem", "ssl.keystore.type=PEM",
             "ssl.keystore.location=/me.pem", "ssl.key.password=hidden")  # fmt: skip
    assert source_with(*files) == {
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/me.pem",
        "ssl.key.location": "${MM2_US_SSL_KEY_LOCATION}",
        "ssl.key.password": "${MM2_US_SSL_KEY_PASSWORD}",
    }
    text = (r"ssl.truststore.certificates=-----BEGIN\nCA", r"ssl.keystore.certificate.chain=-----BEGIN\nME",
            r"ssl.keystore.key=-----BEGIN\nKEY", "ssl.truststore.type=PEM", "ssl.keystore.type=PEM")  # fmt: skip
    assert source_with(*text) == {
        "ssl.ca.pem": "-----BEGIN\nCA",
        "ssl.certificate.pem": "${MM2_US_SSL_CERTIFICATE_PEM}",
        "ssl.key.pem": "${MM2_US_SSL_KEY_PEM}",
    }


def test_pkcs12() -> None:
    """A client's PKCS#12 store is taken as it is; one of Java's is to be converted to that."""
    lines = ("ssl.keystore.location=/me", "ssl.keystore.password=hidden")
    password = {"ssl.keystore.password": "${MM2_US_SSL_KEYSTORE_PASSWORD}"}
    assert source_with("ssl.keystore.type=PKCS12", *lines) == {"ssl.keystore.location": "/me", **password}
    assert source_with(*lines) == {"ssl.keystore.location": "${MM2_US_SSL_KEYSTORE_LOCATION}", **password}


def test_host_names() -> None:
    """Empty means no check in Java, ``none`` in librdkafka."""
    key = "ssl.endpoint.identification.algorithm"
    assert (source_with(f"{key} ="), source_with(f"{key} = HTTPS")) == ({key: "none"}, {key: "https"})


def test_what_all_roles_say() -> None:
    """A login given for consumer, producer and admin alike is the cluster's; one that differs is told."""
    roles = [f"us.{role}.security.protocol = SSL" for role in ("consumer", "producer", "admin")]
    result = imported(dedicated(*roles))
    assert source_of(result) == {"security.protocol": "SSL"}
    assert not any("security" in key for key in told(result))
    lines = told(imported(dedicated(*roles[:2], "us.admin.security.protocol = PLAINTEXT")))
    assert "one set of settings for each cluster" in lines["us.admin.security.protocol"]


def test_compression() -> None:
    """What the target's producer says counts; the same key is no news where that cluster is a source."""
    result = imported(dedicated("eu.producer.compression.type = lz4", "eu->us.enabled = true"))
    assert (result.flows[0].target.settings or {})["compression.type"] == "lz4"
    assert "eu.producer.compression.type" not in told(result)
    assert "us.consumer.compression.type" in told(imported(dedicated("us.consumer.compression.type = lz4")))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("request.timeout.ms = 45000", {"socket.timeout.ms": 45000}),
        ("send.buffer.bytes = -1", {"socket.send.buffer.bytes": 0}),
        ("request.timeout.ms = 400000", {}),
        ("request.timeout.ms = soon", {}),
        (f"request.timeout.ms = {'9' * 5000}", {}),
        ("client.dns.lookup = default", {}),
        ("sasl.kerberos.service.name = kafka", {"sasl.kerberos.service.name": "kafka"}),
    ],
)
def test_numbers_and_words(line: str, expected: dict[str, object]) -> None:
    """Where librdkafka takes less than Java, the key is told and left out."""
    result = imported(dedicated(f"us.{line}"))
    assert source_of(result) == expected
    assert (f"us.{line.split(' ')[0]}" in told(result)) == (expected == {})


def test_a_key_for_both_clusters_has_a_fate_in_each() -> None:
    """Told with opposite reasons, each line names its cluster; where one reason is for both it names none."""
    result = imported(
        dedicated(
            "ssl.truststore.password = x", "ssl.keystore.password = y",
            "us.ssl.truststore.location = /us.jks",
        )
    )  # fmt: skip
    lines = [(found.key, found.why) for found in result.unhonoured if found.key.endswith(".password")]
    assert lines == [
        ("ssl.truststore.password", "for us: it goes with a store that librdkafka cannot read"),
        ("ssl.truststore.password", "for eu: there is no store that it goes with"),
        ("ssl.keystore.password", "there is no store that it goes with"),
    ]


def test_the_address_of_a_token_is_no_secret() -> None:
    """It only sounds like one."""
    key = "sasl.oauthbearer.token.endpoint.url"
    result = imported(dedicated(f"us.{key} = https://login.example.com/token"))
    assert (result.flows[0].source.settings or {})[key] == "https://login.example.com/token"
    assert f"us.{key}" not in told(result)
    assert is_secret("sasl.oauthbearer.client.secret")
