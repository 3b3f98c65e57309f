"""Proving a mirror: read both sides once, side by side, and tell every record that is not as it should be.

Nothing is written to either cluster, and mirroring may go on meanwhile: the ends are those of the start.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import replace
from pathlib import Path

from airflow_provider_mm2.mirror.clusters.ports import ClusterPair, Tick
from airflow_provider_mm2.mirror.connect.connectors import Part
from airflow_provider_mm2.mirror.connect.flow_connectors import FlowConnectors
from airflow_provider_mm2.mirror.connect.report import MISSING
from airflow_provider_mm2.mirror.errors import (
    ArgumentRefused,
    EndpointRefused,
    EndpointTooSlow,
    EndpointUnreachable,
    OptionMissing,
    OptionsDisagree,
)
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.state.engines import engine_of
from airflow_provider_mm2.mirror.state.gate import find_gate
from airflow_provider_mm2.mirror.state_model import Engine
from airflow_provider_mm2.mirror.verify.before_the_map import tell_before
from airflow_provider_mm2.mirror.verify.behind import tell_behind
from airflow_provider_mm2.mirror.verify.comparison import Comparison, Report, no_report
from airflow_provider_mm2.mirror.verify.report import VerifyReport
from airflow_provider_mm2.mirror.verify.resume import EVERY_S, Memory
from airflow_provider_mm2.mirror.verify.sampling import judged
from airflow_provider_mm2.mirror.verify.scope import Scope, VerifyOrder, scope_by_map
from airflow_provider_mm2.mirror.verify.scope_by_order import Copied, scope_by_order


def verify_flow(
    flow: MirrorFlow,
    pair: ClusterPair,
    order: VerifyOrder,
    *,
    tick: Tick,
    report: Report = no_report,
    resume: Path | None = None,
    every_s: float = EVERY_S,
    connectors: FlowConnectors | None = None,
) -> VerifyReport:
    """Compare what a flow has mirrored with what it was mirrored from.

    Of a flow with ``engine: connect`` there is no map, so it is compared by order, up to where the connectors are.

    :param resume: a file to remember in how far it is, and to go on from where it is there already.
    :param every_s: how often that file is written at most.
    :param connectors: of such a flow; where Connect does not answer, all that the source holds is due.
    :raises OptionsDisagree: what is asked for does not go together.
    :raises OptionMissing: a seed is given without a sample.
    :raises MirrorError: it cannot be compared; see ``scope_by_map``, ``scope_by_order`` and ``Memory``.
    """
    began = time.monotonic()
    _check(order, resume)
    is_on_connect = _is_on_connect(flow, pair, tick)
    copied, told = _copied(connectors, tick) if is_on_connect else (None, ())
    order = replace(order, by_order=order.by_order or is_on_connect)
    scope = scope_by_order(flow, pair, order, copied) if order.by_order else scope_by_map(flow, pair, order, tick)
    scope = replace(scope, warnings=(*scope.warnings, *tell_before(scope.parts)))
    if order.sample is not None:
        return _sampled(flow, scope, order, Comparison(pair, tick, report), began)
    memory = None if resume is None else Memory(resume, flow.name, order, every_s=every_s)
    parts = scope.parts if memory is None else memory.begin(scope.parts)
    comparison = Comparison(pair, tick, report, memory)
    results = [comparison.whole(part) for part in parts]
    behind = [] if order.by_order else tell_behind(flow, pair, results, tick)
    return VerifyReport(
        flow=flow.name,
        mode="order" if order.by_order else "map",
        results=results,
        absent=scope.absent,
        warnings=(*told, *scope.warnings, *comparison.warnings, *behind),
        seconds=time.monotonic() - began,
    )


def _is_on_connect(flow: MirrorFlow, pair: ClusterPair, tick: Tick) -> bool:
    """Whether connectors mirror it, by its record where there is one: its file may be ahead of a hand-over."""
    return engine_of(flow, find_gate(pair.target, flow.name, tick)) is Engine.CONNECT


def _copied(connectors: FlowConnectors | None, tick: Tick) -> tuple[Copied | None, tuple[str, ...]]:
    """How far the connectors are; or that nobody knows, so that what they have not copied yet counts as missing."""
    problem = "they were not asked"
    if connectors is not None:
        try:
            status = connectors.status(tick)
            missing = [each.name for each in status.connectors if each.part is Part.SOURCE and each.state == MISSING]
            if not missing:
                return status.progress, ()
            problem = f"there is no connector {missing[0]}"
        except (EndpointUnreachable, EndpointTooSlow, EndpointRefused) as error:
            problem = error.first_line
    return None, (f"how far the connectors are is not known, so what they have not copied yet is missed: {problem}",)


def _check(order: VerifyOrder, resume: Path | None) -> None:
    if order.sample is None and order.seed is not None:
        raise OptionMissing(options=("--seed",), missing="--sample N", problem="it draws the windows of a sample")
    if order.sample is not None and resume is not None:
        problem = "a sample is small, and is begun anew with the same --seed"
        raise OptionsDisagree(options=("--sample", "--resume"), problem=problem)
    if order.sample is not None and order.sample < 1:
        raise ArgumentRefused(argument="sample", problem=f"{order.sample} is no number of windows")


def _sampled(flow: MirrorFlow, scope: Scope, order: VerifyOrder, comparison: Comparison, began: float) -> VerifyReport:
    """Compare windows at random places of each partition."""
    seed, count = secrets.randbelow(1_000_000) if order.seed is None else order.seed, order.sample or 0
    done = [
        comparison.sample(part, part.offset_map, count, seed) for part in scope.parts if part.offset_map is not None
    ]
    return VerifyReport(
        flow=flow.name,
        mode="map",
        results=[result for result, _ in done],
        warnings=(*scope.warnings, *comparison.warnings),
        sampled=judged(seed, [row for _, row in done]),
        seconds=time.monotonic() - began,
    )
