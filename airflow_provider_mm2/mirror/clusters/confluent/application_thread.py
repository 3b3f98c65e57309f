"""Work of an application in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable

from confluent_kafka import KafkaError, KafkaException

from airflow_provider_mm2.mirror.errors import MirrorError

STOP_LIMIT_S = 30.0

LASTING = (
    KafkaError._AUTO_OFFSET_RESET,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.UNSUPPORTED_VERSION,
    KafkaError._UNSUPPORTED_FEATURE,
)
"""Errors of a consumer that do not pass by themselves."""


class ApplicationThread:
    """Work until it is asked to stop; what ends it by itself is kept."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.stopping = threading.Event()
        self.problem: str | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work()
        except KafkaException as error:
            inner = error.args[0]
            self.problem = inner.str() if isinstance(inner, KafkaError) else str(error)
        except MirrorError as error:
            self.problem = error.first_line

    def stop(self) -> None:
        """Ask it to stop, and wait until it has."""
        self.stopping.set()
        self._thread.join(STOP_LIMIT_S)
        if self._thread.is_alive():
            self.problem = f"it did not end within {STOP_LIMIT_S:.0f} s"
