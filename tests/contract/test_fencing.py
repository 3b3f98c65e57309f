"""Several attempts of one flow: the last one that fenced goes on, every other one is told, nothing doubles."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_provider_mm2.mirror.clusters.ports import Copier
from airflow_provider_mm2.mirror.errors import Fenced
from tests.contract.lab import Lab, Side, messages
from tests.contract.route import ALL, NOW_MS, Route, no_tick
from tests.fakes.log import Message, Outcome

STEPS = ("begin", "copy", "flush", "add", "commit")


def go_on(copier: Copier, route: Route, steps: tuple[str, ...]) -> None:
    """Do these steps of a chunk."""
    calls: dict[str, Callable[[], object]] = {
        "begin": copier.begin,
        "copy": lambda: copier.copy(ALL, no_tick),
        "flush": lambda: copier.flush(no_tick),
        "add": lambda: copier.add([], {route.target(): 4}, no_tick),
        "commit": lambda: copier.commit(no_tick),
    }
    for step in steps:
        calls[step]()


def test_fence_ends_the_open_transaction(lab: Lab, route: Route) -> None:
    """What an earlier attempt left open is aborted by the fence alone: the target is stable again at once."""
    route.produce(*messages(4))
    earlier = route.assigned(route.range())
    go_on(earlier, route, ("begin", "copy", "flush", "add"))
    before = lab.pair.target.log_offsets([route.target()])[route.target()]
    assert before.stable < before.end
    route.copier()
    after = lab.pair.target.log_offsets([route.target()])[route.target()]
    assert after.stable == after.end == before.end + 1
    assert route.copied() == []
    assert lab.pair.target.committed(route.group, [route.target()], no_tick) == {}


@pytest.mark.parametrize("done", range(len(STEPS)))
def test_earlier_attempt_is_told(route: Route, done: int) -> None:
    """Whichever step an earlier attempt has come to, it is told by its commit at the latest, and changes nothing."""
    route.produce(*messages(4))
    earlier = route.assigned(route.range())
    go_on(earlier, route, STEPS[:done])
    later = route.assigned(route.range())
    with pytest.raises(Fenced) as caught:
        go_on(earlier, route, STEPS[done:])
    assert caught.value.transactional_id == f"mm2.{route.flow}.0"
    assert caught.value.why
    earlier.abort()
    (result,) = route.chunk(later)
    assert route.copied() == messages(4)
    route.assert_exact(result)


def test_fenced_between_chunks(route: Route) -> None:
    """An attempt that was fenced between two chunks keeps the first and cannot commit the second."""
    route.produce(*messages(8))
    earlier = route.copier()
    earlier.assign([route.range(end=4)], NOW_MS)
    (first,) = route.chunk(earlier)
    later = route.assigned(route.range(start=4))
    with pytest.raises(Fenced):
        go_on(earlier, route, ("begin", "add", "commit"))
    (second,) = route.chunk(later)
    route.assert_exact(first, second)


def test_committed_attempt_is_kept(route: Route) -> None:
    """A fence after the commit takes nothing back."""
    route.produce(*messages(4))
    (result,) = route.copy(route.range())
    route.copier()
    assert route.copied() == messages(4)
    route.assert_exact(result)


def test_successor_has_moved_on(route: Route) -> None:
    """An attempt that looks for its commit and finds a larger offset leaves as fenced."""
    earlier = route.assigned()
    go_on(earlier, route, ("begin", "add", "commit"))
    later = route.copier()
    later.begin()
    later.add([], {route.target(): 9}, no_tick)
    later.commit(no_tick)
    later.see({route.target(): 9}, {}, no_tick)
    with pytest.raises(Fenced):
        earlier.see({route.target(): 4}, {}, no_tick)


def test_abort_of_a_fenced_attempt(route: Route) -> None:
    """A fenced attempt's abort is quiet, and does not touch the transaction of its successor."""
    route.produce(*messages(4))
    earlier = route.assigned(route.range())
    go_on(earlier, route, ("begin", "copy"))
    later = route.assigned(route.range())
    go_on(later, route, ("begin", "copy"))
    earlier.abort()
    earlier.close()
    go_on(later, route, ("flush", "add", "commit"))
    later.see({route.target(): 4}, {route.target(): 5}, no_tick)
    assert route.copied() == messages(4)


def test_flows_leave_each_other_alone(lab: Lab, route: Route) -> None:
    """Another flow's fence does not end this one's transaction."""
    route.produce(*messages(4))
    copier = route.assigned(route.range())
    go_on(copier, route, ("begin", "copy", "flush"))
    other = Route(lab=lab, flow=lab.new_name(), topic=route.topic, target_topic=route.target_topic)
    other.copier()
    go_on(copier, route, ("add", "commit"))
    copier.see({route.target(): 4}, {route.target(): 4}, no_tick)
    assert route.copied() == messages(4)
    other.close()


def test_foreign_transaction_holds_the_view_back(lab: Lab, route: Route) -> None:
    """A commit is not seen while somebody else's open transaction lies before it on the target."""
    opened = lab.open_transaction(Side.TARGET, route.target(), Message(value=b"foreign"))
    route.produce(*messages(1))
    copier = route.assigned(route.range())
    copier.begin()
    copier.copy(ALL, no_tick)
    (result,) = copier.flush(no_tick)
    copier.add([], {route.target(): 1}, no_tick)
    copier.commit(no_tick)
    seen: list[str] = []

    def tick() -> None:
        seen.append("waited")
        if len(seen) == 3:
            opened.end(Outcome.ABORTED)

    copier.see({route.target(): 1}, {route.target(): result.segments[-1].target_end}, tick)
    assert len(seen) >= 3
    assert route.copied() == messages(1)
