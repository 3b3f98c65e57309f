"""The trigger behind all sensors: looks at the clusters every so often until a condition is met."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import closing
from threading import Event
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_mm2.hooks.cluster import apair_settings, connect_pair
from airflow_provider_mm2.hooks.connect import aflow_connectors
from airflow_provider_mm2.mirror.conditions.condition import Condition, condition_from_json
from airflow_provider_mm2.mirror.conditions.finding import Finding, Holding
from airflow_provider_mm2.mirror.conditions.look import look, pause_s
from airflow_provider_mm2.mirror.errors import MirrorError
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.flow_file import flow_from_mapping
from airflow_provider_mm2.triggers.off_loop import off_loop


class ConditionTrigger(BaseTrigger):
    """Fires once: ``{"status": "met", "text", "facts"}``, or ``{"status": "failed", "message", "retriable"}``.

    Between two looks nothing is open: each has clients of its own, which join no group and commit nothing. Started
    anew in another triggerer it looks again and, where a condition has to hold for a time, begins to count again.

    :param flow: a flow as plain JSON values, without secrets: connection ids, or ``${NAME}`` of variables that are set
        where the triggerer runs.
    :param condition: from ``condition_to_json``.
    :param poke_interval_s: time between two looks.
    :param silent_fail: log an error that may pass, and look on.
    """

    def __init__(
        self,
        *,
        flow: Mapping[str, Any],
        condition: Mapping[str, Any],
        poke_interval_s: float,
        silent_fail: bool = False,
    ) -> None:
        super().__init__()
        self.flow = dict(flow)
        self.condition = dict(condition)
        self.poke_interval_s = poke_interval_s
        self.silent_fail = silent_fail

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The path of this class and the arguments that make an equal one."""
        arguments = {
            "flow": self.flow,
            "condition": self.condition,
            "poke_interval_s": self.poke_interval_s,
            "silent_fail": self.silent_fail,
        }
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look until the condition is met, or cannot be looked at."""
        try:
            finding = await self._wait()
        except MirrorError as error:
            yield TriggerEvent({"status": "failed", "message": str(error), "retriable": error.retriable})
        else:
            yield TriggerEvent({"status": "met", "text": finding.text, "facts": dict(finding.facts)})

    async def _wait(self) -> Finding:
        flow, condition = flow_from_mapping(self.flow), condition_from_json(self.condition)
        holding = Holding(condition.for_s)
        while True:
            try:
                finding = holding.add(await _look(flow, condition))
            except MirrorError as error:
                if not (error.retriable and self.silent_fail):
                    raise
                holding.forget()
                self.log.error("could not look: %s", error)
            else:
                self.log.info("%s", finding.text)
                if finding.met:
                    return finding
            left_s = holding.left_s
            every_s = self.poke_interval_s
            await asyncio.sleep(every_s if left_s is None else min(pause_s(condition.for_s, every_s), left_s))


async def _look(flow: MirrorFlow, condition: Condition) -> Finding:
    """One look, beside the loop; cancelled, it ends at its next tick and closes its clients."""
    settings, connectors = await apair_settings(flow), await aflow_connectors(flow)
    stop = Event()

    def call() -> Finding:
        with closing(connect_pair(flow, settings, stop)) as pair:
            return look(condition, flow, pair, stop=stop, connectors=connectors)

    try:
        return await off_loop(call)
    finally:
        stop.set()
