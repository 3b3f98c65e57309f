"""Where MirrorMaker 2 runs for a flow with ``engine: connect``: the ``connect:`` block."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, StrictInt, model_validator

from airflow_provider_mm2.mirror.web_settings import Address, WebSettings


class ConnectSettings(WebSettings):
    """A Connect cluster, by its REST interface, and what the connectors on it are given.

    :param connection: in place of ``url``: id of an Airflow connection of type ``http``.
    :param tasks: tasks of a connector at most.
    :param refresh_s: how often MirrorMaker 2 looks for new topics and groups, and writes positions.
    :param variables: who fills in a ``${NAME}`` of the clusters' settings: whoever puts the connectors (``here``), or
        the worker, which is given ``${env:NAME}``.
    :param wait_s: longest wait for a state, or for a rebalance to end.
    """

    url: Address | None = None
    connection: str | None = None
    tasks: StrictInt = Field(default=1, ge=1, le=10_000)
    refresh_s: StrictInt = Field(default=60, ge=1)
    variables: Literal["here", "worker"] = "here"
    wait_s: float = Field(default=120, gt=0, le=3600)

    @property
    def is_given(self) -> bool:
        """Whether it says where the Connect cluster is."""
        return self.url is not None or self.connection is not None

    @model_validator(mode="after")
    def _one_way_there(self) -> ConnectSettings:
        if self.url is not None and self.connection is not None:
            raise ValueError("give either 'url' or 'connection' (id of an Airflow http connection)")
        return self
