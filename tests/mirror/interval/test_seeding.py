"""Seeding progress, on the in-memory pair: what each kind gives, what is refused, what is written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.errors import FlowFrozen, MirrorError, SeedRefused, SeedUnreadable
from airflow_provider_mm2.mirror.flow import TopicSync
from airflow_provider_mm2.mirror.incident_model import IncidentKind
from airflow_provider_mm2.mirror.interval import admission
from airflow_provider_mm2.mirror.interval.seeding import SeedReport
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.offsets.seed import read_file
from airflow_provider_mm2.mirror.state import lease
from airflow_provider_mm2.mirror.state.gate import KEY, encode, read_gate
from airflow_provider_mm2.mirror.state_model import ActiveSide
from tests.fakes.log import Message, Outcome
from tests.fakes.reader import FakeReader, FakeTarget
from tests.mirror.interval.seed_world import GROUP, SeedWorld
from tests.mirror.offsets.group_world import BASE_MS, Killed

CONNECT = "mm2-offsets.us.internal"


@pytest.fixture(autouse=True)
def _short_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "SECOND_LOOK_S", 0.0)
    monkeypatch.setattr(lease, "WAKE_POLL_S", 0.01)


def row(report: SeedReport, partition: int = 0) -> tuple[int | None, int | None]:
    """Old and new of a partition."""
    found = next(each for each in report.rows if each.source.partition == partition)
    return found.old, found.new


def test_earliest_latest_and_a_time() -> None:
    """A first seed chooses where to begin; what lies before it is never copied, and that is what was asked for."""
    for text, new in (
        ("earliest", 0),
        ("latest", 10),
        (f"timestamp:{BASE_MS + 3000}", 3),
        ("timestamp:2023-11-14T22:13:25Z", 5),
        ("timestamp:2030-01-01T00:00:00+02:00", 10),
    ):
        world = SeedWorld()
        world.write(10)
        assert row(world.seed(text)) == (None, new)
        assert world.progress() == new
        world.run()
        assert world.values() == list(range(new, 10))
        assert world.incidents() == [(IncidentKind.SEEDED, new, new, new if new else 0)]


def test_shown_only() -> None:
    """Without being applied nothing is written, on a target where nothing is yet."""
    world = SeedWorld()
    world.write(3)
    report = world.seed("latest", apply=False)
    assert row(report) == (None, 3)
    assert not report.applied
    assert world.pair.eu.topics == {}
    assert world.pair.eu.groups == {}


def test_twice_changes_nothing() -> None:
    """The same seed again finds everything in place and writes nothing."""
    world = SeedWorld(partitions=3)
    world.write(5, partition=1)
    world.seed("latest")
    ends = {name: topic.logs[0].end for name, topic in world.pair.eu.topics.items()}
    report = world.seed("latest")
    assert report.changes == 0
    assert {each.reason for each in report.rows} == {"unchanged"}
    assert {name: topic.logs[0].end for name, topic in world.pair.eu.topics.items()} == ends


@pytest.mark.parametrize(
    ("text", "said"), [("earliest", "copies 6 record(s) once more"), ("latest", "never copies 4 rec")]
)
def test_never_back_or_ahead_unasked(text: str, said: str) -> None:
    """A flow that has run is set back, or ahead past records, only by force, and it is told what that costs."""
    world = SeedWorld()
    world.write(6)
    world.run()
    world.write(4, first=6)
    before = world.pair.eu.groups
    with pytest.raises(SeedRefused, match="was not set") as caught:
        world.seed(text)
    assert said in str(caught.value)
    assert world.pair.eu.groups == before
    world.seed(text, force=True)
    world.run()
    again = [*range(6), *range(10)] if text == "earliest" else list(range(6))
    assert world.values() == again
    kinds = [kind for kind, *_ in world.incidents()]
    assert kinds == [IncidentKind.SEEDED]


def test_a_group_after_records_were_copied_once_more() -> None:
    """A group stands at the newer copy of the record it reads next, and behind the seeded place at the older one."""
    world = SeedWorld()
    world.write(10)
    world.commit("behind", 2)
    world.commit("ahead", 8)
    world.run()
    assert row(world.seed("timestamp:2023-11-14T22:13:25Z", force=True)) == (10, 5)
    world.run(sync_group_offsets=True)
    assert world.values_from(world.target_offsets("ahead")[0]) == [8, 9]
    assert world.values_from(world.target_offsets("behind")[0])[:8] == list(range(2, 10))


def test_offsets_of_a_file(tmp_path: Path) -> None:
    """A file in Kafka's own form or in ours names partitions; the others stay as they are."""
    files = {
        "plain.csv": "orders,0,4\n",
        "heading.csv": "topic,partition,offset\norders,0,4\n",
        "list.json": json.dumps([{"topic": "orders", "partition": 0, "offset": 4}]),
        "seed.json": json.dumps({"partitions": [{"topic": "orders", "partition": 0, "old": None, "new": 4}]}),
        "status.json": json.dumps({"partitions": [{"topic": "orders", "partition": 0, "progress": 4, "lag": 3}]}),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        world = SeedWorld(partitions=2)
        world.write(5)
        report = world.seed(f"offsets:{tmp_path / name}")
        assert row(report) == (None, 4), name
        assert row(report, 1) == (None, None)
        assert world.progress(1) is None


def test_the_forms_of_a_file_in_the_documentation(tmp_path: Path) -> None:
    """Both examples of ``docs/cli.md`` are taken, and mean the same."""
    text = (Path(__file__).parents[3] / "docs" / "cli.md").read_text("utf-8")
    section = text.partition("## `mm2 seed FLOW`")[2].partition("\n## ")[0]
    examples = section.split("```")[1::2]
    assert len(examples) == 2
    for example in examples:
        path = tmp_path / "offsets"
        path.write_text(example.removeprefix("json"))
        assert read_file(path) == {TopicPartition("orders", 0): 60, TopicPartition("orders", 1): 58}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("orders,0,4\norders,0,5\n", "orders-0 has two offsets"),
        ("orders,0\n", "line 1"),
        ("orders,x,4\n", "line 1"),
        ("orders,0,-4\n", "line 1"),
        ('[{"topic": "orders", "partition": 0}]', "entry 1"),
        ('[{"topic": "orders", "partition": true, "offset": 4}]', "entry 1"),
        ('[{"topic": "orders", "partition": 0, "offset": true}]', "entry 1"),
        ('{"orders": {"0": 60}}', "neither a list nor an object with 'partitions'"),
        ("[" * 200_000, "it is nested too deep"),
        ('[{"topic": ' + "[" * 900 + "]" * 900 + "}]", "entry 1"),
        ("orders,0," + "4" * 200_000, "field larger than field limit"),
        ("orders,0," + "4" * 5_000, "Exceeds the limit"),
        ("[", "Expecting"),
        ('{"a": 1}', "neither a list"),
        ("", "no offset in it"),
        ("others,0,4\n", "names what is not to be seeded here: others-0"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, text: str, said: str) -> None:
    """A faulty file is refused with the line or entry, and nothing is written."""
    path = tmp_path / "offsets"
    path.write_text(text)
    world = SeedWorld()
    world.write(5)
    with pytest.raises(SeedUnreadable, match=said):
        world.seed(f"offsets:{path}")
    assert world.pair.eu.topics == {}


FAULTY = (
    *("", "first", "earliest:x", "timestamp", "timestamp:", "timestamp:noon", "timestamp:2024-01-01T00:00:00"),
    *("offsets:", "source-group", "connect:", "match:orders"),
    *("timestamp:2024-01-01", "timestamp:2024-02-30T00:00:00Z", "timestamp:12:00:00Z", "timestamp:now"),
    *("timestamp:99999999999999999999999999", "timestamp:" + "9" * 5_000, "timestamp:1600-01-01T00:00:00Z"),
    *("timestamp:253402300800000", "timestamp:9999-12-31T23:59:59-23:59", "timestamp:2024-01-01T00:00:00Z/P1D"),
    "offsets:\0",
)


@pytest.mark.parametrize("text", FAULTY)
def test_a_seed_that_cannot_be_meant(text: str) -> None:
    """An unknown kind, a missing or superfluous argument and a time without a zone are refused."""
    world = SeedWorld()
    with pytest.raises(SeedUnreadable):
        world.seed(text)


@pytest.mark.parametrize(
    ("text", "found", "cause"),
    [
        ("frist", "it is none of earliest, latest", "a misspelt kind"),
        ("match:x", "match takes nothing behind it", "which --topic chooses"),
        ("connect", "behind connect: comes", "was left out"),
        ("timestamp:yesterday", "write it as 2024-01-31T00:00:00Z", "a date alone, a time without a zone, or words"),
        ("timestamp:2024-01-01", "not a date with a time of day and a zone", "a date alone"),
        ("timestamp:1600-01-01T00:00:00Z", "lies outside 1970-01-01T00:00:00Z to 9999-12-31T23:59", "misspelt year"),
        ("timestamp:1700000000000000000", "lies outside 1970", "nanoseconds in place of milliseconds"),
        ("offsets:/no/such/file", "No such file", "a misspelt path"),
        ("source-group:gone", "the source has no such group", "a misspelt group, or one that is on the target"),
        ("connect:gone", "neither cluster has a topic 'gone'", "a misspelt name, or Kafka Connect keeps"),
    ],
)
def test_each_fault_has_its_own_cause(text: str, found: str, cause: str) -> None:
    """What is wrong with a seed is told with a cause that fits it."""
    world = SeedWorld()
    with pytest.raises(SeedUnreadable) as caught:
        world.seed(text)
    problem, likely, _ = str(caught.value).splitlines()
    assert found in problem
    assert cause in likely


def test_a_source_group() -> None:
    """KIP-656's one-time job: the source's group says how far another tool has copied, and the flow goes on there."""
    world = SeedWorld(partitions=2)
    world.write(10)
    world.write(10, partition=1)
    world.copy_by_hand(*world.numbered(7))
    world.commit("connect-mm2", 7)
    report = world.seed("source-group:connect-mm2")
    assert row(report) == (None, 7)
    assert row(report, 1) == (None, None)
    world.run()
    assert world.values() == list(range(10))
    assert world.values(1) == list(range(10))


def test_a_source_group_that_is_lower_or_higher() -> None:
    """A group below the progress is refused, with both values; one above it, too, where no copies are known of."""
    world = SeedWorld()
    world.write(10)
    world.run()
    world.write(5, first=10)
    world.commit("old", 4)
    world.commit("new", 12)
    for group, said in (("old", "stands at 10; going back to 4"), ("new", "stands at 10; going ahead to 12")):
        with pytest.raises(SeedRefused, match=said):
            world.seed(f"source-group:{group}")
    with pytest.raises(SeedUnreadable, match="no such group"):
        world.seed("source-group:nobody")
    world.copy_by_hand(*world.numbered(2, 10))
    world.seed("source-group:new")
    world.run()
    assert world.values() == list(range(15))


@pytest.mark.parametrize("by_hand", [3, 8])
def test_the_progress_group_set_by_hand(by_hand: int) -> None:
    """Who sets the progress group adopts it with a seed: what that repeats or leaves out is told, and needs force."""
    world = SeedWorld()
    world.write(6)
    world.run()
    world.write(4, first=6)
    world.pair.eu.commit_offsets(GROUP, {TopicPartition("us.orders", 0): by_hand})
    report = world.seed("progress-group", apply=False)
    assert row(report) == (6, by_hand)
    cost = "copies 3 record(s) once more" if by_hand == 3 else "never copies 2 record(s)"
    assert cost in report.refused[0]
    with pytest.raises(SeedRefused):
        world.seed("progress-group")
    world.seed("progress-group", force=True)
    world.run()
    assert world.values() == [*range(6), *range(by_hand, 10)]
    assert world.incidents() == [(IncidentKind.SEEDED, 6, by_hand, 3 if by_hand == 3 else 2)]


def test_the_progress_group_alone() -> None:
    """A ledger that is lost is made anew from the progress group, which holds what was copied."""
    world = SeedWorld()
    world.write(6)
    world.run()
    del world.pair.eu.topics["mm2-offset-map.f.internal"]
    world.pair.eu.create_topic("mm2-offset-map.f.internal", 1, {"cleanup.policy": "compact"})
    world.seed("progress-group")
    world.write(4, first=6)
    world.run()
    assert world.values() == list(range(10))


def connect_record(
    world: SeedWorld, connector: str, offset: int | None, *, partition: int = 0, place: int = 0, at: int = BASE_MS
) -> None:
    """Write what Connect writes of a mirror's progress."""
    key = json.dumps([connector, {"cluster": "us", "partition": partition, "topic": "orders"}]).encode()
    value = None if offset is None else json.dumps({"offset": offset}).encode()
    world.pair.eu.produce(CONNECT, place, Message(key=key, value=value, timestamp_ms=at))


def test_mirror_maker_2_s_own_offsets() -> None:
    """The newest record of each key counts, wherever it lies; it names the last record, so the next one is taken."""
    world = SeedWorld(partitions=2)
    world.write(10)
    world.write(10, partition=1)
    world.copy_by_hand(*world.numbered(7))
    world.copy_by_hand(*world.numbered(3), partition=1)
    world.pair.eu.create_topic(CONNECT, 5)
    other = b'["MirrorCheckpointConnector",{"partition":0,"topic":"us.orders","group":"g"}]'
    world.pair.eu.produce(CONNECT, 0, Message(key=other, value=b'{"offset":0}'), Message(key=b"odd", value=b"odd"))
    connect_record(world, "MirrorSourceConnector", 2, place=3)
    connect_record(world, "MirrorSourceConnector", 6, place=3)
    connect_record(world, "MirrorSourceConnector", 2, partition=1, place=1)
    report = world.seed(f"connect:{CONNECT}")
    assert (row(report), row(report, 1)) == ((None, 7), (None, 3))
    world.run()
    assert world.values() == world.values(1) == list(range(10))


@pytest.mark.parametrize(("said", "cost"), [(3, "copies 3 record(s) once more"), (8, "never copies 2 record(s)")])
def test_connect_offsets_beside_the_copy(said: int, cost: str) -> None:
    """A mirror that died between a record and its note of it: the copy's own end shows that, and names what is sure."""
    world = SeedWorld()
    world.write(10)
    world.copy_by_hand(*world.numbered(7))
    world.pair.eu.create_topic(CONNECT, 1)
    connect_record(world, "MirrorSourceConnector", said)
    report = world.seed(f"connect:{CONNECT}", apply=False)
    assert cost in report.refused[0]
    assert "--from match goes on at 7" in report.refused[0]
    with pytest.raises(SeedRefused):
        world.seed(f"connect:{CONNECT}")
    world.seed("match")
    world.run()
    assert world.values() == list(range(10))


def test_connect_offsets_that_tell_nothing_sure() -> None:
    """Two connectors that differ, a forgotten offset, a topic that is not there: each is told, none is guessed."""
    world = SeedWorld()
    world.write(10)
    world.copy_by_hand(*world.numbered(7))
    with pytest.raises(SeedUnreadable, match="neither cluster has a topic"):
        world.seed(f"connect:{CONNECT}")
    world.pair.eu.create_topic(CONNECT, 1)
    connect_record(world, "gone", 5)
    connect_record(world, "gone", None)
    with pytest.raises(SeedUnreadable, match="has no offset of the source 'us'"):
        world.seed(f"connect:{CONNECT}")
    connect_record(world, "one", 6)
    connect_record(world, "two", 3)
    with pytest.raises(SeedRefused, match="several connectors that differ: 'one' 7, 'two' 4"):
        world.seed(f"connect:{CONNECT}", force=True)
    assert row(world.seed(f"connect:{CONNECT}:one")) == (None, 7)
    connect_record(world, "one", -3)
    with pytest.raises(SeedUnreadable, match="has no offset"):
        world.seed(f"connect:{CONNECT}:one")


def test_a_connector_that_is_not_asked_for_spoils_nothing() -> None:
    """A value that tells no offset counts while it is the newest of what is asked for, and is told of else."""
    world = SeedWorld(partitions=2)
    world.write(10)
    world.copy_by_hand(*world.numbered(7))
    world.pair.eu.create_topic(CONNECT, 1)
    connect_record(world, "one", 6)
    connect_record(world, "two", -3)
    connect_record(world, "one", -3, partition=5)
    key = b'["three",{"cluster":"us","partition":0,"topic":"orders"}]'
    deep = b"[" * 200_000
    world.pair.eu.produce(CONNECT, 0, Message(key=key, value=deep), Message(key=deep, value=b"x"))
    report = world.seed(f"connect:{CONNECT}:one", apply=False)
    assert row(report) == (None, 7)
    assert [told.partition(", at")[0] for told in report.passed_over] == [
        "the value of orders-0 by 'two'",
        "the value of orders-5 by 'one'",
        "the value of orders-0 by 'three'",
    ]
    assert report.to_json()["passed_over"] == list(report.passed_over)
    with pytest.raises(SeedUnreadable, match=r"of orders-0 by 'two', at 1 of partition 0, has no offset.*nested too"):
        world.seed(f"connect:{CONNECT}", apply=False)
    connect_record(world, "two", None)
    connect_record(world, "three", None)
    assert row(world.seed(f"connect:{CONNECT}", apply=False)) == (None, 7)


def test_a_key_in_two_partitions_of_the_offsets_topic() -> None:
    """Where the topic was grown the newer record counts, not the one in the higher partition; so does a tombstone."""
    world = SeedWorld()
    world.write(10)
    world.copy_by_hand(*world.numbered(7))
    world.pair.eu.create_topic(CONNECT, 3)
    connect_record(world, "one", 2, place=2, at=BASE_MS)
    connect_record(world, "one", 6, place=0, at=BASE_MS + 1)
    connect_record(world, "gone", 3, place=1, at=BASE_MS)
    connect_record(world, "gone", None, place=0, at=BASE_MS + 1)
    assert row(world.seed(f"connect:{CONNECT}", apply=False)) == (None, 7)


def test_a_refusal_says_what_helps() -> None:
    """Force is named only where it would help, the cause fits, and a row says why it is refused once."""
    world = SeedWorld()
    alike = [Message(key=b"k", value=b"1", timestamp_ms=BASE_MS)] * 5
    world.pair.us.produce("orders", 0, *alike)
    world.copy_by_hand(*alike[:3])
    report = world.seed("match", apply=False)
    (refused,) = report.refused
    assert report.to_json()["partitions"][0]["reason"] == f"left as it is; {refused.partition(': ')[2]}"
    for force in (False, True):
        with pytest.raises(SeedRefused) as caught:
            world.seed("match", force=force)
        assert "tells no sure place" in str(caught.value)
        assert "--force" not in str(caught.value)
    other = SeedWorld()
    other.write(6)
    other.run()
    with pytest.raises(SeedRefused, match=r"progress already stands elsewhere[^$]*with --force"):
        other.seed("earliest")


ONCE = ("earliest", f"timestamp:{BASE_MS + 3000}", "offsets:FILE", "source-group:g", f"connect:{CONNECT}", "latest")


@pytest.mark.parametrize("kind", ["match", "progress-group", *ONCE])
def test_which_may_stand_before_every_run(kind: str, tmp_path: Path) -> None:
    """``match`` and ``progress-group`` hold for ever; the others name a place that a run leaves behind it."""
    world = SeedWorld()
    world.write(10)
    if kind not in ("earliest", "latest", f"timestamp:{BASE_MS + 3000}"):
        world.copy_by_hand(*world.numbered(7))
    (tmp_path / "FILE").write_text("orders,0,7\n")
    world.commit("g", 7)
    world.pair.eu.create_topic(CONNECT, 1)
    connect_record(world, "MirrorSourceConnector", 6)
    world.pair.eu.groups[GROUP] = {TopicPartition("us.orders", 0): 7} if kind == "progress-group" else {}
    text = kind.replace("FILE", str(tmp_path / "FILE"))
    assert (world.seed(text).changes, world.seed(text).changes) == (1, 0)
    world.run()
    world.write(5, first=10)
    if kind in ONCE:
        with pytest.raises(SeedRefused, match=r"copies .* once more|never copies 5 record"):
            world.seed(text)
        return
    assert world.seed(text).changes == 0
    world.run()
    assert world.seed(text).changes == 0
    assert world.values() == list(range(15))


def test_match() -> None:
    """The last record on the target is found on the source by its content, and the flow goes on behind it."""
    world = SeedWorld(partitions=3)
    world.write(1000)
    world.write(10, partition=1)
    world.write(10, partition=2)
    world.copy_by_hand(*world.numbered(700))
    world.copy_by_hand(*world.numbered(10), partition=1)
    report = world.seed("match")
    assert [row(report, number) for number in range(3)] == [(None, 700), (None, 10), (None, 0)]
    world.run()
    assert world.values() == list(range(1000))
    assert world.values(1) == world.values(2) == list(range(10))


def test_match_beside_what_is_not_on_the_source() -> None:
    """Copies of aborted records (case K93) are passed over; copies made again after a restart do not mislead."""
    world = SeedWorld()
    world.write(20)
    world.pair.us.transaction("orders", 0, *world.numbered(5, 900), outcome=Outcome.ABORTED)
    world.write(20, first=20)
    aborted = world.numbered(5, 900)
    world.copy_by_hand(*world.numbered(20), *aborted)
    assert row(world.seed("match", apply=False)) == (None, 20)
    world.copy_by_hand(*world.numbered(8, 20), *world.numbered(3, 22))
    world.seed("match")
    world.run()
    assert world.values()[-12:] == list(range(28, 40))


@pytest.mark.parametrize("gone", ["retention", "compaction", "all of it"])
def test_match_of_a_record_whose_twin_is_gone(gone: str) -> None:
    """The copy of a record that the source has lost is not taken for a later one that is like it."""
    world = SeedWorld()
    numbers = (*range(100), 5, *range(101, 120))
    keyed = [Message(key=b"%d" % each, value=b"v", timestamp_ms=BASE_MS + each * 1000) for each in numbers]
    world.pair.us.produce("orders", 0, *keyed)
    world.copy_by_hand(*keyed[:50])
    if gone == "compaction":
        world.pair.us.compact("orders", 0)
    else:
        world.pair.us.advance_log_start("orders", 0, 10 if gone == "retention" else 60)
    with pytest.raises(SeedRefused, match="older one like it that is gone"):
        world.seed("match")


def test_match_is_at_rest() -> None:
    """Between runs over committed transactions a second match changes nothing: only markers lie in between."""
    world = SeedWorld()
    world.pair.us.transaction("orders", 0, *world.numbered(10), outcome=Outcome.COMMITTED)
    world.copy_by_hand(*world.numbered(10))
    world.seed("match")
    world.run()
    incidents = world.incidents()
    for _ in range(2):
        report = world.seed("match")
        assert (report.changes, world.incidents()) == (0, incidents)
        world.run()


def test_match_that_is_not_sure() -> None:
    """Records that are alike tell no place, and a target whose records the source has not either: both are refused."""
    for source, target in (
        (
            [Message(key=b"k", value=b"1", timestamp_ms=BASE_MS)] * 5,
            [Message(key=b"k", value=b"1", timestamp_ms=BASE_MS)] * 3,
        ),
        (SeedWorld.numbered(5), SeedWorld.numbered(3, 100)),
    ):
        world = SeedWorld()
        world.pair.us.produce("orders", 0, *source)
        world.copy_by_hand(*target)
        with pytest.raises(SeedRefused, match="on the target"):
            world.seed("match", force=True)


def test_records_on_the_target_that_nobody_knows() -> None:
    """To begin at the log's start beside records on the target would copy them once more: only by force."""
    world = SeedWorld()
    world.write(5)
    world.copy_by_hand(*world.numbered(3))
    with pytest.raises(SeedRefused, match="the target holds 3 record"):
        world.seed("earliest")
    world.seed("earliest", force=True)
    world.run()
    assert world.values() == [0, 1, 2, 0, 1, 2, 3, 4]


def test_beyond_the_source_s_end(tmp_path: Path) -> None:
    """An offset that the source has not reached is refused whatever is forced: what comes up to it would be lost."""
    world = SeedWorld()
    world.write(5)
    path = tmp_path / "offsets.csv"
    path.write_text("orders,0,6\n")
    with pytest.raises(SeedRefused, match="6 lies beyond the source's end 5"):
        world.seed(f"offsets:{path}", force=True)


def test_what_the_source_has_lost(tmp_path: Path) -> None:
    """An offset below the source's log start is refused; by force the flow begins there, and the gap goes on record."""
    world = SeedWorld()
    world.write(10)
    world.pair.us.log(TopicPartition("orders", 0)).advance_start(6)
    path = tmp_path / "offsets.csv"
    path.write_text("orders,0,4\n")
    with pytest.raises(SeedRefused, match=r"source offsets \[4, 6\) are gone"):
        world.seed(f"offsets:{path}")
    world.seed(f"offsets:{path}", force=True)
    world.run()
    assert world.values() == [6, 7, 8, 9]
    assert (IncidentKind.GAP, 4, 6, None) in world.incidents()


@pytest.mark.parametrize("is_there", [True, False])
def test_old_records_and_a_short_retention(is_there: bool) -> None:
    """K37: records older than the target keeps, or would keep, them would vanish after the copy: only by force."""
    world = SeedWorld()
    if is_there:
        world.pair.eu.create_topic("us.orders", 1, {"retention.ms": "604800000"})
        world.flow = world.flow.model_copy(update={"sync_topics": TopicSync(configs=False)})
    else:
        world.pair.us.delete_topic("orders")
        world.pair.us.create_topic("orders", 1, {"retention.ms": "604800000"})
    world.write(5)
    with pytest.raises(SeedRefused, match="the target keeps records for 168 h"):
        world.seed("earliest")
    world.seed("earliest", force=True)


def test_a_topic_at_a_time() -> None:
    """Only the topics named are seeded; one that the flow does not mirror is refused."""
    world = SeedWorld()
    world.pair.us.create_topic("orders2", 1)
    world.write(5)
    world.pair.us.produce("orders2", 0, *world.numbered(5))
    report = world.seed("latest", topics=("orders2",))
    assert [each.source.topic for each in report.rows] == ["orders2"]
    assert "us.orders" not in world.pair.eu.topics
    world.run()
    assert world.values() == list(range(5))
    assert list(world.pair.eu.visible("us.orders2", 0)) == []
    with pytest.raises(SeedUnreadable, match="does not mirror 'nothing'"):
        world.seed("latest", topics=("nothing",))


def test_a_target_topic_that_is_gone() -> None:
    """K19: after the target topic was deleted, a seed from the start makes it anew, and all of it is copied again."""
    world = SeedWorld()
    world.write(5)
    world.commit("app", 3)
    world.run()
    del world.pair.eu.topics["us.orders"]
    world.seed("earliest", topics=("orders",))
    world.run(sync_group_offsets=True)
    assert world.values() == list(range(5))
    assert world.target_offsets("app") == {0: 3}


def test_a_source_topic_made_anew() -> None:
    """K20: the new topic is mirrored from its start, behind the old records."""
    world = SeedWorld()
    world.write(5)
    world.run()
    world.make_anew()
    world.write(8, first=100)
    world.seed("earliest")
    world.run()
    assert world.values() == [*range(5), *range(100, 108)]


def freeze(world: SeedWorld) -> None:
    """Let a failover have frozen the flow."""
    record = read_gate(world.pair.target, "f", lambda: None)
    assert record is not None
    frozen = encode(replace(record, frozen=True, active_side=ActiveSide.TARGET))
    world.pair.eu.produce(naming.gate_topic("f"), 0, Message(key=KEY, value=frozen))


def test_a_frozen_flow_is_not_seeded() -> None:
    """While a failover forbids runs, a seed writes nothing either."""
    world = SeedWorld()
    world.write(5)
    world.run()
    freeze(world)
    with pytest.raises(FlowFrozen):
        world.seed("earliest", force=True)


def test_the_failover_point() -> None:
    """The way back begins behind what the flow brought before the failover: nothing comes home twice."""
    world = SeedWorld()
    world.flow = world.flow.model_copy(update={"replication_policy": "identity"})
    world.write(10)
    world.run()
    back = SeedWorld()
    back.pair.us, back.pair.eu, back.pair.clock = world.pair.eu, world.pair.us, world.pair.clock
    back.pair.source, back.pair.target = FakeReader(back.pair.us), FakeTarget(back.pair.eu)
    update = {"name": "back", "source": world.flow.target, "target": world.flow.source, "topics": ("orders",)}
    back.flow = world.flow.model_copy(update=update)
    with pytest.raises(MirrorError):
        back.seed("failover")
    freeze(world)
    world.pair.eu.produce("orders", 0, *world.numbered(5, 100))
    assert row(back.seed("failover")) == (None, 11)  # a marker is behind the ten records
    back.run()
    values = [int(message.value or b"") for _, message in world.pair.us.visible("orders", 0)]
    assert values == [*range(10), *range(100, 105)]
    with pytest.raises(SeedUnreadable, match="no flow from"):
        SeedWorld().seed("failover")


def test_match_after_the_target_lost_records() -> None:
    """What the target lost is copied again from where both sides agree; nothing has to be forced for that."""
    world = SeedWorld()
    world.write(10)
    world.run()
    world.pair.eu.truncate("us.orders", 0, 6)
    assert row(world.seed("match")) == (10, 6)
    world.commit("app", 8)
    world.run(sync_group_offsets=True)
    assert world.values() == list(range(10))
    assert world.values_from(world.target_offsets("app")[0]) == [8, 9]


def test_match_after_the_source_lost_records() -> None:
    """Where the source was truncated and has grown again, the copy goes on from the last record both have."""
    world = SeedWorld()
    world.write(10)
    world.run()
    world.pair.us.truncate("orders", 0, 7)
    world.write(20, first=100)
    assert row(world.seed("match")) == (10, 7)
    world.run()
    assert world.values() == [*range(10), *range(100, 120)]


def test_foreign_records_accepted_once() -> None:
    """A seed to the place where a flow stands accepts what strangers wrote, by force and on record."""
    world = SeedWorld()
    world.write(5)
    world.run()
    world.copy_by_hand(*world.numbered(3, 500))
    with pytest.raises(SeedRefused, match=r"3 record\(s\) of somebody else"):
        world.seed("match")
    world.seed("match", force=True)
    world.write(5, first=5)
    assert world.run().warnings == ()
    assert world.values() == [*range(5), 500, 501, 502, *range(5, 10)]
    assert [(kind, records) for kind, _, _, records in world.incidents()] == [
        (IncidentKind.SEEDED, 0),
        (IncidentKind.FOREIGN_WRITES, 3),
    ]


def test_a_gap_accepted_once() -> None:
    """K10: where retention overtook the flow, a seed from the earliest goes on behind the gap, by force, on record."""
    world = SeedWorld()
    world.write(5)
    world.run()
    world.write(10, first=5)
    world.pair.us.log(TopicPartition("orders", 0)).advance_start(8)
    with pytest.raises(SeedRefused, match=r"source offsets \[5, 8\) are gone"):
        world.seed("earliest")
    world.seed("earliest", force=True)
    world.run()
    assert world.values() == [*range(5), *range(8, 15)]
    assert (IncidentKind.GAP, 5, 8, None) in world.incidents()


@pytest.mark.parametrize("step", ["fence", "begin", "add", "commit", "see"])
@pytest.mark.parametrize("is_after", [False, True])
def test_killed_at_any_step(step: str, is_after: bool) -> None:
    """A seed that dies at any of its steps has set all of a shard or nothing; made again it ends as it was meant."""
    world = SeedWorld(partitions=2)
    for partition in range(2):
        world.write(10, partition=partition)
    world.run()

    def die(at: str) -> None:
        if at == step:
            raise Killed

    setattr(world.pair.hooks, "after" if is_after else "before", die)
    with pytest.raises(Killed):
        world.seed("timestamp:2023-11-14T22:13:26Z", force=True)
    world.pair.hooks.before = world.pair.hooks.after = lambda step: None
    world.pair.eu.expire_member("mm2.f.0.lease")
    expired = world.seed("timestamp:2023-11-14T22:13:26Z", force=True)
    assert {new for _, new in (row(expired), row(expired, 1))} == {6}
    world.run()
    for partition in range(2):
        assert world.values(partition) == [*range(10), *range(6, 10)]
    assert len(world.incidents()) == 2
