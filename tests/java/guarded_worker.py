"""A real Kafka Connect worker behind TLS and a log-in, without exactly once."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12
from cryptography.x509 import load_pem_x509_certificate

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.cluster import LocalCluster
from tests.java.connect_worker import await_answer, start_worker

USER, PASSWORD = "mirror", "hunter2-of-connect"
_AUTH = "org.apache.kafka.connect.rest.basic.auth.extension"


@contextmanager
def guarded_worker(folder: Path, cluster: LocalCluster) -> Iterator[tuple[str, Path]]:
    """Start a worker without exactly once, behind TLS and a log-in, and end it; its address and whom to trust."""
    folder.mkdir(exist_ok=True)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    store = folder / "worker.p12"
    store.write_bytes(_store(authority.issue_cert("localhost")))
    (folder / "users.properties").write_text(f"{USER}={PASSWORD}\n", encoding="utf-8")
    (folder / "jaas.conf").write_text(
        f'KafkaConnect {{ {_AUTH}.PropertyFileLoginModule required file="{folder}/users.properties"; }};\n', "utf-8"
    )
    settings = {
        "rest.extension.classes": f"{_AUTH}.BasicAuthSecurityRestExtension",
        "listeners.https.ssl.keystore.location": str(store),
        "listeners.https.ssl.keystore.password": PASSWORD,
        "listeners.https.ssl.key.password": PASSWORD,
        "listeners.https.ssl.keystore.type": "PKCS12",
    }
    try:
        url = start_worker(
            folder,
            cluster,
            settings=settings,
            scheme="https",
            jars=("connect-basic-auth-extension",),
            jvm_options=(f"-Djava.security.auth.login.config={folder}/jaas.conf",),
        )
        trust = ssl.create_default_context(cafile=folder / "ca.pem")
        await_answer(f"{url}/connectors", folder, auth=(USER, PASSWORD), verify=trust)
        yield url, folder / "ca.pem"
    finally:
        processes.end(folder, grace_s=0)


def _store(issued: trustme.LeafCert) -> bytes:
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    certificate = load_pem_x509_certificate(issued.cert_chain_pems[0].bytes())
    return pkcs12.serialize_key_and_certificates(
        b"worker",
        key,  # type: ignore[arg-type]
        certificate,
        None,
        BestAvailableEncryption(PASSWORD.encode()),
    )
