"""A move from us to eu, flows with entries of ``repoint:``, and a child that dies in the middle."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.recovery.repoint.factory import make_repointers
from airflow_provider_mm2.mirror.recovery.repoint.ports import Move, Repointer, RepointPlan

ROOT = Path(__file__).parents[4]
US, EU = "us-1:9092,us-2:9092", "eu-1:9092"
MOVE = Move(
    flow="orders",
    from_alias="us",
    to_alias="eu",
    bootstrap={"us": US, "eu": EU},
    topics={"orders": {"us": "orders", "eu": "us.orders"}},
    groups=("orders-app",),
    offsets={"orders-app": {TopicPartition("us.orders", 0): 42}},
)


def flow_with(*items: Mapping[str, Any]) -> MirrorFlow:
    """Make a flow with these entries."""
    return MirrorFlow.model_validate(
        {
            "name": "orders",
            "source": {"alias": "us", "settings": {"bootstrap.servers": US}},
            "target": {"alias": "eu", "settings": {"bootstrap.servers": EU}},
            "topics": ["orders"],
            "repoint": list(items),
        }
    )


def repointer(**item: Any) -> Repointer:
    """Make the one repointer of a flow with this entry."""
    (made,) = make_repointers(flow_with(item))
    return made


@dataclass
class Noted:
    """A record of plans, each through JSON, as it would be kept on the target."""

    texts: list[str] = field(default_factory=list)

    def __call__(self, plan: RepointPlan) -> None:
        """Take one down."""
        self.texts.append(json.dumps(plan.to_json()))

    @property
    def last(self) -> RepointPlan:
        """Give the newest, as another process reads it."""
        return RepointPlan.from_json(json.loads(self.texts[-1]))


def planned(made: Repointer, move: Move = MOVE) -> RepointPlan:
    """Plan, and take it through JSON."""
    return RepointPlan.from_json(json.loads(json.dumps(made.plan(move, no_tick).to_json())))


def states(plan: RepointPlan) -> list[str]:
    """Give the items' states."""
    return [item.state.value for item in plan.items]


_CHILD = """
import json, os, signal, sys
from airflow_provider_mm2.mirror.clusters.ports import no_tick
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.recovery.repoint.factory import make_repointers
from airflow_provider_mm2.mirror.recovery.repoint.item_by_item import ItemByItem
from airflow_provider_mm2.mirror.recovery.repoint.ports import RepointPlan

given = json.load(sys.stdin)
(made,) = make_repointers(MirrorFlow.model_validate(given["flow"]))
write, left = type(made.places).write, given["writes"]

def dying(self, *arguments):
    global left
    write(self, *arguments)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

type(made.places).write = dying
note = lambda plan: print(json.dumps(plan.to_json()), flush=True)
getattr(made, given["step"])(RepointPlan.from_json(given["plan"]), note, no_tick)
"""


def die_in(step: str, item: Mapping[str, Any], plan: RepointPlan, *, writes: int = 1) -> RepointPlan:
    """Carry a plan out in a child that is killed behind so many writes, before it can note the last.

    :returns: what was on record when it died.
    """
    flow = json.loads(flow_with(item).model_dump_json(exclude_defaults=True))
    given = {"flow": flow, "plan": plan.to_json(), "step": step, "writes": writes}
    done = subprocess.run(
        [sys.executable, "-c", _CHILD], input=json.dumps(given), capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == -9, done.stderr
    return RepointPlan.from_json(json.loads(done.stdout.splitlines()[-1]))
