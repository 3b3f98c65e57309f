"""``MirrorFlow``: what is given is taken as it is or refused with its place; what is left out has its default."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from airflow_provider_mm2.mirror.connect_settings import ConnectSettings
from airflow_provider_mm2.mirror.flow import Cut, MirrorFlow

SMALLEST: dict[str, Any] = {
    "name": "orders-dr",
    "source": {"alias": "us", "settings": {"bootstrap.servers": "127.0.0.1:19092"}},
    "target": {"alias": "eu", "connection": "kafka_eu"},
    "topics": ["orders.*"],
}


def refused(**changes: Any) -> dict[str, str]:
    """What is said against the smallest flow with these changes: place to message."""
    with pytest.raises(ValidationError) as caught:
        MirrorFlow.model_validate({**SMALLEST, **changes})
    return {".".join(map(str, error["loc"])): error["msg"] for error in caught.value.errors()}


def test_defaults() -> None:
    """A flow that gives only what it must has the documented defaults for all else."""
    flow = MirrorFlow.model_validate(SMALLEST).model_dump()
    given = {key: flow.pop(key) for key in SMALLEST}
    assert given["topics"] == ("orders.*",)
    dag = flow.pop("dag")
    sync = flow.pop("sync_topics")
    assert flow.pop("connect") == ConnectSettings().model_dump()
    assert flow == {
        "topics_exclude": (r".*[\-\.]internal", r".*\.replica", r"__.*"),
        "groups": (".*",),
        "groups_exclude": ("console-consumer-.*", "connect-.*", "__.*"),
        "replication_policy": "default",
        "separator": ".",
        "shards": 1,
        "cut": Cut.INTERVAL,
        "strict": False,
        "chunk": {"seconds": 5, "bytes": 268_435_456},
        "delivery": "exactly_once",
        "engine": "bounded",
        "on_gap": "stop",
        "on_recreated": "stop",
        "on_foreign_writes": "stop",
        "uncommitted": "skip",
        "behind_start": "skip",
        "ahead": "mirrored_end",
        "sync_group_offsets": False,
        "allow_rewind": False,
        "emit_checkpoints": True,
        "emit_offset_syncs": True,
        "emit_heartbeats": True,
        "offset_lag_max": 100,
        "replication_factor": None,
        "internal_replication_factor": None,
        "transaction_timeout_s": 60,
        "lease_session_s": 6,
        "lease_wait_s": 60,
        "silence_limit_s": 60,
        "lso_stuck_s": 900,
        "repoint": (),
        "drill": {"lost": None, "repeated": 0, "skipped": 0, "reordered": 0, "rpo_s": None, "rto_s": None},
    }
    assert (sync["create"], sync["grow"], sync["configs"]) == (True, True, True)
    assert (dag["timetable"], dag["catchup"], dag["paused"]) == ("trigger", False, None)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"topic": ["a"]}, "topic"),
        ({"chunk": {"size": 1}}, "chunk.size"),
        ({"sync_topics": {"config": True}}, "sync_topics.config"),
        ({"dag": {"cron": "@daily"}}, "dag.cron"),
        ({"target": {"alias": "eu", "connection": "c", "host": "h"}}, "target.host"),
    ],
)
def test_unknown_keys(changes: dict[str, Any], place: str) -> None:
    """A key that is not known is refused by its place, also inside a block."""
    assert list(refused(**changes)) == [place]


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"shards": "two"}, "shards"),
        ({"shards": 1.5}, "shards"),
        ({"shards": 0}, "shards"),
        ({"shards": 65}, "shards"),
        ({"strict": "perhaps"}, "strict"),
        ({"cut": "never"}, "cut"),
        ({"topics": {"a": 1}}, "topics"),
        ({"topics": [1]}, "topics.0"),
        ({"groups": [None]}, "groups.0"),
        ({"chunk": 5}, "chunk"),
        ({"chunk": {"bytes": "256 MiB"}}, "chunk.bytes"),
        ({"chunk": {"seconds": 0}}, "chunk.seconds"),
        ({"source": "us"}, "source"),
        ({"replication_factor": 0}, "replication_factor"),
        ({"transaction_timeout_s": 901}, "transaction_timeout_s"),
        ({"lease_session_s": 5}, "lease_session_s"),
        ({"on_gap": "skip"}, "on_gap"),
        ({"delivery": "at_most_once"}, "delivery"),
        ({"dag": {"retries": -1}}, "dag.retries"),
    ],
)
def test_wrong_kinds(changes: dict[str, Any], place: str) -> None:
    """A value of another kind, or outside its limits, is refused by its place."""
    assert list(refused(**changes)) == [place]


@pytest.mark.parametrize("missing", sorted(SMALLEST))
def test_required_keys(missing: str) -> None:
    """A flow has a name, two clusters and topics."""
    with pytest.raises(ValidationError) as caught:
        MirrorFlow.model_validate({key: value for key, value in SMALLEST.items() if key != missing})
    assert [error["loc"] for error in caught.value.errors()] == [(missing,)]


@pytest.mark.parametrize("key", ["topics", "topics_exclude", "groups", "groups_exclude"])
@pytest.mark.parametrize(
    ("pattern", "character"), [("(", 1), ("a(b", 2), ("orders[", 7), ("*", 1), ("ab**", 4), (r"a\z{2,1}", None)]
)
def test_bad_patterns(key: str, pattern: str, character: int | None) -> None:
    """A pattern that is no regular expression is refused with its number in the list and the character."""
    (place, message) = next(iter(refused(**{key: ["fine", pattern]}).items()))
    assert place == f"{key}.1"
    assert repr(pattern) in message
    assert character is None or message.endswith(f"at character {character}")


@pytest.mark.parametrize("key", ["topics", "topics_exclude", "groups", "groups_exclude"])
def test_commas_are_no_list(key: str) -> None:
    """Patterns in one string, as MirrorMaker 2 has them, are refused: a comma may be part of a pattern."""
    assert "list" in refused(**{key: "orders,payments"})[key]


def test_comma_inside_a_pattern() -> None:
    """A comma inside a pattern of a list is part of it."""
    flow = MirrorFlow.model_validate({**SMALLEST, "topics": ["a{1,3}"]})
    assert flow.topics == ("a{1,3}",)


def test_nothing_selected() -> None:
    """An empty list of topics and an empty pattern are refused; an empty list of groups is a choice."""
    assert list(refused(topics=[])) == ["topics"]
    assert list(refused(topics=[""])) == ["topics.0"]
    assert MirrorFlow.model_validate({**SMALLEST, "groups": []}).groups == ()


def test_same_alias() -> None:
    """Source and target must have different aliases: the alias names the topics."""
    assert "'us'" in refused(target={"alias": "us", "connection": "c"})[""]


@pytest.mark.parametrize(
    "cluster",
    [
        {"alias": "eu"},
        {"alias": "eu", "connection": "c", "settings": {"bootstrap.servers": "h:1"}},
        {"alias": "eu", "settings": {}},
        {"alias": "eu", "settings": {"bootstrap.servers": ""}},
        {"alias": "eu", "settings": {"acks": "all"}},
    ],
)
def test_one_way_to_connect(cluster: dict[str, Any]) -> None:
    """A cluster has either settings with an address or a connection, never both or neither."""
    assert list(refused(target=cluster)) == ["target"]


@pytest.mark.parametrize("name", ["", "a b", "a.b", "a/b", "ä", "a\n", "\na", "x" * 101])
def test_names(name: str) -> None:
    """Names and aliases are letters, digits, ``_`` and ``-``, since they become part of topic and group names."""
    assert list(refused(name=name)) == ["name"]
    assert list(refused(target={"alias": name, "connection": "c"})) == ["target.alias"]


@pytest.mark.parametrize("separator", ["", " ", "/", ".\n", "x" * 11])
def test_separators(separator: str) -> None:
    """The separator is part of topic names too."""
    assert list(refused(separator=separator)) == ["separator"]


@pytest.mark.parametrize("policy", ["default", "identity", "my.module.Policy"])
def test_policies(policy: str) -> None:
    """A policy is one of the two words or a dotted path; it is not imported here."""
    assert MirrorFlow.model_validate({**SMALLEST, "replication_policy": policy}).replication_policy == policy
    assert list(refused(replication_policy=policy.replace(".", "") + "x")) == ["replication_policy"]


def test_every_fault_is_told() -> None:
    """All faults of a flow are told at once."""
    assert set(refused(shards=0, topics=["("], more=1)) == {"shards", "topics.0", "more"}


def test_flow_is_frozen() -> None:
    """A flow cannot be changed after it was made, and does not show its settings."""
    flow = MirrorFlow.model_validate(SMALLEST)
    with pytest.raises(ValidationError):
        flow.shards = 2
    assert "19092" not in repr(flow)


@pytest.mark.parametrize(("seconds", "timeout_s", "expected"), [(5, 60, 5), (60, 60, 20), (5, 9, 3)])
def test_chunk_seconds(seconds: float, timeout_s: int, expected: float) -> None:
    """A chunk copies for a third of the transaction's time at most."""
    flow = MirrorFlow.model_validate({**SMALLEST, "chunk": {"seconds": seconds}, "transaction_timeout_s": timeout_s})
    assert flow.chunk_seconds == expected


@pytest.mark.parametrize("changes", [{"shards": True}, {"shards": "2"}, {"strict": "yes"}, {"lso_stuck_s": 1.5}])
def test_kinds_are_not_converted(changes: dict[str, Any]) -> None:
    """A value of another kind than its key takes is refused, never converted into something that runs."""
    assert list(refused(**changes)) == list(changes)


def test_the_other_engine() -> None:
    """``engine: connect`` needs to know where; the block may stand there with the other engine, too."""
    url = {"url": "http://connect:8083"}
    assert "engine: connect needs one" in refused(engine="connect")[""]
    assert "give either 'url' or 'connection'" in refused(connect={**url, "connection": "c"})["connect"]
    assert "begins with http" in refused(connect={"url": "connect:8083"})["connect.url"]
    assert list(refused(connect={**url, "task": 2})) == ["connect.task"]
    assert MirrorFlow.model_validate({**SMALLEST, "connect": url}).engine == "bounded"
    auth = {"user": "mirror", "password": "hunter2"}
    flow = MirrorFlow.model_validate({**SMALLEST, "engine": "connect", "connect": {**url, "auth": auth}})
    assert "hunter2" not in repr(flow)
    assert flow.serialize()["connect"] == url
