"""Cases of failing over and coming home, with their numbers: what is told, what moves, what comes home."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.errors import StrandedUndecided
from airflow_provider_mm2.mirror.recovery.failback import Failback
from airflow_provider_mm2.mirror.recovery.failback_report import FailbackReport
from airflow_provider_mm2.mirror.recovery.failover import Failover
from airflow_provider_mm2.mirror.recovery.record import Order
from airflow_provider_mm2.mirror.recovery.report import FailoverReport
from airflow_provider_mm2.mirror.recovery.steps import Mode
from airflow_provider_mm2.mirror.reverse_flow import reverse_of
from airflow_provider_mm2.mirror.run import RunSummary, run_mirror
from airflow_provider_mm2.mirror.state.stranded_notes import Stranded
from tests.cases.conftest import MakeStage
from tests.cases.group_stage import GroupStage
from tests.cases.scenario import bounds, copied, part, record, records
from tests.contract.lab import Side

pytestmark = pytest.mark.broker

QUICK: dict[str, Any] = {"quiet_s": 0, "stop_wait_s": 0}


def fail_over(stage: GroupStage, mode: Mode = Mode.UNPLANNED, **options: Any) -> FailoverReport:
    """Move all groups to the target."""
    flow = stage.scenario.mirror_flow(**options)
    with closing(connect(flow)) as pair:
        at_work = Failover(flow=flow, pair=pair, owner="case", tick=lambda: None)
        return at_work.start(Order(mode=mode, **QUICK), approve=True)


def look(stage: GroupStage) -> FailbackReport:
    """What coming home means."""
    return _home(stage, None, apply=False)


def prepare(stage: GroupStage, choice: Stranded | None = None) -> FailbackReport:
    """Open the way home."""
    return _home(stage, choice, apply=True)


def _home(stage: GroupStage, choice: Stranded | None, *, apply: bool) -> FailbackReport:
    flow = stage.scenario.mirror_flow()
    with closing(connect(reverse_of(flow))) as pair:
        coming = Failback(flow, pair, owner="case", tick=lambda: None, report=lambda line: None)
        return coming.prepare(choice) if apply else coming.look()


def bring(stage: GroupStage) -> RunSummary:
    """One run of the way home."""
    flow = reverse_of(stage.scenario.mirror_flow())
    with closing(connect(flow)) as pair:
        return run_mirror(flow, pair, bounds=bounds(None), owner="case")


def move_home(stage: GroupStage) -> FailoverReport:
    """The planned failover of the way home."""
    flow = reverse_of(stage.scenario.mirror_flow())
    with closing(connect(flow)) as pair:
        at_work = Failover(flow=flow, pair=pair, owner="case", tick=lambda: None)
        return at_work.start(Order(mode=Mode.PLANNED, **QUICK), approve=True)


def numbers_at(stage: GroupStage, side: Side) -> list[int]:
    """Numbers of the records that a reader sees on one side."""
    place = stage.scenario.source() if side is Side.SOURCE else stage.scenario.target()
    return [int((message.value or b"?")[1:]) for _, message in stage.scenario.lab.visible(side, place)]


def test_nothing_goes_back(make_stage: MakeStage) -> None:
    """K44: 100 mirrored to 0..99, 20 new at 101..120: the way home begins at 101, copies 20, and us has 120."""
    stage = make_stage(replication_policy="identity")
    stage.scenario.produce(*records(100))
    stage.commit("app", 40)
    stage.scenario.run()
    fail_over(stage)
    stage.scenario.lab.produce(Side.TARGET, stage.scenario.target(), *records(20, first=100))
    stage.commit_on_target("app", {stage.scenario.target(): 111})
    assert [(each.start, each.end) for each in look(stage).coming] == [(101, 121)]
    prepare(stage)
    home = part(bring(stage))
    assert (home.start, home.end, home.records) == (101, 121, 20)
    assert move_home(stage).state == "closed"
    assert numbers_at(stage, Side.SOURCE) == list(range(120))
    offsets = stage.scenario.lab.pair.source.group_offsets([stage.group("app")], lambda: None)[stage.group("app")]
    assert getattr(offsets, "offsets", {}) == {stage.scenario.source(): 110}
    stage.scenario.produce(record(120))
    assert copied(stage.scenario.run()) == 1
    assert stage.scenario.numbers() == list(range(121))


@pytest.mark.parametrize("choice", list(Stranded))
def test_stranded_records(make_stage: MakeStage, choice: Stranded) -> None:
    """K45: us had 105 when it died; the five are listed, and nothing is written before somebody has decided."""
    stage = make_stage(replication_policy="identity")
    scenario = stage.scenario
    scenario.produce(*records(100))
    stage.commit("app", 40)
    scenario.run()
    scenario.produce(*records(5, first=100))
    fail_over(stage)
    scenario.lab.produce(Side.TARGET, scenario.target(), *records(20, first=105))
    (stranded,) = look(stage).stranded
    assert (stranded.start, stranded.end, stranded.records) == (100, 105, 5)
    assert [(each.offset, each.key, each.timestamp_ms) for each in stranded.listed] == [
        (number, f"k{number}".encode(), sent.timestamp_ms)
        for number, sent in zip(range(100, 105), records(5, first=100), strict=True)
    ]
    before = scenario.snapshot()
    with pytest.raises(StrandedUndecided):
        prepare(stage)
    assert scenario.snapshot() == before
    prepare(stage, choice)
    move_home(stage)
    copies = list(range(100, 105)) if choice is Stranded.COPY else []
    assert numbers_at(stage, Side.SOURCE) == [*range(125), *copies]
    assert numbers_at(stage, Side.TARGET) == [*range(100), *range(105, 125), *copies]


@pytest.mark.parametrize("choice", [Stranded.KEEP, Stranded.COPY])
def test_a_single_stranded_record(make_stage: MakeStage, choice: Stranded) -> None:
    """One record that lies where the marker of a transaction of ours would: nobody takes it for a stranger's."""
    stage = make_stage()
    scenario = stage.scenario
    scenario.produce(*records(100))
    stage.commit("app", 40)
    scenario.run()
    scenario.produce(record(100))
    fail_over(stage)
    scenario.lab.produce(Side.TARGET, scenario.target(), record(101))
    assert look(stage).stranded[0].records == 1
    prepare(stage, choice)
    bring(stage)
    assert move_home(stage).state == "closed"
    assert numbers_at(stage, Side.SOURCE) == [*range(102), *([100] if choice is Stranded.COPY else [])]
    scenario.produce(record(102))
    assert copied(scenario.run()) == 1


def test_a_group_behind_the_start_at_a_failover(make_stage: MakeStage) -> None:
    """K39: 3800 offsets are not on the target: told before the approval, and moved only where the flow says so."""
    stage = make_stage()
    stage.scenario.produce(*records(5_010))
    stage.scenario.retain_from(5_000)
    stage.commit("app", 1_200)
    stage.commit("inside", 5_004)
    stage.scenario.run()
    report = fail_over(stage)
    (app,) = report.groups[stage.group("app")].parts
    assert (app.offset, app.not_on_target, app.reason) == (None, 3_800, "behind the mirror's start by 3800")
    assert (stage.target_offsets("app"), stage.target_offsets("inside")) == ({}, {0: 4})
    again = make_stage(behind_start="earliest")
    again.scenario.produce(*records(5_010))
    again.scenario.retain_from(5_000)
    again.commit("app", 1_200)
    again.scenario.run()
    (app,) = fail_over(again).groups[again.group("app")].parts
    assert (app.offset, app.not_on_target) == (0, 3_800)
    assert again.target_offsets("app") == {0: 0}


def test_an_idle_topic_at_a_failover(make_stage: MakeStage) -> None:
    """K41: a group at the end of a quiet topic goes on at the end: nothing to read, lag 0 in records."""
    stage = make_stage()
    stage.scenario.produce(*records(100))
    stage.commit("app", 100)
    stage.scenario.run()
    (app,) = fail_over(stage, Mode.PLANNED).groups[stage.group("app")].parts
    assert (app.exact, app.lag, app.reread, app.not_on_target) == (True, 0, 0, 0)
    assert stage.target_offsets("app") == {0: app.offset} != {0: None}
    assert app.offset is not None
    assert app.offset >= 100
