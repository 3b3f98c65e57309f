"""Somebody writes to the source all the time: numbered records, plain, in transactions, and aborted ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random

from confluent_kafka import Producer

LIMIT_S = 60.0
ABORTED = b"aborted"


class Load:
    """Writes to a topic from a thread.

    :param sent: how many records of each partition readers are to see, numbered from 0.
    """

    def __init__(self, settings: Mapping[str, str], topic: str, partitions: int, seed: int) -> None:
        self._settings = {**settings, "linger.ms": 2}
        self._topic = topic
        self._random = Random(seed)  # noqa: S311 - repeatable, not secret
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self.sent = dict.fromkeys(range(partitions), 0)
        self.error: BaseException | None = None

    def _write(self) -> None:
        try:
            plain = Producer({**self._settings, "enable.idempotence": True})
            careful = Producer({**self._settings, "transactional.id": f"load-{self._topic}"})
            careful.init_transactions(LIMIT_S)
            while not self._stopped.wait(0.005):
                self._burst(plain, careful)
            plain.flush(LIMIT_S)
        except BaseException as error:  # noqa: BLE001 - told by the test
            self.error = error

    def _burst(self, plain: Producer, careful: Producer) -> None:
        way, count = self._random.random(), self._random.randint(1, 8)
        if way < 0.6:
            self._numbered(plain, count)
            plain.flush(LIMIT_S)
            return
        careful.begin_transaction()
        if way < 0.9:
            self._numbered(careful, count)
            careful.commit_transaction(LIMIT_S)
            return
        for _ in range(count):
            careful.produce(self._topic, ABORTED, partition=self._random.choice(list(self.sent)))
        careful.flush(LIMIT_S)
        careful.abort_transaction(LIMIT_S)

    def _numbered(self, producer: Producer, count: int) -> None:
        for _ in range(count):
            number = self._random.choice(list(self.sent))
            producer.produce(self._topic, str(self.sent[number]).encode(), partition=number)
            self.sent[number] += 1


@contextmanager
def loading(settings: Mapping[str, str], topic: str, partitions: int, seed: int) -> Iterator[Load]:
    """Write until the block ends; all that was sent is on the source then."""
    load = Load(settings, topic, partitions, seed)
    load._thread.start()
    try:
        yield load
    finally:
        load._stopped.set()
        load._thread.join(LIMIT_S)
        assert not load._thread.is_alive()
    if load.error is not None:
        raise load.error
