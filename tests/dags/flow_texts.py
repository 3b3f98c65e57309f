"""Flow files for the tests of DAGs."""

from __future__ import annotations


def flow_text(name: str = "orders", *, more: str = "", source: str = "us:9092", target: str = "eu:9092") -> str:
    """Make the text of a flow file; ``more`` are further lines."""
    return (
        f"name: {name}\n"
        f'source: {{alias: us, settings: {{bootstrap.servers: "{source}"}}}}\n'
        f'target: {{alias: eu, settings: {{bootstrap.servers: "{target}"}}}}\n'
        f"topics: [{name}]\n"
        f"{more}"
    )
