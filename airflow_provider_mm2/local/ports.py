"""Free ports, chosen by the operating system."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from airflow_provider_mm2.local.spec import HOST, Ports


def pick_ports(brokers: int) -> list[Ports]:
    """Give ports nobody listens on at this moment, all different.

    On Linux a port chosen for listening and one chosen for an outgoing connection differ in parity as long as both
    kinds are plentiful, so a client that reconnects to a broker that is down does not get the broker's port.
    """
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(3 * brokers)]
        for each in sockets:
            each.bind((HOST, 0))
        numbers = [int(each.getsockname()[1]) for each in sockets]
    triples = zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)
    return [Ports(client=client, internal=internal, controller=controller) for client, internal, controller in triples]


def is_free(port: int) -> bool:
    """Tell whether a server could listen on a port now, connections of an ended server aside."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
