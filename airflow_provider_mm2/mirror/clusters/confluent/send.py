"""The hot path of the copy: sending a batch on without a line of Python a message.

Each pass over the messages costs 20 to 80 ns a record where the whole copy costs 1,000, so there are few: what
``zip`` hands to ``starmap`` is one tuple that is used again and again, which ``map`` over columns cannot do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, repeat, starmap
from operator import itemgetter
from typing import Any

from confluent_kafka import Message, Producer

from airflow_provider_mm2.mirror.clusters.confluent.batch import Run
from airflow_provider_mm2.mirror.errors import HeaderUnfaithful
from airflow_provider_mm2.mirror.model import TopicPartition

_stamp = itemgetter(1)


def split_runs(messages: list[Message], *, one_topic: bool) -> Iterator[tuple[TopicPartition, list[Message]]]:
    """A batch as runs of one topic and partition each, in its order; ("", -1) is none.

    Batches have one run or few, so they are told apart by counting: half of what ``groupby`` over messages costs.

    :param one_topic: whether all messages are known to be of one topic, or errors without a partition.
    """
    if not one_topic and not _all_equal(list(map(Message.topic, messages))):
        for _, of_topic in groupby(messages, Message.topic):
            yield from split_runs(list(of_topic), one_topic=True)
        return
    numbers = list(map(Message.partition, messages))
    start = 0
    while start < len(numbers):
        end = _run_end(numbers, start)
        yield _place(messages[start]), messages[start:end] if end - start < len(messages) else messages
        start = end


def _run_end(numbers: list[int | None], start: int) -> int:
    """Where the run of equal numbers that begins at ``start`` ends; mostly they have no other run, and C counts."""
    number = numbers[start]
    end = start + numbers.count(number)
    if numbers[start:end].count(number) == end - start:
        return end
    return next((at for at in range(start, len(numbers)) if numbers[at] != number), len(numbers))


def _place(message: Message) -> TopicPartition:
    partition = message.partition()
    return TopicPartition(message.topic() or "", -1 if partition is None else partition)


def _all_equal(values: list[Any]) -> bool:
    return values.count(values[0]) == len(values)


def timestamps_of(messages: list[Message]) -> list[int]:
    """Timestamp of each message in milliseconds; an error or an EOF has -1."""
    return list(map(_stamp, map(Message.timestamp, messages)))


def bytes_beside_value(message: Message, headers: list[tuple[str, bytes | None]] | None) -> int:
    """Bytes of a message's key and headers; the last one's stand for those of its run, which nobody adds up.

    Without them memory is not bounded where little is in the values.
    """
    return len(message.key() or b"") + sum(len(name) + len(value or b"") for name, value in headers or ())


def headers_of(messages: list[Message], source: TopicPartition) -> list[Any]:
    """Headers of each message.

    The client forgets the headers it could not decode, so they are asked for once, and the count tells which it was.

    :raises HeaderUnfaithful: a header key is not UTF-8.
    """
    headers: list[Any] = []
    try:
        headers.extend(map(Message.headers, messages))
    except (UnicodeError, SystemError) as error:  # a SystemError around the UnicodeError in 2.16
        offset = messages[len(headers)].offset() or 0
        raise HeaderUnfaithful(
            topic=source.topic, partition=source.partition, offset=offset, problem=str(error.__cause__ or error)
        ) from error
    return headers


def send_run(
    producer: Producer,
    target: TopicPartition,
    messages: list[Message],
    times: list[int],
    headers: list[Any],
    values: list[Any],
    *,
    others: Callable[[Any, Any], object] | None = None,
    every: bool = False,
) -> Run:
    """Produce a run; the callbacks sit on its first and last message, or on each of them.

    :param others: callback of the messages in between; it costs a fifth of the processor time of small records.
    :raises KafkaException: as ``produce`` raises it; a part of the run may have been sent.
    """
    run = Run(messages, every=every, others=others)
    columns: list[Iterable[Any]] = [
        repeat(target.topic),
        values,
        map(Message.key, messages),
        repeat(target.partition),
        run.callbacks,
        repeat(None),
        times,
    ]
    if headers.count(None) < run.count:
        columns.append(headers)
    deque(starmap(producer.produce, zip(*columns, strict=False)), 0)
    return run
