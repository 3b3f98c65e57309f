"""What befalls the clusters: brokers that die, stand still or have no room, a network that is slow, silent or dead."""

from __future__ import annotations

import random
import resource
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from tests.chaos.network import Weather
from tests.chaos.world import SIDES, World
from tests.proof import rig
from tests.proof.eyes import Eyes

Blow = Callable[[World, random.Random, Sequence[str]], AbstractContextManager[str]]
"""Of world, chance and the names of the flows at work: strikes when it is entered, and is over when it is left."""


@contextmanager
def none(world: World, chance: random.Random, flows: Sequence[str]) -> Iterator[str]:
    """The clusters are well."""
    yield "calm"


@contextmanager
def broker_killed(world: World, chance: random.Random, flows: Sequence[str]) -> Iterator[str]:
    """SIGKILL of one of three target brokers, or of the only one of the source."""
    side, broker = _one(chance)
    world.cluster(side).kill(broker)
    try:
        yield f"{side} broker {broker} killed"
    finally:
        world.bring_back(side)


@contextmanager
def coordinator_moved(world: World, chance: random.Random, flows: Sequence[str]) -> Iterator[str]:
    """The broker that coordinates a flow's transactions or progress is shut down as an upgrade does."""
    eyes, flow = Eyes(world.settings("target")), chance.choice(flows)
    if chance.random() < 0.5:
        broker, kind = rig.transaction_coordinator(eyes, f"mm2.{flow}.0"), "transactions"
    else:
        broker, kind = rig.group_coordinator(eyes, f"mm2.{flow}.progress"), "progress"
    world.target.stop_broker(broker)
    try:
        yield f"target broker {broker} shut down, which coordinated the {kind} of {flow}"
    finally:
        world.bring_back("target")


@contextmanager
def broker_frozen(world: World, chance: random.Random, flows: Sequence[str]) -> Iterator[str]:
    """SIGSTOP of one broker, for as long as the round lets it."""
    side, broker = _one(chance)
    with rig.frozen_broker(world.cluster(side), broker):
        yield f"{side} broker {broker} frozen"


@contextmanager
def network_dead(world: World, chance: random.Random, flows: Sequence[str]) -> Iterator[str]:
    """Every connection to some brokers is reset, and no new one is taken."""
    side, brokers = _some(chance)
    with world.under(side, Weather(dead=True), brokers):
        yield f"no network to {side} {brokers}"


@contextmanager
def network_silent(world: World, chance: random.Random, flows: Sequence[str]) -> Iterator[str]:
    """Nothing comes from or to some brokers, and nobody is told."""
    side, brokers = _some(chance)
    with world.under(side, Weather(silent=True), brokers):
        yield f"silence from {side} {brokers}"


@contextmanager
def network_slow(world: World, chance: random.Random, flows: Sequence[str]) -> Iterator[str]:
    """Each piece takes its time, and few come at once."""
    side, brokers = _some(chance)
    latency_s, rate = chance.uniform(0.01, 0.3), chance.choice([20_000, 200_000])
    with world.under(side, Weather(latency_s=latency_s, bytes_per_s=rate), brokers):
        yield f"{latency_s * 1000:.0f} ms and {rate} B/s to {side} {brokers}"


@contextmanager
def disk_full(world: World, chance: random.Random, flows: Sequence[str]) -> Iterator[str]:
    """No file of one or all target brokers may grow any more.

    A limit of the process: a write fails where it would on a full volume, and needs no rights to be set. The broker
    takes its log directory offline by the first write that fails, and ends.
    """
    brokers = [chance.randrange(3)] if chance.random() < 0.5 else [0, 1, 2]
    with ExitStack() as stack:
        stack.callback(world.bring_back, "target")
        for broker in brokers:
            process = rig.process_of(world.target, broker)
            process.rlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            stack.callback(_end, world, broker)
        yield f"no room on target {brokers}"


def _end(world: World, broker: int) -> None:
    """End a broker that has no room, if it did not end itself: what it could not write shows at a start."""
    world.target.kill(broker)


BLOWS: Mapping[str, Blow] = {
    "none": none,
    "broker killed": broker_killed,
    "coordinator moved": coordinator_moved,
    "broker frozen": broker_frozen,
    "network dead": network_dead,
    "network silent": network_silent,
    "network slow": network_slow,
    "disk full": disk_full,
}


def _one(chance: random.Random) -> tuple[str, int]:
    return chance.choice([("source", 0), ("target", 0), ("target", 1), ("target", 2)])


def _some(chance: random.Random) -> tuple[str, list[int]]:
    side = chance.choice(SIDES)
    return (side, [0]) if side == "source" else (side, chance.choice([[0], [1], [2], [0, 1, 2]]))
