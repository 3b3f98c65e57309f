"""The names of docs/how-to/topics.md, and what the page says of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_mm2.mirror.clusters.mm2_topics import original_topic
from airflow_provider_mm2.mirror.clusters.naming import make_policy
from tests.mirror.interval.seed_world import SeedWorld

PATH = "tests.how_to.own_names.SuffixPolicy"


@given(st.from_regex(r"[a-z._\-]{1,20}", fullmatch=True), st.sampled_from([".", "_", "--"]))
def test_the_two_undo_the_first(topic: str, separator: str) -> None:
    """Origin and name of a remote topic are those that made it."""
    policy = make_policy(PATH, source_alias="us", separator=separator)
    remote = policy.format_remote_topic("us", topic)
    assert (policy.topic_source(remote), policy.upstream_topic(remote)) == ("us", topic)


@pytest.mark.parametrize("topic", ["orders", ".us", ""])
def test_any_other_name_is_of_nowhere(topic: str) -> None:
    """What has no ending is not remote."""
    policy = make_policy(PATH, source_alias="us", separator=".")
    assert (policy.topic_source(topic), policy.upstream_topic(topic)) == (None, None)
    assert original_topic(policy, topic) == topic


def test_a_run_uses_it() -> None:
    """Records lie under the names that it gives."""
    world = SeedWorld()
    world.flow = world.flow.model_copy(update={"replication_policy": PATH})
    world.write(5)
    world.run()
    assert [int(message.value or b"") for _, message in world.pair.eu.visible("orders.us", 0)] == list(range(5))
