"""A producer without transactions whose target does not answer."""

from __future__ import annotations

import socket
import time

import pytest
from confluent_kafka import KafkaError

from airflow_provider_mm2.mirror.clusters import config
from airflow_provider_mm2.mirror.clusters.confluent.failures import FailureWatch
from airflow_provider_mm2.mirror.clusters.confluent.plain import PlainProducer
from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.errors import DeliveryFailed, NotAuthorized, SettingRefused


def make(*, limit_s: float = 60, **settings: object) -> PlainProducer:
    """A producer to a port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    given: config.Settings = {"bootstrap.servers": address, **settings}
    watch = FailureWatch(alias="eu", settings={"bootstrap.servers": address})
    plain = config.plain_producer_settings(given)
    return PlainProducer(alias="eu", writer="mm2.f.0", settings=plain, watch=watch, limit_s=limit_s)


def test_nothing_arrives() -> None:
    """A target that takes nothing is given up after the limit, worth a retry, with how many records waited."""
    producer = make(limit_s=0.3)
    for _ in range(3):
        producer.producer.produce("t", b"v", on_delivery=producer.delivered)
    began = time.monotonic()
    with pytest.raises(DeliveryFailed, match="3 records had no answer") as caught:
        producer.flush(no_tick)
    assert caught.value.retriable
    assert 0.3 <= time.monotonic() - began < 20


def test_time_without_anything_to_send_does_not_count() -> None:
    """A producer that had nothing to send for longer than the limit has all of it for what comes then."""
    producer = make(limit_s=0.3)
    idle_until = time.monotonic() + 0.5
    while time.monotonic() < idle_until:
        producer.producer.poll(0.1)
    producer.producer.produce("t", b"v", on_delivery=producer.delivered)
    producer.check()
    producer.drop()


def test_dropped_records_are_not_sent() -> None:
    """An attempt that has ended leaves nothing queued; each record's delivery says so."""
    producer = make()
    producer.producer.produce("t", b"v", on_delivery=producer.delivered)
    producer.drop()
    assert producer.producer.flush(10) == 0
    assert [error.code() for error in producer.failures if error is not None] == [KafkaError._PURGE_QUEUE]


def test_wait_can_be_ended() -> None:
    """The tick of a wait for deliveries ends it."""

    def stop() -> None:
        raise KeyError

    producer = make()
    producer.producer.produce("t", b"v")
    with pytest.raises(KeyError):
        producer.flush(stop)
    producer.drop()


def test_refused_rights() -> None:
    """A missing right stays what it is: no retry mends it."""
    producer = make()
    error = producer.failure(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED), "produce")
    assert isinstance(error, NotAuthorized)
    assert not error.retriable


def test_settings_that_the_client_refuses() -> None:
    """Settings that do not go with an idempotent producer are refused by name."""
    with pytest.raises(SettingRefused, match=r"max\.in\.flight"):
        make(**{"max.in.flight.requests.per.connection": 10})
