"""The proxies do to bytes what they say."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from airflow_provider_mm2.local.spec import HOST
from tests.chaos.network import Network, Proxy, Weather


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """Give a proxy before a server that sends back what it is sent."""
    network = Network()
    with socket.create_server((HOST, 0)) as server:
        threading.Thread(target=_echo, args=[server], daemon=True).start()
        yield network.proxy(lambda: int(server.getsockname()[1]))
        network.close()


def _echo(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=_send_back, args=[connection], daemon=True).start()


def _send_back(connection: socket.socket) -> None:
    with connection, suppress(OSError):
        while piece := connection.recv(65_536):
            connection.sendall(piece)


def connect(proxy: Proxy) -> closing[socket.socket]:
    """A connection through the proxy."""
    return closing(socket.create_connection((HOST, proxy.port), timeout=5))


def exchange(connection: socket.socket, data: bytes) -> float:
    """Send, and read it back; gives the seconds."""
    began = time.monotonic()
    connection.sendall(data)
    read = b""
    while len(read) < len(data):
        piece = connection.recv(65_536)
        assert piece, "the connection is closed"
        read += piece
    assert read == data
    return time.monotonic() - began


def assert_closed(proxy: Proxy) -> None:
    """A new connection is closed before anything comes back."""
    with pytest.raises((OSError, AssertionError)), connect(proxy) as connection:
        exchange(connection, b"never")


def test_fair_and_slow(proxy: Proxy) -> None:
    """Bytes pass whole; slow ones take at least as long as latency and rate say."""
    with connect(proxy) as connection:
        exchange(connection, b"x" * 300_000)
        with proxy.under(Weather(latency_s=0.1, bytes_per_s=10_000)):
            assert exchange(connection, b"x" * 1000) >= 2 * (0.1 + 0.1)
        exchange(connection, b"again")
    assert proxy.passed == 2 * (300_000 + 1000 + 5)


def test_silent(proxy: Proxy) -> None:
    """Nothing comes while it is silent, and nothing is lost."""
    with connect(proxy) as connection:
        exchange(connection, b"before")
        with proxy.under(Weather(silent=True)):
            connection.sendall(b"kept")
            connection.settimeout(0.3)
            with pytest.raises(TimeoutError):
                connection.recv(10)
        connection.settimeout(5)
        assert connection.recv(10) == b"kept"


def test_dead(proxy: Proxy) -> None:
    """Connections are reset, new ones closed at once; afterwards new ones work."""
    with connect(proxy) as connection:
        exchange(connection, b"before")
        with proxy.under(Weather(dead=True)):
            with pytest.raises(ConnectionResetError):
                connection.recv(10)
            assert_closed(proxy)
    with connect(proxy) as connection:
        exchange(connection, b"after")


def test_nobody_there() -> None:
    """A destination that takes no connection looks dead; the proxy lives on."""
    network = Network()
    with socket.create_server((HOST, 0)) as server:
        port = int(server.getsockname()[1])
    proxy = network.proxy(lambda: port)
    for _ in range(2):
        assert_closed(proxy)
    network.close()
