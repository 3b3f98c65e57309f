"""The flow record's bytes."""

from dataclasses import replace

import pytest

from airflow_provider_mm2.mirror.errors import EngineDiffers, HandOverUnderWay
from airflow_provider_mm2.mirror.state.gate import check_engine_on_record, decode, encode
from airflow_provider_mm2.mirror.state_model import ActiveSide, Delivery, Engine, FlowRecord

RECORD = FlowRecord(
    flow="f",
    source_alias="us",
    target_alias="eu",
    policy="default",
    separator=".",
    source_cluster_id="A",
    target_cluster_id="B",
    shards=3,
)


@pytest.mark.parametrize(
    "record",
    [RECORD, replace(RECORD, active_side=ActiveSide.TARGET, frozen=True)],
)
def test_round_trip(record: FlowRecord) -> None:
    """A flow record comes back as it was written."""
    assert decode(encode(record)) == record


def test_record_from_before_there_was_a_choice() -> None:
    """A flow record that does not say how it delivers is one of exactly once."""
    old = encode(RECORD).replace(b'"delivery":"exactly_once",', b"")
    assert decode(old) == RECORD
    assert decode(encode(replace(RECORD, delivery=Delivery.AT_LEAST_ONCE))).delivery is Delivery.AT_LEAST_ONCE


def test_before_there_was_another_engine() -> None:
    """A record without one is of a flow that runs mirror; each engine comes back as it was written."""
    assert decode(encode(RECORD).replace(b'"engine":"bounded",', b"")) == RECORD
    for engine in Engine:
        assert decode(encode(replace(RECORD, engine=engine))).engine is engine


def test_only_what_is_on_record_mirrors() -> None:
    """The other engine is refused; while a hand-over is under way both are."""
    check_engine_on_record(RECORD, Engine.BOUNDED)
    with pytest.raises(EngineDiffers, match="`mm2 hand-over f --apply`"):
        check_engine_on_record(RECORD, Engine.CONNECT)
    for engine in (Engine.BOUNDED, Engine.CONNECT):
        with pytest.raises(HandOverUnderWay, match="until that is done nothing mirrors it"):
            check_engine_on_record(replace(RECORD, engine=Engine.TO_CONNECT), engine)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"version":2}',
        encode(RECORD).replace(b'"source"', b'"nowhere"'),
        encode(RECORD).replace(b'"frozen"', b'"freezing"'),
        encode(RECORD)[:-5],
        b"\xff",
    ],
)
def test_damaged_record(value: bytes) -> None:
    """A record that is cut, of another version or with other fields is never believed."""
    with pytest.raises(ValueError, match=r"."):
        decode(value)
