"""A door before a real Connect worker, at which some requests are answered as a worker does that rebalances."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from tests.mirror.recovery.repoint.server import Answer, Asked, Service, serving


@dataclass
class Forwarder(Service):
    """Hands on what it is asked; ``failing`` says what it answers itself."""

    worker: str = ""

    def answer(self, asked: Asked) -> Answer:
        """What the worker answers."""
        headers = {"Content-Type": "application/json"}
        found = httpx.request(
            asked.method,
            f"{self.worker}{asked.path}",
            params=asked.query,
            content=asked.body,
            headers=headers,
            timeout=30,
            trust_env=False,
        )
        return found.status_code, found.text, headers


@contextmanager
def forwarding(worker: str) -> Iterator[Service]:
    """Open the door."""
    with serving(Forwarder(worker=worker)) as service:
        yield service
