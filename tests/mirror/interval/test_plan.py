"""Which topics a flow takes, and what forbids a partition's copy."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror import errors
from airflow_provider_mm2.mirror.clusters import mm2_topics, naming
from airflow_provider_mm2.mirror.clusters.selection import select_topics
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.plan import PartitionFacts, check_named, check_selection, judge
from airflow_provider_mm2.mirror.interval.policies import decide
from airflow_provider_mm2.mirror.model import LogOffsets, Segment, TopicInfo, TopicPartition
from airflow_provider_mm2.mirror.state_model import LedgerEntry, PartitionLedger
from airflow_provider_mm2.mirror.topic_names import TOPIC_NAME_LIMIT


def flow(**changes: Any) -> MirrorFlow:
    """A flow from us to eu of everything."""
    settings = {"bootstrap.servers": "127.0.0.1:1"}
    given_ = {
        "name": "f",
        "source": {"alias": "us", "settings": settings},
        "target": {"alias": "eu", "settings": settings},
        "topics": [".*"],
    }
    return MirrorFlow.model_validate({**given_, **changes})


def test_default_filters_speak() -> None:
    """K48: of six names the default filters keep one, and each of the five others comes with the rule that hit it."""
    names = ["orders", "billing.internal", "audit-internal", "stock.replica", "__audit", ".hidden"]
    selection = select_topics(flow(), naming.policy_of(flow()), names)
    assert selection.topics == {"orders": "us.orders"}
    assert selection.left_out == {
        "billing.internal": r"topics_exclude: .*[\-\.]internal",
        "audit-internal": r"topics_exclude: .*[\-\.]internal",
        "stock.replica": r"topics_exclude: .*\.replica",
        "__audit": "topics_exclude: __.*",
        ".hidden": "internal by its name (starts with __ or ., or ends with 'internal' behind -, . or the separator)",
    }


def test_kafkas_own_topics_are_never_taken() -> None:
    """K48: Kafka's own topics are left out even where nothing excludes them."""
    open_flow = flow(topics_exclude=[])
    selection = select_topics(open_flow, naming.policy_of(open_flow), ["__consumer_offsets", "__transaction_state"])
    assert not selection.topics


@pytest.mark.parametrize("name", ["billing.internal", "audit-internal", "stock.replica", "__audit", ".hidden"])
def test_a_topic_named_in_full_wins_over_the_rule_for_names(name: str) -> None:
    """K48: with nothing that excludes it, a topic is mirrored when it is named in full, and only then."""
    some = flow(topics=[name, "orders.*"], topics_exclude=[])
    assert name in select_topics(some, naming.policy_of(some), [name]).topics
    pattern = flow(topics=[f"{name}.*".replace(".h", "[.]h")], topics_exclude=[])
    assert (name in select_topics(pattern, naming.policy_of(pattern), [name]).topics) == (name == "stock.replica")


MIRRORS_OWN = (
    "mm2-offset-map.f.internal",
    "mm2-offset-syncs.us.internal",
    "mm2-configs.us.internal",
    "us.checkpoints.internal",
    "source2.source1.checkpoints.internal",
)


@pytest.mark.parametrize("name", MIRRORS_OWN)
def test_a_mirrors_own_topics_are_never_taken(name: str) -> None:
    """K48: MirrorMaker 2's state and ours stays where it is, also when it is named in full."""
    some = flow(topics=[name], topics_exclude=[])
    assert select_topics(some, naming.policy_of(some), [name]).left_out == {
        name: "a mirror's own topic, never mirrored"
    }


@pytest.mark.parametrize(
    ("name", "excluded", "rule"),
    [
        ("billing.internal", None, r"topics_exclude: .*[\-\.]internal"),
        ("__audit", None, "topics_exclude: __.*"),
        ("__consumer_offsets", [], "Kafka's own topic, never mirrored"),
        ("__transaction_state", [], "Kafka's own topic, never mirrored"),
        ("us.checkpoints.internal", [], "a mirror's own topic, never mirrored"),
        ("eu.invoices", None, "came from 'eu' itself (a cycle)"),
    ],
)
def test_a_topic_named_in_full_is_never_left_out_silently(name: str, excluded: list[str] | None, rule: str) -> None:
    """K47, K48: it is refused with the rule that hit it, and the message says how to go on."""
    some = flow(topics=["orders", name], **({} if excluded is None else {"topics_exclude": excluded}))
    with pytest.raises(errors.NamedTopicLeftOut) as caught:
        check_named(some, select_topics(some, naming.policy_of(some), ["orders", name, "other"]))
    assert caught.value.topics == (f"{name} ({rule})",)
    assert "topics_exclude" in str(caught.value)


def test_what_a_pattern_leaves_out_is_no_error() -> None:
    """K47: ``eu.invoices``, which only looks as if it came from eu, is left out and listed, as MirrorMaker 2 does."""
    selection = select_topics(flow(), naming.policy_of(flow()), ["orders", "eu.invoices"])
    check_named(flow(), selection)
    assert selection.left_out == {"eu.invoices": "came from 'eu' itself (a cycle)"}


def test_cycles_are_left_out() -> None:
    """K47: a topic that came from the target is not sent back, and the reason is told."""
    selection = select_topics(flow(), naming.policy_of(flow()), ["eu.orders", "us.eu.orders", "orders", "ap.eu.orders"])
    assert set(selection.topics) == {"orders"}
    assert selection.left_out["eu.orders"] == "came from 'eu' itself (a cycle)"


def test_whole_names_match() -> None:
    """A pattern matches whole names, never a part of one."""
    some = flow(topics=["orders", "bill.*"])
    selection = select_topics(some, naming.policy_of(some), ["orders", "orders2", "my-orders", "billing"])
    assert set(selection.topics) == {"orders", "billing"}


@given(st.lists(st.from_regex(r"[a-zA-Z0-9._\-]{1,30}", fullmatch=True), unique=True))
def test_every_topic_is_accounted_for(names: list[str]) -> None:
    """Each topic is either taken or left out with a rule, whatever its name."""
    selection = select_topics(flow(), naming.policy_of(flow()), names)
    assert sorted([*selection.topics, *selection.left_out]) == sorted(names)
    assert all(selection.left_out.values())


def check(some: MirrorFlow, names: list[str], recorded: tuple[str, ...] = ()) -> None:
    """Select and check."""
    check_selection(some, select_topics(some, naming.policy_of(some), names), recorded)


def test_missing_literal_topic() -> None:
    """A topic named literally that is not on the source is refused by name."""
    with pytest.raises(errors.TopicMissing, match="order_s"):
        check(flow(topics=["orders", "order_s"]), ["orders"])


def test_deleted_literal_topic_is_no_typing_error() -> None:
    """A literal topic that was mirrored and is gone does not keep the others from being mirrored."""
    check(flow(topics=["orders", "old-one"]), ["orders"], recorded=("old-one",))


def test_nothing_selected() -> None:
    """Patterns that hit nothing are refused with the rules that left topics out."""
    with pytest.raises(errors.NothingSelected, match=r"topics_exclude: __\.\*"):
        check(flow(topics=["__.*", "nothing.*"]), ["__audit", "orders"])


def test_names_too_long() -> None:
    """K75: prefixed names over 249 characters are all listed before anything is created."""
    some = flow(source={"alias": "us-east-1", "settings": {"bootstrap.servers": "x:1"}})
    with pytest.raises(errors.NameTooLong) as caught:
        check(some, ["a" * 240, "b" * 239, "c" * 241])
    assert [len(name) for name in caught.value.names] == [250, 251]


def test_internal_names_always_fit() -> None:
    """K75: the longest flow name, aliases and separator that a flow may have leave room in every internal name."""
    settings = {"bootstrap.servers": "x:1"}
    some = flow(
        name="f" * 100,
        source={"alias": "s" * 100, "settings": settings},
        target={"alias": "t" * 100, "settings": settings},
        separator="_" * 10,
    )
    policy = naming.policy_of(some)
    names = [naming.gate_topic(some.name), naming.ledger_topic(some.name), naming.groups_topic(some.name)]
    for alias in (some.source.alias, some.target.alias):
        names += [
            mm2_topics.checkpoints_topic(policy, alias),
            mm2_topics.offset_syncs_topic(policy, alias),
            mm2_topics.heartbeats_topic(policy, alias),
        ]
    assert max(map(len, names)) <= TOPIC_NAME_LIMIT
    with pytest.raises(ValueError, match="at most 100 characters"):
        flow(name="f" * 101)


def test_names_that_collide() -> None:
    """Names that differ only in '.' and '_' are one name to a broker, and refused."""
    with pytest.raises(errors.NameClash, match=r"a\.b"):
        check(flow(), ["a.b", "a_b"])


SOURCE = TopicInfo(name="orders", topic_id="S1", partitions=1, replication_factor=1)
TARGET = TopicInfo(name="us.orders", topic_id="T1", partitions=1, replication_factor=1)
ENTRY = LedgerEntry(
    generation=1,
    source_topic_id="S1",
    topic="orders",
    partition=0,
    first=0,
    segments=(Segment(source_start=0, target_start=0, count=100),),
    next_offset=100,
    target_topic="us.orders",
    target_topic_id="T1",
    target_end=101,
    source_cluster_id="C",
    leader_epoch=0,
    records=100,
    through_ms=1,
    sequence=1,
)
FACTS = PartitionFacts(
    source=TopicPartition("orders", 0),
    target=TopicPartition("us.orders", 0),
    source_topic=SOURCE,
    target_topic=TARGET,
    ledger=PartitionLedger(entries=(ENTRY,)),
    group_offset=100,
    source_log=LogOffsets(start=0, stable=150, end=150),
    target_log=LogOffsets(start=0, stable=101, end=101),
    visible=0,
)
NEW = replace(FACTS, ledger=None, group_offset=None, target_log=LogOffsets(start=0, stable=0, end=0))


@pytest.mark.parametrize(
    "facts",
    [
        FACTS,
        NEW,
        replace(FACTS, group_offset=None),
        replace(FACTS, source_log=LogOffsets(start=100, stable=150, end=150)),
        replace(FACTS, source_log=LogOffsets(start=0, stable=100, end=100)),
        replace(FACTS, target_log=LogOffsets(start=0, stable=180, end=180)),
        replace(NEW, target_log=LogOffsets(start=0, stable=60, end=60)),
    ],
    ids=[
        "as recorded",
        "new",
        "group expired",
        "retention at progress",
        "nothing new",
        "aborted tail",
        "aborted first",
    ],
)
def test_partitions_that_may_be_copied(facts: PartitionFacts) -> None:
    """What looks odd and is fine: an expired group, retention right at the progress, what an aborted attempt left."""
    assert judge(facts) is None


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        (replace(FACTS, source_topic=replace(SOURCE, topic_id="S2")), errors.SourceTopicRecreated),
        (replace(FACTS, target_topic=replace(TARGET, topic_id="T2")), errors.TargetTopicRecreated),
        (replace(FACTS, group_offset=99), errors.ProgressDisagrees),
        (replace(FACTS, source_log=LogOffsets(start=101, stable=150, end=150)), errors.SourceGap),
        (replace(FACTS, source_log=LogOffsets(start=0, stable=99, end=99)), errors.SourceTruncated),
        (replace(FACTS, target_log=LogOffsets(start=0, stable=100, end=100)), errors.TargetLostData),
        (replace(FACTS, target_log=LogOffsets(start=0, stable=104, end=104), visible=3), errors.ForeignWrites),
        (replace(FACTS, hidden=True), errors.MirroredRecordsHidden),
        (replace(FACTS, target_log=LogOffsets(start=0, stable=101, end=104)), errors.TargetTransactionOpen),
        (replace(NEW, group_offset=5), errors.ProgressLost),
        (replace(NEW, visible=7), errors.ProgressUnknown),
    ],
)
def test_partitions_that_may_not(facts: PartitionFacts, kind: type[errors.MirrorError]) -> None:
    """Each fault of a partition is an error of its own, with three parts in its message."""
    problem = judge(facts)
    assert type(problem) is kind
    assert "Likely cause: " in str(problem)
    assert "Next move: " in str(problem)


def test_gap_is_exact() -> None:
    """K10: the error names exactly the offsets that are missing."""
    facts = replace(FACTS, source_log=LogOffsets(start=800, stable=900, end=900))
    problem = judge(facts)
    assert isinstance(problem, errors.SourceGap)
    assert (problem.topic, problem.partition, problem.start, problem.end) == ("orders", 0, 100, 800)


@given(st.integers(min_value=1, max_value=64), st.integers(min_value=1, max_value=1200))
def test_shards_tile_the_partitions(shards: int, partitions: int) -> None:
    """K61: every partition falls on exactly one of at most N shards, the same one each time."""
    parts = [TopicPartition(f"t{index % 7}", index) for index in range(partitions)]
    first = [naming.shard_of(part, shards) for part in parts]
    assert first == [naming.shard_of(part, shards) for part in parts]
    assert set(first) <= set(range(shards))


def test_a_source_topic_that_could_not_be_asked() -> None:
    """A ledger that was begun without the source is of whatever topic is there; the next run puts that on record."""
    entry = replace(ENTRY, source_topic_id="", segments=(), records=0, first=100)
    facts = replace(FACTS, ledger=PartitionLedger(entries=(entry,)))
    decision = decide(flow(), facts, "C", 0)
    assert (decision.problem, decision.rebased is not None) == (None, True)
    found = decision.facts.ledger
    assert found is not None
    assert (found.latest.source_topic_id, found.latest.next_offset, found.latest.generation) == ("S1", 100, 2)
    assert decide(flow(), decision.facts, "C", 0).rebased is None
    foreign = replace(facts, visible=3)
    assert isinstance(decide(flow(), foreign, "C", 0).problem, errors.ForeignWrites)
