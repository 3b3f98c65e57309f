"""The process that reads group offsets for ``offset_fetch.py``; a program of its own that only imports the client.

First line of standard input: the client's settings. Each further line: groups to ask for. Each line of standard
output: what one group has, or why it cannot be told; an empty object ends the answer to a line.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import Future, as_completed
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient


def main() -> None:
    """Answer until standard input ends."""
    client = AdminClient(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        ask = json.loads(line)
        asked: dict[Future[Any], str] = {}
        for group in ask["groups"]:
            try:
                asked[_asked(client, group, ask)] = group
            except (ValueError, TypeError) as error:  # a name that the client does not take, such as an empty one
                _say({"group": group, "code": KafkaError._INVALID_ARG, "problem": str(error)})
        for future in as_completed(asked):
            _say({"group": asked[future], **_answer(future)})
        _say({})


def _asked(client: AdminClient, group: str, ask: dict[str, Any]) -> Future[Any]:
    request = [ConsumerGroupTopicPartitions(group)]
    futures = client.list_consumer_group_offsets(request, require_stable=ask["stable"], request_timeout=ask["limit_s"])
    return futures[group]


def _answer(future: Future[Any]) -> dict[str, Any]:
    try:
        found = future.result()
    except KafkaException as error:
        inner = error.args[0]
        return {"code": inner.code() if isinstance(inner, KafkaError) else KafkaError._FAIL, "problem": str(inner)}
    return {
        "partitions": [
            [part.topic, part.partition, part.offset, part.metadata, None if part.error is None else part.error.code()]
            for part in found.topic_partitions
        ]
    }


def _say(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
