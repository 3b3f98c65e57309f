"""Flows that connectors mirror."""

from __future__ import annotations

from typing import Any

from airflow_provider_mm2.mirror.flow import MirrorFlow

FLOW: dict[str, Any] = {
    "name": "orders",
    "source": {"alias": "us", "settings": {"bootstrap.servers": "us:9092"}},
    "target": {"alias": "eu", "settings": {"bootstrap.servers": "eu:9092"}},
    "topics": ["orders.*", "stock"],
    "engine": "connect",
    "connect": {"url": "http://connect:8083"},
}


def connect_flow(**changes: Any) -> MirrorFlow:
    """A flow with these keys."""
    return MirrorFlow.model_validate({**FLOW, **changes})
