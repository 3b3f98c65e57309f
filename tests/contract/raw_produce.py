"""Produce one record as bytes on a socket: what no client library writes, a timestamp of 0 and header keys of bytes.

Source: Kafka protocol, Produce version 7, record batch version 2. Plaintext only, to the one broker of a cluster.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator

from airflow_provider_mm2.mirror.model import TopicPartition
from tests.fakes.log import Message

PRODUCE, VERSION, ACKS_ALL, TIMEOUT_MS = 0, 7, -1, 10_000
NOT_LEADER = 6
_CASTAGNOLI = 0x82F63B78


def produce_raw(address: str, partition: TopicPartition, message: Message) -> None:
    """Write one record and wait until the broker has it.

    :param address: ``host:port`` of the broker that leads the partition.
    :raises AssertionError: the broker refused it.
    """
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while (error := _answer(address, partition, message)) == NOT_LEADER:  # yet: the topic was made a moment ago
        assert time.monotonic() < deadline, f"{partition} has no leader"
        time.sleep(0.05)
    assert error == 0, f"the broker answered {error}"


def _answer(address: str, partition: TopicPartition, message: Message) -> int:
    """Error code of the broker's answer."""
    host, _, port = address.rpartition(":")
    batch = _batch(message)
    body = struct.pack(">hhi", -1, ACKS_ALL, TIMEOUT_MS) + struct.pack(">i", 1) + _string(partition.topic)
    body += struct.pack(">iii", 1, partition.partition, len(batch)) + batch
    request = struct.pack(">hhi", PRODUCE, VERSION, 1) + _string("raw") + body
    with socket.create_connection((host, int(port)), timeout=TIMEOUT_MS / 1000) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        with connection.makefile("rb") as answer:
            (size,) = struct.unpack(">i", answer.read(4))
            payload = answer.read(size)
    at = 4 + 4 + 2 + len(partition.topic.encode()) + 4 + 4
    error: int = struct.unpack_from(">h", payload, at)[0]
    return error


def _batch(message: Message) -> bytes:
    record = _record(message)
    stamp = message.timestamp_ms
    checked = struct.pack(">hiqqqhii", 0, 0, stamp, stamp, -1, -1, -1, 1) + record
    return struct.pack(">qiibI", 0, 4 + 1 + 4 + len(checked), -1, 2, _crc32c(checked)) + checked


def _record(message: Message) -> bytes:
    headers = b"".join(_bytes(key.encode(errors="surrogateescape")) + _bytes(value) for key, value in message.headers)
    body = b"\0" + _varint(0) + _varint(0) + _bytes(message.key) + _bytes(message.value)
    body += _varint(len(message.headers)) + headers
    return _varint(len(body)) + body


def _bytes(data: bytes | None) -> bytes:
    return _varint(-1) if data is None else _varint(len(data)) + data


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _varint(number: int) -> bytes:
    """Zigzag, then seven bits a byte, lowest first."""
    rest = (number << 1) ^ (number >> 31)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _table() -> Iterator[int]:
    for byte in range(256):
        entry = byte
        for _ in range(8):
            entry = entry >> 1 ^ _CASTAGNOLI if entry & 1 else entry >> 1
        yield entry


_TABLE = tuple(_table())
