"""What mirrors a flow, by its record; where there is none, by its file. Pure."""

from __future__ import annotations

from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.state_model import Engine, FlowRecord


def engine_of(flow: MirrorFlow, record: FlowRecord | None) -> Engine:
    """The engine that mirrors a flow: a file names it ahead of a hand-over, which changes the record."""
    return Engine(flow.engine) if record is None else record.engine


def as_recorded(flow: MirrorFlow, record: FlowRecord) -> MirrorFlow:
    """A flow with the engine that mirrors it by its record: of a failover's steps some change it."""
    return with_engine(flow, Engine.BOUNDED if record.engine is Engine.BOUNDED else Engine.CONNECT)


def with_engine(flow: MirrorFlow, engine: Engine) -> MirrorFlow:
    """A flow as the other engine has it, or as it is.

    :param engine: one that a file can name.
    """
    return flow if flow.engine == engine.value else flow.model_copy(update={"engine": engine.value})


def tell_engine(flow: MirrorFlow, engine: Engine) -> tuple[str, ...]:
    """What is to be said where the file names another engine than mirrors the flow.

    :param engine: what does.
    """
    if engine is Engine.TO_CONNECT:
        return (f"a hand-over is half done, and nothing mirrors the flow: `mm2 hand-over {flow.name} --apply` ends it",)
    if engine.value == flow.engine:
        return ()
    return (
        f"the flow's file names engine: {flow.engine}, and by its record engine: {engine.value} mirrors it: "
        f"`mm2 hand-over {flow.name} --apply` hands it over",
    )
