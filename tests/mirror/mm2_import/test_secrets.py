"""Whatever is given, an import ends in flows or in an error of ours, and no secret is in either."""

from __future__ import annotations

import json
import traceback

from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.clusters.config import plain_secrets
from airflow_provider_mm2.mirror.errors import ImportRefused
from airflow_provider_mm2.mirror.flow_file import flow_from_mapping
from airflow_provider_mm2.mirror.mm2_import.client_keys import CLIENT_KEYS
from airflow_provider_mm2.mirror.mm2_import.findings import may_be_secret
from airflow_provider_mm2.mirror.mm2_import.flow_text import flow_document, flow_yaml
from airflow_provider_mm2.mirror.mm2_import.importer import Imported, import_files
from airflow_provider_mm2.mirror.mm2_import.keys import KEYS
from airflow_provider_mm2.mirror.yaml_lines import read_yaml
from tests.mirror.mm2_import.kafka_keys import KEYS as KAFKAS_KEYS
from tests.mirror.mm2_import.kafka_keys import dedicated
from tests.mirror.mm2_import.test_every_key import config_of

SECRET = "Tr0ub4dor"  # noqa: S105 - looked for in all that comes out
HEADS = ("", "us.", "eu.", "us->eu.", "us->eu.source.cluster.", "us->eu.target.cluster.", "us.consumer.",
         "eu.producer.", "eu.admin.", "us->eu.source.consumer.", "us->eu.producer.override.", "at->sea.")  # fmt: skip
EVERY_KEY = sorted({*KEYS, *CLIENT_KEYS, *KAFKAS_KEYS, "no.such.key", "password", "sasl.jaas.confg"})
MODULES = ("plain.PlainLoginModule", "scram.ScramLoginModule", "oauthbearer.OAuthBearerLoginModule", "Other")
SECRETS = st.sampled_from(
    [
        SECRET,
        *(f'org.{module} required username="who" password="{SECRET}" clientSecret="{SECRET}";' for module in MODULES),
        f"org.PlainLoginModule required username=who password={SECRET} odd {SECRET}=1;",
        f'com.sun.Krb5LoginModule required {SECRET}="x" keyTab="/k";',
        f'PlainLoginModule required password="{SECRET}',
        f"${{file:/etc/secrets:{SECRET}}}",
        f"-----BEGIN PRIVATE KEY-----\\n{SECRET}\\n-----END PRIVATE KEY-----",
    ]
)
BROKEN_LINES = st.sampled_from(
    [f'password="{SECRET}";', f'"{SECRET}";', SECRET, f"{SECRET}==", f'{SECRET} and more";', f"  {SECRET}  = "]
)
PLAIN = st.sampled_from(["true", "false", "1", "-1", "0", "SASL_SSL", "SSL", "PLAIN", "PEM", "PKCS12", "", "orders.*",
                         "a, b", "latest", "x" * 300, "${NAME}", "${env:NAME}", "\\u0416", "[a-c]{1,3}"])  # fmt: skip


@st.composite
def entries(draw: st.DrawFn, heads: tuple[str, ...]) -> tuple[str, str]:
    """Draw a key with something in front, and a value: a secret where the key is a secret's, or nobody knows it."""
    key = draw(st.sampled_from(EVERY_KEY))
    is_secret = may_be_secret(key) or key not in {*KEYS, *CLIENT_KEYS, *KAFKAS_KEYS}
    return draw(st.sampled_from(heads)) + key, draw(SECRETS if is_secret else PLAIN)


def outcome(*files: tuple[str, bytes]) -> Imported | ImportRefused:
    """Import files; an error of ours is an outcome like another."""
    try:
        return import_files(files)
    except ImportRefused as refused:
        return refused


def assert_safe(label: str, text: str) -> None:
    """Import a text: flows that are read back as they are and hold no secret, or an error that shows none."""
    result = outcome((label, text.encode("utf-8")))
    if isinstance(result, Imported):
        assert_flows(result)
    else:
        assert result.problems
        assert SECRET not in "".join(traceback.format_exception(result)) + repr(result.facts)


def assert_flows(result: Imported) -> None:
    """Read each flow back from its text, and look for the secret in all there is."""
    shown = json.dumps([found.to_json() for found in result.unhonoured])
    for flow in result.flows:
        text = flow_yaml(flow)
        shown += text + json.dumps(flow_document(flow))
        document = read_yaml(text).value
        assert isinstance(document, dict)
        assert flow_from_mapping(document) == flow
        assert (plain_secrets(flow.source), plain_secrets(flow.target)) == ((), ())
    assert SECRET not in shown


@given(lines=st.lists(entries(HEADS).map("=".join) | BROKEN_LINES, max_size=12))
def test_properties(lines: list[str]) -> None:
    """A properties file of any keys, and of lines that a missing backslash has torn off a secret."""
    assert_safe("mm2.properties", dedicated(*lines))


@given(
    keys=st.dictionaries(entries(("", "source.cluster.", "target.cluster.", "consumer.")).map(lambda e: e[0]), SECRETS),
    others=st.lists(entries(("", "source.cluster.", "target.cluster.", "producer.override.")), max_size=10),
)
def test_connectors(keys: dict[str, str], others: list[tuple[str, str]]) -> None:
    """Connectors with any keys, secrets under the keys of secrets."""
    secret = {key: value for key, value in keys.items() if may_be_secret(key)}
    assert_safe("connectors.json", json.dumps([{**config_of("source"), **dict(others), **secret}]))


@given(data=st.binary(max_size=80) | st.text(max_size=80).map(str.encode))
def test_anything(data: bytes) -> None:
    """Bytes that are no configuration at all are refused."""
    result = outcome(("odd", data), ("odd.json", b"[" + data), ("odder.json", b"{" + data))
    assert isinstance(result, ImportRefused)
    assert result.problems


def test_deep_json() -> None:
    """JSON that is nested too deep for the reader is refused, too."""
    assert_safe("deep.json", "[" * 100_000)
