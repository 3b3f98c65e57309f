"""A certificate authority and a server certificate for a local cluster, made anew for each."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_mm2.local.errors import LocalExtraMissing
from airflow_provider_mm2.local.properties_file import write_atomically
from airflow_provider_mm2.local.spec import HOST


def make_certificates(tls_folder: Path) -> None:
    """Write ``ca.pem`` (for clients) and ``server.pem`` (key and chain, for brokers), unless they are there.

    :param tls_folder: made when absent.
    :raises LocalExtraMissing: the package trustme is not installed.
    """
    server = tls_folder / "server.pem"
    if server.exists():  # written last
        return
    try:
        import trustme
        from cryptography.hazmat.primitives import serialization
    except ImportError as error:
        raise LocalExtraMissing(package=error.name or "trustme") from error
    authority = trustme.CA(organization_name="local Kafka pair")
    issued = authority.issue_cert(HOST, "localhost")
    key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), password=None)
    # Kafka reads PKCS #8 alone, trustme writes the older form.
    key_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    chain = b"".join(certificate.bytes() for certificate in issued.cert_chain_pems)
    write_atomically(tls_folder / "ca.pem", authority.cert_pem.bytes().decode())
    write_atomically(server, (key_pem + chain).decode())
