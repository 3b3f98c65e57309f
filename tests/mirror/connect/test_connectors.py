"""A flow as connectors: importing them gives the flow again, and what MirrorMaker 2 cannot do is refused by its key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.connect.connectors import OWNER, Connector, Part, connectors_of
from airflow_provider_mm2.mirror.connect.java_settings import for_the_worker
from airflow_provider_mm2.mirror.connect.limits import CARRIED, LIMITS, OF_OTHERS, OF_RUNS, told_differences
from airflow_provider_mm2.mirror.errors import NotOnConnect
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.mm2_import.flow_text import flow_document
from airflow_provider_mm2.mirror.mm2_import.importer import Imported, import_files
from tests.mirror.connect.flows import connect_flow

NO_PLACE = {*OF_RUNS, *OF_OTHERS, "connect", "delivery", "transaction_timeout_s"}
"""Keys that an import has no place for."""

PATTERNS = st.lists(st.from_regex(r"[a-z]{1,5}(\.\*|\[ab\]|-[0-9]{1,2})?", fullmatch=True), max_size=3, unique=True)


def made(flow: MirrorFlow) -> tuple[Connector, ...]:
    """The connectors of a flow, each variable left to the worker."""
    return connectors_of(flow, {side.alias: for_the_worker(side) for side in (flow.source, flow.target)})


def imported(flow: MirrorFlow) -> Imported:
    """What an import makes of a flow's connectors, as Connect gives them."""
    answer = {each.name: {"info": {"name": each.name, "config": each.config}} for each in made(flow)}
    return import_files([("connect.json", json.dumps(answer).encode())])


def compared(flow: MirrorFlow) -> Mapping[str, Any]:
    """A flow without the keys that an import has no place for; numbers among the settings as text."""
    document = {key: value for key, value in flow_document(flow).items() if key not in NO_PLACE}
    for side in ("source", "target"):
        settings = document[side]["settings"]
        document[side] = {**document[side], "settings": {key: str(value) for key, value in settings.items()}}
    return document


@given(
    st.fixed_dictionaries(
        {"topics": PATTERNS.filter(bool)},
        optional={
            "topics_exclude": st.just([]),
            "groups": PATTERNS,
            "groups_exclude": PATTERNS,
            "replication_policy": st.sampled_from(["default", "identity", "org.example.Policy"]),
            "separator": st.sampled_from([".", "_", "--"]),
            "sync_group_offsets": st.booleans(),
            "emit_checkpoints": st.just(True),
            "offset_lag_max": st.integers(0, 10**6),
            "replication_factor": st.integers(1, 9),
            "internal_replication_factor": st.integers(1, 9),
            "transaction_timeout_s": st.integers(5, 900),
            "delivery": st.sampled_from(["exactly_once", "at_least_once"]),
            "shards": st.integers(1, 9),
            "sync_topics": st.fixed_dictionaries(
                {},
                optional={
                    "configs": st.sampled_from([True, "new"]),
                    "acls": st.booleans(),
                    "use_defaults_from": st.sampled_from(["source", "target"]),
                    "config_exclude": PATTERNS,
                },
            ),
        },
    )
)
def test_importing_them_gives_the_flow_again(changes: dict[str, Any]) -> None:
    """Made into connectors and imported, a flow is what it was, but for keys that an import has no place for."""
    flow = connect_flow(**changes)
    (again,) = imported(flow).flows
    assert compared(again) == compared(flow)


@pytest.mark.parametrize("emits", [("emit_checkpoints",), ("emit_checkpoints", "emit_offset_syncs")])
def test_a_connector_that_is_left_out(emits: tuple[str, ...]) -> None:
    """Without checkpoints there is no connector for them, and an import of the others knows."""
    flow = connect_flow(**dict.fromkeys(emits, False))
    assert [each.part for each in made(flow)] == [Part.SOURCE, Part.HEARTBEAT]
    assert compared(imported(flow).flows[0]) == compared(flow)
    assert [each.part for each in made(connect_flow(emit_heartbeats=False))] == [Part.SOURCE, Part.CHECKPOINT]


def test_what_an_import_tells_of_them() -> None:
    """Nothing is told of what makes connectors do as a run does, only how often and how many."""
    told = {
        found.key for found in imported(connect_flow(connect={"url": "http://c", "tasks": 4})).unhonoured if found.where
    }
    assert {key for key in told if not key.endswith("interval.seconds")} == {"tasks.max"}


def test_they_name_their_flow() -> None:
    """Each connector says whose it is, and is called by the flow and what it does."""
    connectors = made(connect_flow())
    assert [each.name for each in connectors] == [f"orders.{part.value}" for part in Part]
    assert {each.config[OWNER] for each in connectors} == {"orders"}


def test_exactly_once() -> None:
    """The connector that copies reads what is committed and requires exactly once; with at least once it only asks."""
    source, *others = made(connect_flow(transaction_timeout_s=30))
    assert source.config["exactly.once.support"] == "required"
    assert source.config["source.consumer.isolation.level"] == "read_committed"
    assert source.config["producer.override.transaction.timeout.ms"] == "30000"
    assert all("exactly.once.support" not in each.config for each in others)
    least, *_ = made(connect_flow(delivery="at_least_once", transaction_timeout_s=30))
    assert least.config["exactly.once.support"] == "requested"
    assert least.config["source.consumer.isolation.level"] == "read_committed"
    assert "producer.override.transaction.timeout.ms" not in least.config


def test_nothing_is_written_to_the_source() -> None:
    """MirrorMaker 2's own default would be a topic of offset syncs there."""
    for each in made(connect_flow()):
        if each.part is not Part.HEARTBEAT:
            assert each.config["offset-syncs.topic.location"] == "target"


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"strict": True}, "strict"),
        ({"on_gap": "stop"}, "on_gap"),
        ({"on_recreated": "restart"}, "on_recreated"),
        ({"on_foreign_writes": "warn"}, "on_foreign_writes"),
        ({"silence_limit_s": 60}, "silence_limit_s"),
        ({"lso_stuck_s": 60}, "lso_stuck_s"),
        ({"uncommitted": "earliest"}, "uncommitted"),
        ({"behind_start": "earliest"}, "behind_start"),
        ({"ahead": "skip"}, "ahead"),
        ({"allow_rewind": True}, "allow_rewind"),
        ({"sync_topics": {"create": False}}, "sync_topics.create"),
        ({"sync_topics": {"grow": False}}, "sync_topics.grow"),
        ({"sync_topics": {"configs": False}}, "sync_topics.configs"),
        ({"sync_group_offsets": True, "emit_checkpoints": False}, "sync_group_offsets"),
        ({"emit_offset_syncs": False}, "emit_offset_syncs"),
        ({"topics": ["a{1,2}"]}, "topics"),
        ({"topics": ["(?i)a", "b"]}, "topics"),
        ({"topics": ["stock.internal"]}, "topics"),
        ({"groups": [" a"]}, "groups"),
        ({"groups_exclude": [r"(?P<a>b)"]}, "groups_exclude"),
        ({"sync_topics": {"config_exclude": [r"a\Z"]}}, "sync_topics.config_exclude"),
        (
            {"source": {"alias": "us", "settings": {"bootstrap.servers": "a", "fetch.min.bytes": 7}}},
            "source.settings.fetch.min.bytes",
        ),
    ],
)
def test_what_it_cannot_do_is_refused_by_its_key(changes: dict[str, Any], key: str) -> None:
    """A key that is given with what MirrorMaker 2 cannot do is named with what it does instead."""
    with pytest.raises(NotOnConnect) as caught:
        made(connect_flow(**changes))
    (problem,) = caught.value.problems
    assert problem.startswith(f"{key}: ")
    assert problem in str(caught.value)


def test_all_of_it_is_refused_at_once() -> None:
    """Each key has a line of its own, so that one look is enough."""
    with pytest.raises(NotOnConnect) as caught:
        made(connect_flow(strict=True, on_gap="stop", groups=["a,b"]))
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["strict", "on_gap", "groups"]


def test_defaults_are_told_and_not_refused() -> None:
    """What nobody asked for is no reason to refuse, and is told; said aloud, it is neither."""
    assert {each.key for each in told_differences(connect_flow())} == {
        *("on_gap", "on_recreated", "on_foreign_writes", "silence_limit_s", "lso_stuck_s"),
    }
    aloud = connect_flow(on_gap="accept", on_foreign_writes="accept", sync_topics={"configs": "new"})
    assert {each.key for each in told_differences(aloud)} == {"on_recreated", "silence_limit_s", "lso_stuck_s"}
    assert {each.config.get("sync.topic.configs.enabled") for each in made(aloud)} == {"false", None}


def test_every_key_of_a_flow_has_a_fate() -> None:
    """Nothing of a flow is dropped in silence: each key is carried, limited, of runs, or not about mirroring."""
    sync = {f"sync_topics.{key}" for key in MirrorFlow.model_fields["sync_topics"].default.model_fields_set} | {
        f"sync_topics.{key}" for key in type(MirrorFlow.model_fields["sync_topics"].default).model_fields
    }
    keys = (MirrorFlow.model_fields.keys() - {"sync_topics"}) | sync
    fates = [CARRIED, LIMITS.keys(), OF_RUNS, OF_OTHERS]
    assert sorted(key for fate in fates for key in fate) == sorted(keys)
