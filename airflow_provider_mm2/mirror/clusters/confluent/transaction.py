"""One transactional producer and where it stands: every change of state is checked, none is guessed.

librdkafka's calls are made in slices of half a second, so that the caller's tick runs in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from threading import Thread
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from airflow_provider_mm2.mirror.clusters.config import Settings
from airflow_provider_mm2.mirror.clusters.confluent.failures import (
    FENCES,
    FailureWatch,
    client_log,
    is_away,
    kafka_error,
    log,
    refusal,
    translate,
)
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import (
    CommitPending,
    Fenced,
    KafkaBusy,
    MirrorError,
    SettingRefused,
    TransactionFailed,
    TransactionsUnsupported,
)

_NOT_FOR_US = frozenset(
    {
        KafkaError.INVALID_TRANSACTION_TIMEOUT,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError._UNSUPPORTED_FEATURE,
        KafkaError.UNSUPPORTED_VERSION,
    }
)
"""The target has transactions, if at all, for others; waiting changes nothing."""

SLICE_S = 0.5
FENCE_LIMIT_S = 60.0
ADD_LIMIT_S = 20.0
"""librdkafka waits for a group coordinator whose broker died while it was idle, past any time-out that it is given;
another one takes over within half of this, and only a new client asks for it."""
COMMIT_LIMIT_S = 120.0
ABORT_LIMIT_S = 3.0
"""An ``on_kill`` has 5 seconds in all."""


class State(Enum):
    """Where a transactional producer stands."""

    NEW = "new"
    READY = "ready"
    OPEN = "open"
    COMMITTING = "committing"
    ENDED = "ended"


class Transactions:
    """A producer with its transactional id."""

    def __init__(self, *, alias: str, settings: Settings, watch: FailureWatch) -> None:
        self.id = str(settings["transactional.id"])
        self._alias = alias
        self._watch = watch
        self.state = State.NEW
        self.failed_code: int | None = None
        self._lifetime_s = float(str(settings.get("transaction.timeout.ms", 60_000))) / 1000
        config: dict[str, Any] = {**settings, "error_cb": watch}
        try:
            self.producer = Producer(config, logger=client_log)
        except (KafkaException, ValueError, TypeError) as error:
            raise SettingRefused(alias=alias, problem=refusal(error)) from error

    def fence(self, tick: Tick) -> None:
        """End every earlier producer of this id, with its open transaction.

        :raises TransactionsUnsupported: the broker refuses, or has no transaction coordinator to give.
        """
        self._expect(State.NEW)
        self._connect()
        deadline = time.monotonic() + FENCE_LIMIT_S
        while True:
            tick()
            try:
                self.producer.init_transactions(SLICE_S)
            except KafkaException as error:
                self._watch.raise_refused()
                inner = kafka_error(error)
                if not is_away(inner) or time.monotonic() > deadline:
                    raise self._no_transactions(inner) from error
            else:
                self.state = State.READY
                return

    def _connect(self) -> None:
        """Be connected before the coordinator is asked for: asked too soon, the client asks again after 500 ms.

        Twice, for the first answer comes over the bootstrap connection, which is given up for that of a broker.
        """
        with suppress(KafkaException):  # a cluster that is away: init_transactions tells
            for _ in range(2):
                self.producer.list_topics("__transaction_state", SLICE_S)

    def _no_transactions(self, error: KafkaError) -> MirrorError:
        known = translate(error, alias=self._alias, operation=f"begin as {self.id!r}")
        if isinstance(known, KafkaBusy) and self.coordinator_exists():
            return known
        if isinstance(known, KafkaBusy) or error.code() in _NOT_FOR_US:
            return TransactionsUnsupported(alias=self._alias, transactional_id=self.id, problem=error.str())
        return known

    def coordinator_exists(self) -> bool:
        """Whether the cluster has a transaction state topic at all."""
        try:
            return "__transaction_state" in self.producer.list_topics(timeout=5).topics
        except KafkaException:
            return True

    def begin(self) -> None:
        """Open a transaction."""
        self._expect(State.READY)
        self._call("begin", self.producer.begin_transaction)
        self.state = State.OPEN

    def serve(self, timeout_s: float) -> None:
        """Serve delivery callbacks; the client raises a fatal error, such as a fence, out of this call."""
        try:
            self.producer.poll(timeout_s)
        except KafkaException as error:
            raise self.failure(error, "produce") from error

    def check(self) -> None:
        """Ask the client whether the open transaction can still be committed; nothing is sent for it.

        Of a transaction that has failed the client says nothing by itself: what is queued behind the failure waits
        for ``delivery.timeout.ms``. To begin inside a transaction is refused, and the refusal tells.

        :raises TransactionFailed: it cannot, only be aborted.
        """
        standing = self._standing()
        if standing is not None and (standing.txn_requires_abort() or standing.fatal()):
            raise self.failure(standing, "produce")

    def _standing(self) -> KafkaError | None:
        try:
            self.producer.begin_transaction()
        except KafkaException as error:
            return kafka_error(error)
        return None

    def flush(self, tick: Tick) -> None:
        """Wait until all was taken, no longer than the transaction may live: the client may say nothing for ever."""
        deadline = time.monotonic() + self._lifetime_s
        while True:
            try:
                left = self.producer.flush(0.2)
            except KafkaException as error:
                raise self.failure(error, "flush") from error
            self.check()
            if not left:
                return
            if time.monotonic() > deadline:
                raise self._unanswered(f"deliver {left} record(s)", self._lifetime_s)
            tick()

    def add_offsets(self, offsets: list[Any], group_metadata: object, tick: Tick) -> None:
        """Add a group's offsets to the open transaction.

        :raises TransactionFailed: no answer within the limit; a new attempt has a client that looks again.
        """
        self._expect(State.OPEN)
        tick()
        self._sliced(
            "add the progress",
            lambda: self._watched(
                lambda: self.producer.send_offsets_to_transaction(offsets, group_metadata, SLICE_S), tick
            ),
            tick,
            limit_s=ADD_LIMIT_S,
        )

    def _watched(self, call: Callable[[], None], tick: Tick) -> None:
        """Make a call that may never return, in a thread that is left behind if it does not.

        :raises TransactionFailed: it did not return within ``ADD_LIMIT_S``.
        """
        raised: list[BaseException] = []

        def run() -> None:
            try:
                call()
            except BaseException as error:  # noqa: BLE001 - raised again where it was waited for
                raised.append(error)

        thread = Thread(target=run, daemon=True)
        thread.start()
        deadline = time.monotonic() + ADD_LIMIT_S
        while True:
            thread.join(SLICE_S)
            if not thread.is_alive():
                break
            if time.monotonic() > deadline:
                raise self._unanswered("add the progress", ADD_LIMIT_S)
            tick()
        if raised:
            raise raised[0]

    def commit(self, tick: Tick) -> None:
        """Commit, again and again while the answer is out.

        :raises CommitPending: no answer within the limit; it may have happened.
        """
        self._expect(State.OPEN)
        tick()  # one that raises now finds a transaction that can still be aborted
        self.state = State.COMMITTING
        self._sliced("commit", lambda: self.producer.commit_transaction(SLICE_S), tick, limit_s=COMMIT_LIMIT_S)
        self.state = State.READY

    def abort(self) -> None:
        """Abort the open transaction; leave one alone whose commit is out. No transaction follows in this process."""
        was_open, self.state = self.state is State.OPEN, State.ENDED
        if was_open:
            try:
                self.producer.abort_transaction(ABORT_LIMIT_S)
            except KafkaException as error:
                log.warning(
                    "%s: the abort was not confirmed (%s); the next attempt ends it", self.id, kafka_error(error).str()
                )

    def failure(self, error: KafkaException | KafkaError, operation: str) -> MirrorError:
        """Our error for a failed call; ``_FATAL`` and ``_STATE`` hide the true code, which one more call tells."""
        inner = kafka_error(error)
        if inner.code() == KafkaError._STATE and self.state is State.OPEN:
            inner = self._standing() or inner
        if inner.code() in (KafkaError._FATAL, KafkaError._STATE):
            inner = self._true_code(inner)
        self.failed_code = inner.code()
        if inner.code() in FENCES:
            return Fenced(transactional_id=self.id, why=inner.str())
        known = translate(inner, alias=self._alias, operation=operation)
        if isinstance(known, KafkaBusy) or inner.txn_requires_abort():
            return TransactionFailed(transactional_id=self.id, problem=f"{operation}: {inner.name()} ({inner.str()})")
        return known

    def _true_code(self, error: KafkaError) -> KafkaError:
        try:
            self.producer.abort_transaction(SLICE_S)
        except KafkaException as true:
            return kafka_error(true)
        return error

    def _sliced(self, operation: str, call: Callable[[], None], tick: Tick, *, limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        while True:
            try:
                call()
            except KafkaException as error:
                inner = kafka_error(error)
                if inner.txn_requires_abort() or inner.fatal() or not is_away(inner):
                    raise self._ended(error, operation) from error
                if time.monotonic() > deadline:
                    raise self._unanswered(operation, limit_s) from error
                tick()
            else:
                return

    def _unanswered(self, operation: str, limit_s: float) -> MirrorError:
        if self.state is State.COMMITTING:
            return CommitPending(transactional_id=self.id, seconds=limit_s)
        return TransactionFailed(transactional_id=self.id, problem=f"{operation}: no answer within {limit_s:.0f} s")

    def _ended(self, error: KafkaException, operation: str) -> MirrorError:
        """A commit that was refused is not pending any more: what is left of it is aborted."""
        inner = kafka_error(error)
        if self.state is State.COMMITTING and inner.txn_requires_abort():
            self.state = State.OPEN
        return self.failure(error, operation)

    def _call(self, operation: str, call: Callable[[], None]) -> None:
        try:
            call()
        except KafkaException as error:
            raise self.failure(error, operation) from error

    def _expect(self, state: State) -> None:
        if self.state is not state:
            raise RuntimeError(f"{self.id}: {self.state.value} where {state.value} is needed")
