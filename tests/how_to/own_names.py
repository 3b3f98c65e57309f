"""Names of a user's own on the target, as docs/how-to/topics.md shows them."""

from __future__ import annotations


class SuffixPolicy:
    """``orders`` of the cluster ``us`` is ``orders.us`` on the target."""

    def __init__(self, *, source_alias: str, separator: str) -> None:
        self.separator = separator

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        return f"{topic}{self.separator}{source_alias}"

    def topic_source(self, topic: str) -> str | None:
        name, _, alias = topic.rpartition(self.separator)
        return alias if name else None

    def upstream_topic(self, topic: str) -> str | None:
        return topic.rpartition(self.separator)[0] or None
