"""The way home is compared like any other flow, and the flow that went out again after it."""

from __future__ import annotations

from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.reverse_flow import reverse_of
from airflow_provider_mm2.mirror.state.stranded_notes import Stranded
from airflow_provider_mm2.mirror.verify.compare import verify_flow
from airflow_provider_mm2.mirror.verify.report import VerifyReport
from airflow_provider_mm2.mirror.verify.scope import VerifyOrder
from tests.fakes.pair import FakePair
from tests.mirror.recovery.home_world import HomeWorld
from tests.mirror.verify.verify_world import told


def verified(flow: MirrorFlow, pair: FakePair) -> VerifyReport:
    """Compare."""
    return verify_flow(flow, pair, VerifyOrder(), tick=no_tick)


def test_the_way_home() -> None:
    """What came home is proved on the way home; stranded records that were kept are on record and no strangers."""
    world = HomeWorld()
    world.produce(5)
    world.fail_over()
    world.write(world.pair.eu, "us.orders", 20)
    world.prepare(Stranded.KEEP)
    world.run_home()
    report = verified(reverse_of(world.flow), world.pair.turned())
    assert told(report.mismatches) == []
    assert report.records >= 20
    assert report.results[0].tally.on_record == {"stranded": 5}


def test_the_flow_that_goes_on() -> None:
    """After coming home the flow's map covers both ways; what was stranded is on record."""
    world = HomeWorld()
    world.produce(5)
    world.fail_over()
    world.write(world.pair.eu, "us.orders", 20)
    world.come_home(Stranded.KEEP)
    world.produce(7)
    world.run()
    report = verified(world.flow, world.pair)
    assert told(report.mismatches) == []
    assert (report.records, report.results[0].tally.on_record) == (132, {"stranded": 5})


def test_a_fault_on_the_way_home() -> None:
    """A record that is lost on the way home is found."""
    world = HomeWorld()
    world.fail_over()
    world.write(world.pair.eu, "us.orders", 20)
    world.prepare()
    world.run_home()
    log = world.pair.us.topics["orders"].logs[0]
    log.entries = [entry for entry in log.entries if entry.offset != 110]
    (found,) = verified(reverse_of(world.flow), world.pair.turned()).mismatches
    assert (found.kind.value, found.target) == ("missing", (110, 111))
