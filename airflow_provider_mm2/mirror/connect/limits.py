"""What a flow asks and MirrorMaker 2 cannot do: every key of a flow, and what becomes of it on Kafka Connect. Pure.

A key that is given with what MirrorMaker 2 cannot do is refused. Where it is not given, what MirrorMaker 2 does in its
place is told instead.

Source: MirrorMaker 2, ``MirrorSourceConnector``, ``MirrorSourceTask``, ``MirrorCheckpointTask``; KIP-545.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from airflow_provider_mm2.mirror.flow import MirrorFlow


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A key that MirrorMaker 2 honours in part, or not at all.

    :param able: values that it can do; empty: none.
    :param does: what MirrorMaker 2 does whatever the key says, as the end of a sentence.
    """

    able: tuple[object, ...] = ()
    does: str


CARRIED = frozenset(
    {
        *("name", "source", "target", "topics", "topics_exclude", "groups", "groups_exclude"),
        *("replication_policy", "separator", "delivery", "sync_group_offsets", "emit_checkpoints"),
        *("emit_offset_syncs", "emit_heartbeats", "offset_lag_max", "replication_factor"),
        *("internal_replication_factor", "transaction_timeout_s", "connect"),
        *("sync_topics.use_defaults_from", "sync_topics.acls", "sync_topics.config_exclude"),
    }
)
"""Keys that become keys of the connectors."""

OF_RUNS = frozenset({"shards", "chunk", "cut", "lease_session_s", "lease_wait_s"})
"""How a bounded run works; nothing of what is on the target follows from it."""

OF_OTHERS = frozenset({"engine", "repoint", "dag", "drill"})
"""Keys that are not about mirroring."""

LIMITS = {
    "strict": Limit(able=(False,), does="has no intervals, so it cannot refuse one"),
    "on_gap": Limit(able=("accept",), does="goes on where the source does when records are gone, and says nothing"),
    "on_recreated": Limit(
        does="goes on by its old offset in a source topic that was made anew, or from its start where that is shorter"
    ),
    "on_foreign_writes": Limit(able=("accept",), does="never looks who else writes to a mirrored topic"),
    "silence_limit_s": Limit(does="waits for a source that does not answer, for ever"),
    "lso_stuck_s": Limit(does="waits behind an open transaction on the source, for ever"),
    "uncommitted": Limit(able=("skip",), does="leaves alone what a group never committed"),
    "behind_start": Limit(able=("skip",), does="leaves alone a group that stands before the first offset sync"),
    "ahead": Limit(able=("mirrored_end",), does="puts a group that is ahead behind the last offset sync"),
    "allow_rewind": Limit(able=(False,), does="never sets a group on the target back"),
    "sync_topics.create": Limit(able=(True,), does="creates missing topics"),
    "sync_topics.grow": Limit(able=(True,), does="adds partitions when the source has more"),
    "sync_topics.configs": Limit(able=(True, "new"), does="gives a topic that it creates its source's settings"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What MirrorMaker 2 does in place of what a flow would have.

    :param key: of the flow.
    :param text: one sentence.
    """

    key: str
    text: str


def refused_keys(flow: MirrorFlow) -> list[Difference]:
    """Keys that are given, with what MirrorMaker 2 cannot do."""
    return [*_unable(flow, given=True), *_disagreeing(flow)]


def told_differences(flow: MirrorFlow) -> list[Difference]:
    """Keys that are not given, of whose default MirrorMaker 2 cannot do."""
    return list(_unable(flow, given=False))


def _unable(flow: MirrorFlow, *, given: bool) -> Iterator[Difference]:
    for key, limit in LIMITS.items():
        block, _, name = key.rpartition(".")
        model = getattr(flow, block) if block else flow
        value = getattr(model, name)
        if value not in limit.able and (name in model.model_fields_set) == given:
            yield Difference(key=key, text=f"MirrorMaker 2 {limit.does}")


def _disagreeing(flow: MirrorFlow) -> Iterator[Difference]:
    """Keys of which MirrorMaker 2 can do one only with another."""
    if flow.sync_group_offsets and not flow.emit_checkpoints:
        yield Difference(key="sync_group_offsets", text="MirrorMaker 2 commits no group's offsets without checkpoints")
    if flow.emit_checkpoints and not flow.emit_offset_syncs:
        text = "MirrorMaker 2 makes checkpoints from its offset syncs; set emit_checkpoints: false, too"
        yield Difference(key="emit_offset_syncs", text=text)
