"""Ask a broker whether it serves clients; the one file here that uses the Kafka library."""

from __future__ import annotations

import socket
from collections.abc import Mapping

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.local.spec import HOST


def why_not_ready(settings: Mapping[str, str], port: int, node: int) -> str | None:
    """Ask the broker behind one port for its view of the cluster.

    :param settings: the cluster's client settings; their address is replaced by this broker's.
    :param node: the id the broker must list itself under.
    :returns: ``None`` when it serves, else why it does not, in a few words.
    """
    try:
        # librdkafka waits longer and longer between attempts: do not wake it before somebody listens.
        socket.create_connection((HOST, port), timeout=1.0).close()
    except OSError as error:
        return f"no connection: {error.strerror or error}"
    client = AdminClient({**settings, "bootstrap.servers": f"{HOST}:{port}", "log_level": 0})
    try:
        listed = client.list_topics(timeout=3.0).brokers
    except KafkaException as error:
        return str(error.args[0])
    return None if node in listed else f"it lists brokers {sorted(listed)}"
