"""One producer without transactions: everything it is given arrives in order, or the attempt that uses it ends.

Used with ``delivery: at_least_once``. What has arrived when the attempt ends stays where it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from airflow_provider_mm2.mirror.clusters.config import Settings
from airflow_provider_mm2.mirror.clusters.confluent.failures import (
    FENCES,
    NO_TOPIC,
    REFUSED_RECORDS,
    FailureWatch,
    client_log,
    kafka_error,
    refusal,
    translate,
)
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import DeliveryFailed, KafkaBusy, MirrorError, SettingRefused

_OF_A_CHUNK = FENCES | NO_TOPIC | REFUSED_RECORDS
"""Codes of which the copy engine tells more when it has looked at the chunk."""

SLICE_S = 0.1
SILENCE_LIMIT_S = 60.0
"""How long nothing may be delivered while something is in flight; the client itself gives nothing up."""


class PlainProducer:
    """A producer and what became of its records.

    :param writer: who writes, as errors name it.
    :param limit_s: how long nothing may be delivered while something is in flight.
    """

    def __init__(
        self, *, alias: str, writer: str, settings: Settings, watch: FailureWatch, limit_s: float = SILENCE_LIMIT_S
    ) -> None:
        self.id = writer
        self.failed_code: int | None = None
        self.failures: dict[KafkaError | None, Message] = {}
        self._alias = alias
        self._watch = watch
        self._limit_s = limit_s
        self._left = 0
        self._moved = time.monotonic()
        config: dict[str, Any] = {**settings, "error_cb": watch}
        try:
            self.producer = Producer(config, logger=client_log)
        except (KafkaException, ValueError, TypeError) as error:
            raise SettingRefused(alias=alias, problem=refusal(error)) from error
        # Called with (error, message) for each record: it keeps the first message of each error; None is the error of
        # those that arrived.
        self.delivered: Callable[[Any, Any], object] | None = self.failures.setdefault

    def serve(self, timeout_s: float) -> None:
        """Serve delivery callbacks, and see to it that something arrives.

        :raises DeliveryFailed: a record did not arrive, or nothing has for too long.
        """
        try:
            self.producer.poll(timeout_s)
        except KafkaException as error:
            raise self.failure(error, "produce") from error
        self.check()

    def check(self) -> None:
        """Look at what became of the records so far.

        :raises MirrorError: one was refused or lost, or nothing has arrived for too long.
        """
        failed = next((error for error in self.failures if error is not None), None)
        if failed is not None:
            raise self.failure(failed, "deliver")
        left, now = len(self.producer), time.monotonic()
        if left < self._left or not self._left:  # something arrived, or all had by the last look
            self._moved = now
        self._left = left
        if left and now - self._moved > self._limit_s:
            self._watch.raise_refused()
            why = "" if self._watch.last is None else f" ({self._watch.last.str()})"
            raise self.undelivered(f"{left:,} records had no answer for {self._limit_s:.0f} s{why}")

    def flush(self, tick: Tick) -> None:
        """Wait until all has arrived.

        :raises MirrorError: as :meth:`check`.
        """
        while True:
            try:
                left = self.producer.flush(SLICE_S)
            except KafkaException as error:
                raise self.failure(error, "flush") from error
            self.check()
            if not left:
                self.failures.clear()
                return
            tick()

    def drop(self) -> None:
        """Send no more of what is queued: an attempt that has ended must not write when it wakes up."""
        with suppress(KafkaException):  # a producer that has failed for good sends nothing anyway
            self.producer.purge(in_queue=True, in_flight=True, blocking=False)
            self.producer.poll(0)

    def failure(self, error: KafkaException | KafkaError, operation: str) -> MirrorError:
        """Our error for a failed call or a failed delivery."""
        inner = self._cause(kafka_error(error))
        self.failed_code = inner.code()
        known = translate(inner, alias=self._alias, operation=f"{operation} as {self.id!r}")
        is_ours = isinstance(known, KafkaBusy) or inner.code() in _OF_A_CHUNK or inner.fatal()
        return self.undelivered(f"{operation}: {inner.name()} ({inner.str()})") if is_ours else known

    def _cause(self, error: KafkaError) -> KafkaError:
        """What a record was refused for: the client itself only says that it cannot go on without a gap."""
        if not error.fatal():
            return error
        with suppress(KafkaException):
            self.producer.poll(SLICE_S)
        return next((found for found in self.failures if found is not None and found.code() in _OF_A_CHUNK), error)

    def undelivered(self, problem: str) -> MirrorError:
        """The error for records that did not arrive as they were sent."""
        return DeliveryFailed(writer=self.id, problem=problem)
