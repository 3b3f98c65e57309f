"""The short form of ``make chaos``, with a fixed seed; a soak plays the long one, with another seed each time."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.__main__ import attempts_in
from tests.chaos.campaign import LANES, Campaign
from tests.chaos.judge import judge
from tests.chaos.world import World
from tests.proof.conftest import SOAK

log = logging.getLogger(__name__)

pytestmark = pytest.mark.broker

ROUNDS = range(70 if SOAK else 2)
SEED = random.SystemRandom().randrange(1_000_000) if SOAK else 5


@pytest.fixture
def world(kafka_folder: Path) -> Iterator[World]:
    """Give clusters that faults can reach."""
    made = World(kafka_folder)
    yield made.start()
    made.stop()


@pytest.mark.slow
def test_nothing_is_lost_repeated_or_skipped(world: World, kafka_folder: Path) -> None:
    """Whatever strikes, readers see every record once and groups go on where they were; and the oracle is awake."""
    with attempts_in(kafka_folder) as start:
        campaign = Campaign(world, start, SEED, log.info, lanes=LANES if SOAK else 2)
        result = campaign.run(ROUNDS)
        assert not result.failures, "\n".join(result.failures)
        assert result.rounds == len(ROUNDS) * len(campaign.lanes)
        assert result.tally.clean
        assert result.tally.seen > 100
        assert result.tally.positions > 10
        lane = campaign.lanes[0]
        lane.plant_repeat()
        tally = judge(lane)
        assert (tally.repeated, tally.lost, tally.foreign) == (1, 0, 0)
