"""What the fake pair can do beyond the contract: faults that a real broker shows only by accident."""

from __future__ import annotations

import pytest

from airflow_provider_mm2.mirror.clusters.ports import Copier
from airflow_provider_mm2.mirror.errors import (
    ClusterUnreachable,
    CommitNotVisible,
    Fenced,
    ForeignWrites,
    OffsetsHeld,
    SourceTruncated,
)
from airflow_provider_mm2.mirror.model import ChunkLimits, CopierSettings, CopyRange, TopicPartition
from tests.fakes.log import Message, Outcome
from tests.fakes.pair import FakePair

SOURCE, TARGET = TopicPartition("t", 0), TopicPartition("us.t", 0)
GROUP = "mm2.f.progress"
ALL = ChunkLimits(seconds=60, bytes=1 << 30)


def no_tick() -> None:
    """Let everything that waits go on."""


@pytest.fixture
def fake_pair() -> FakePair:
    """Give a pair with one topic of four records."""
    pair = FakePair()
    pair.us.create_topic("t")
    pair.eu.create_topic("us.t")
    pair.us.produce("t", 0, *(Message(value=b"%d" % number, timestamp_ms=1) for number in range(4)))
    return pair


def copier(pair: FakePair, *, start: int = 0, end: int = 4, leader_epoch: int | None = None) -> Copier:
    """A copier that has fenced and is assigned."""
    settings = CopierSettings(
        flow="f",
        transactional_id="mm2.f.0",
        progress_group=GROUP,
        transaction_timeout_s=60,
        max_record_bytes=1_000_000,
        silence_limit_s=5,
    )
    made = pair.copier(settings)
    made.fence(no_tick)
    asked = CopyRange(source=SOURCE, target=TARGET, start=start, end=end, cut_ms=None, leader_epoch=leader_epoch)
    made.assign([asked], now_ms=1000)
    return made


def chunk(made: Copier) -> None:
    """One chunk, committed and seen."""
    made.begin()
    made.copy(ALL, no_tick)
    (result,) = made.flush(no_tick)
    made.add([], {TARGET: result.next_offset}, no_tick)
    made.commit(no_tick)
    made.see({TARGET: result.next_offset}, {TARGET: result.segments[-1].target_end}, no_tick)


def test_truncation_is_told(fake_pair: FakePair) -> None:
    """A log that an unclean election cut below what was mirrored is told from the stored leader epoch."""
    fake_pair.us.truncate("t", 0, 2)
    fake_pair.us.produce("t", 0, *(Message(value=b"new") for _ in range(5)))
    made = copier(fake_pair, start=4, end=7, leader_epoch=0)
    made.begin()
    with pytest.raises(SourceTruncated) as caught:
        made.copy(ALL, no_tick)
    assert (caught.value.progress, caught.value.end) == (4, 2)


def test_session_ends(fake_pair: FakePair) -> None:
    """When a holder's session ends a waiting member gets the lock, and the old holder learns of it in its poll."""
    first = fake_pair.target.membership("lock", "us.t", "first", 6)
    second = fake_pair.target.membership("lock", "us.t", "second", 6)
    first.poll(0)
    second.poll(0)
    assert (first.held, second.held) == (True, False)
    fake_pair.eu.expire_member("lock")
    assert first.held
    second.poll(0)
    first.poll(0)
    assert (first.held, first.lost, second.held) == (False, True, True)
    assert second.holder() == "second"


def test_transaction_times_out(fake_pair: FakePair) -> None:
    """A transaction longer than its time-out is aborted by the cluster, and its producer fenced."""
    made = copier(fake_pair)
    made.begin()
    made.copy(ALL, no_tick)
    fake_pair.clock.advance(61)
    assert fake_pair.eu.log(TARGET).stable == 5
    with pytest.raises(Fenced) as caught:
        made.commit(no_tick)
    assert "timed out" in caught.value.why
    made.abort()
    assert fake_pair.eu.visible("us.t", 0) == []


def test_markers_are_lost(fake_pair: FakePair) -> None:
    """A commit whose markers are never written cannot be seen, and no later attempt helps it."""
    fake_pair.eu.loses_markers = True
    with pytest.raises(CommitNotVisible):
        chunk(copier(fake_pair))
    copier(fake_pair)
    assert fake_pair.eu.visible("us.t", 0) == []
    with pytest.raises(OffsetsHeld):
        fake_pair.target.committed(GROUP, [TARGET], no_tick)


def test_attempt_is_killed(fake_pair: FakePair) -> None:
    """What a hook raises ends the attempt there; closed without an abort it leaves its transaction open."""
    made = copier(fake_pair)

    def kill(step: str) -> None:
        if step == "add":
            raise KeyboardInterrupt

    fake_pair.hooks.after = kill
    with pytest.raises(KeyboardInterrupt):
        chunk(made)
    made.close()
    assert (fake_pair.eu.log(TARGET).stable, fake_pair.eu.log(TARGET).end) == (0, 4)
    fake_pair.hooks.after = lambda step: None
    chunk(copier(fake_pair))
    assert [message.value for _, message in fake_pair.eu.visible("us.t", 0)] == [b"0", b"1", b"2", b"3"]


def test_foreign_record_amid_a_batch(fake_pair: FakePair) -> None:
    """A foreign record in the middle of a batch is refused with its place."""
    made = copier(fake_pair)
    seen: list[str] = []

    def intrude(step: str) -> None:
        if step == "produce":
            seen.append(step)
            if len(seen) == 3:
                fake_pair.eu.produce("us.t", 0, Message(value=b"foreign"))

    fake_pair.hooks.before = intrude
    made.begin()
    made.copy(ALL, no_tick)
    with pytest.raises(ForeignWrites) as caught:
        made.flush(no_tick)
    assert (caught.value.records, caught.value.start, caught.value.end) == (1, 0, 5)


def test_cluster_is_down(fake_pair: FakePair) -> None:
    """A cluster that is down answers nothing, and an abort is still quiet."""
    made = copier(fake_pair)
    made.begin()
    fake_pair.eu.reachable = False
    with pytest.raises(ClusterUnreachable):
        fake_pair.target.list_topics()
    with pytest.raises(ClusterUnreachable):
        made.copy(ALL, no_tick)
    made.abort()
    assert fake_pair.source.list_topics() == {"t": 1}


def test_deletion_takes_pending_offsets(fake_pair: FakePair) -> None:
    """Deleting a target topic takes the offsets with it that wait in an open transaction."""
    made = copier(fake_pair)
    made.begin()
    made.add([], {TARGET: 4}, no_tick)
    fake_pair.eu.delete_topic("us.t")
    made.commit(no_tick)
    assert fake_pair.target.committed(GROUP, [TARGET], no_tick) == {}


def test_compaction_spares_what_is_not_stable(fake_pair: FakePair) -> None:
    """The cleaner stops at the last stable offset."""
    fake_pair.us.create_topic("c")
    fake_pair.us.produce("c", 0, Message(key=b"a"), Message(key=b"a"))
    opened = fake_pair.us.transaction("c", 0, Message(key=b"a"), outcome=Outcome.OPEN)
    fake_pair.us.produce("c", 0, Message(key=b"a"))
    fake_pair.us.compact("c", 0)
    assert [entry.offset for entry in fake_pair.us.log(TopicPartition("c", 0)).entries] == [1, 2, 3]
    fake_pair.us.end(opened, Outcome.COMMITTED)
    fake_pair.us.compact("c", 0)
    assert [offset for offset, _ in fake_pair.us.visible("c", 0)] == [3]
