"""Ports are chosen by the system and are free."""

from __future__ import annotations

import socket
from dataclasses import asdict

from airflow_provider_mm2.local.ports import is_free, pick_ports


def test_all_ports_differ_and_are_free() -> None:
    """Three brokers get nine different ports that nobody listens on."""
    ports = [port for each in pick_ports(3) for port in asdict(each).values()]
    assert len(set(ports)) == 9
    assert all(map(is_free, ports))


def test_a_listening_port_is_not_free() -> None:
    """A port that another socket listens on is not free."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not is_free(server.getsockname()[1])
