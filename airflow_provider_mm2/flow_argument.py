"""The ``flow=`` argument of operators and sensors, and failing as Airflow understands it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from airflow_provider_mm2.hooks.cluster import (
    refuse_plain_secrets,
    refuse_plain_secrets_in,
    refuse_plain_secrets_in_connect,
)
from airflow_provider_mm2.mirror.errors import MirrorError
from airflow_provider_mm2.mirror.flow import ClusterSettings, MirrorFlow
from airflow_provider_mm2.mirror.flow_file import flow_folder, flow_from_mapping
from airflow_provider_mm2.mirror.reverse_flow import find_any_flow
from airflow_provider_mm2.version_compat import AirflowFailException

FlowGiven = MirrorFlow | Mapping[str, Any] | str | Path


def refuse_secrets(flow: FlowGiven) -> None:
    """Refuse plain secrets while the DAG is parsed: Airflow stores templated arguments in its database.

    :raises SecretInFlow: with the names of the settings.
    """
    if isinstance(flow, MirrorFlow):
        refuse_plain_secrets(flow)
    elif isinstance(flow, Mapping):
        for side in ("source", "target"):
            cluster = flow.get(side)
            settings = cluster.get("settings") if isinstance(cluster, Mapping) else None
            if isinstance(cluster, Mapping) and isinstance(settings, Mapping):
                refuse_plain_secrets_in(str(cluster.get("alias", side)), settings)
        connect, target = flow.get("connect"), flow.get("target")
        if isinstance(connect, Mapping):
            alias = target.get("alias", "target") if isinstance(target, Mapping) else "target"
            refuse_plain_secrets_in_connect(str(alias), connect)


def find_given_flow(
    flow: FlowGiven, *, dag_file: str, source_conn_id: str | None = None, target_conn_id: str | None = None
) -> MirrorFlow:
    """The flow, found, validated and with the task's connections in place.

    :param dag_file: a flow given by name is looked for in ``flows/`` beside it, unless ``$MM2_FLOWS`` says where.
    :raises FlowNotFound: there is none of this name or path.
    :raises FlowInvalid: what is there is not a flow.
    """
    if isinstance(flow, MirrorFlow):
        found = flow
    elif isinstance(flow, Mapping):
        found = flow_from_mapping(flow, label="flow=")
    else:
        found = find_any_flow(str(flow), flow_folder(Path(dag_file).parent / "flows"))
    replaced = {
        side: ClusterSettings(alias=getattr(found, side).alias, connection=connection)
        for side, connection in (("source", source_conn_id), ("target", target_conn_id))
        if connection
    }
    return found.model_copy(update=replaced)


@contextmanager
def airflow_failures() -> Iterator[None]:
    """Turn what cannot be mended by a retry into the exception that makes Airflow give up at once."""
    try:
        yield
    except MirrorError as error:
        if error.retriable:
            raise
        raise AirflowFailException(str(error)) from error
