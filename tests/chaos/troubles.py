"""What befalls one flow: its process, its topics, its rights, its queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import psutil
from confluent_kafka.admin import AclOperation, AclPermissionType, ResourceType

from airflow_provider_mm2.local.wait import poll
from tests.chaos.crossing import Crossing
from tests.chaos.lane import Lane
from tests.chaos.world import rule
from tests.proof.attempt import Attempt

Trouble = Callable[[Lane, Attempt | Crossing], AbstractContextManager[str]]
"""Strikes when it is entered, tells what it did, and is over when it is left."""


@contextmanager
def none(lane: Lane, attempt: Attempt | Crossing) -> Iterator[str]:
    """Nothing beside what befalls the clusters."""
    yield "no trouble"


@contextmanager
def killed(lane: Lane, attempt: Attempt | Crossing) -> Iterator[str]:
    """SIGKILL, at any moment."""
    wait(lane, attempt, 2)
    attempt.kill()
    yield "killed"


@contextmanager
def frozen(lane: Lane, attempt: Attempt | Crossing) -> Iterator[str]:
    """SIGSTOP for a while, shorter or longer than its session; now and then a successor is at work meanwhile."""
    with_successor = lane.crossing is None and lane.chance.random() < 0.5
    wait(lane, attempt, 2)
    try:
        process = psutil.Process(attempt.pid)
        process.suspend()
    except psutil.NoSuchProcess:
        yield "ended before it was frozen"
        return
    try:
        if with_successor:
            outcome = lane.begin(owner="successor").outcome(240)
            assert outcome.done or outcome.retriable or outcome.killed or outcome.error in lane.curable, str(outcome)
        else:
            wait(lane, attempt, 8)
        yield "frozen under a successor" if with_successor else "frozen"
    finally:
        process.resume()


@contextmanager
def rights_revoked(lane: Lane, attempt: Attempt | Crossing) -> Iterator[str]:
    """One right of the mirror's user is taken away while it works, and given back."""
    topic = lane.orders.topic
    side, kind, name, operation = lane.chance.choice(
        [
            ("source", ResourceType.TOPIC, topic, AclOperation.READ),
            ("target", ResourceType.TOPIC, f"us.{topic}", AclOperation.WRITE),
            ("target", ResourceType.TOPIC, f"mm2-offset-map.{lane.name}.internal", AclOperation.WRITE),
            ("target", ResourceType.TRANSACTIONAL_ID, f"mm2.{lane.name}.0", AclOperation.WRITE),
            ("target", ResourceType.GROUP, f"mm2.{lane.name}.progress", AclOperation.READ),
            ("target", ResourceType.GROUP, lane.groups[0], AclOperation.READ),
        ]
    )
    denied = rule(kind, name, operation, AclPermissionType.DENY)
    lane.curable = frozenset({"NotAuthorized"})
    wait(lane, attempt, 1)
    lane.world.change_rights(side, [denied])
    try:
        yield f"no {operation.name.lower()} of {name} on the {side}"
    finally:
        lane.world.change_rights(side, [], [denied])


@contextmanager
def topic_deleted(lane: Lane, attempt: Attempt | Crossing) -> Iterator[str]:
    """A source topic is deleted, and made anew at once or later."""
    lane.curable = frozenset({"TopicDeleted", "SourceTopicRecreated", "TopicMissing"})
    wait(lane, attempt, 1)
    lane.delete_extra()
    at_once = lane.chance.random() < 0.5
    if at_once:
        lane.create(lane.extra)
        lane.extra.write(20, hour=lane.hour)
    yield "topic deleted, made anew at once" if at_once else "topic deleted, made anew later"
    if not at_once:
        lane.create(lane.extra)
        lane.extra.write(20, hour=lane.hour)


@contextmanager
def copy_deleted(lane: Lane, attempt: Attempt | Crossing) -> Iterator[str]:
    """A mirrored topic is deleted on the target."""
    lane.curable = frozenset({"TargetTopicGone", "TargetTopicRecreated", "TargetTopicMissing", "TopicDeleted"})
    wait(lane, attempt, 1)
    lane.delete_copy()
    yield "mirrored topic deleted on the target"


@contextmanager
def partitions_added(lane: Lane, attempt: Attempt | Crossing) -> Iterator[str]:
    """A source topic gets more partitions, with records in them, while it is copied."""
    wait(lane, attempt, 1)
    lane.orders.grow(lane.orders.partitions + 1)
    lane.orders.write(20, hour=lane.hour)
    yield f"{lane.orders.partitions} partitions"


@contextmanager
def written_meanwhile(lane: Lane, attempt: Attempt | Crossing) -> Iterator[str]:
    """Applications go on writing and committing."""
    lane.orders.write(100, hour=lane.hour)
    yield "written to meanwhile"


TROUBLES: Mapping[str, Trouble] = {
    "none": none,
    "killed": killed,
    "frozen": frozen,
    "rights revoked": rights_revoked,
    "topic deleted": topic_deleted,
    "copy deleted": copy_deleted,
    "partitions added": partitions_added,
    "written meanwhile": written_meanwhile,
}

OF_CROSSINGS = ("none", "killed", "frozen")
"""Those that can befall a failover or a failback."""


def wait(lane: Lane, attempt: Attempt | Crossing, at_most_s: float) -> None:
    """Let a while pass, at most until the attempt has ended: the moment of a fault is anybody's."""
    poll(lambda: not attempt.running, timeout_s=lane.chance.uniform(0, at_most_s))
