"""Membership of a lock group: who owns the one partition of the flow's record topic holds the lock."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import OFFSET_END, Consumer, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from airflow_provider_mm2.mirror.clusters.config import Settings, member_settings
from airflow_provider_mm2.mirror.clusters.confluent.admin import Admin
from airflow_provider_mm2.mirror.clusters.confluent.failures import client_log, refusal
from airflow_provider_mm2.mirror.clusters.confluent.groups import lock_holder
from airflow_provider_mm2.mirror.errors import SettingRefused

SLICE_S = 0.02
"""A poll that is told of the lock goes on waiting all its time; a join takes a tenth of a second."""


class GroupMembership:
    """One member of a lock group (classic protocol, sticky: a newcomer never takes the lock away)."""

    def __init__(
        self, *, admin: Admin, settings: Settings, group: str, topic: str, owner: str, session_s: float
    ) -> None:
        self._admin = admin
        self._group = group
        self.held = False
        self.lost = False
        config: dict[str, Any] = {
            **member_settings(settings, group=group, owner=owner, session_s=session_s),
            "error_cb": admin.watch,
        }
        try:
            self._consumer: Consumer | None = Consumer(config, logger=client_log)
        except (KafkaException, ValueError, TypeError) as error:
            raise SettingRefused(alias=admin.alias, problem=refusal(error)) from error
        self._consumer.subscribe([topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked)

    def poll(self, timeout_s: float) -> None:
        """Serve the group protocol until the lock is given or taken; it is paused, so nothing but events comes."""
        deadline, before = time.monotonic() + timeout_s, (self.held, self.lost)
        while self._consumer is not None:
            self._consumer.poll(max(0.0, min(SLICE_S, deadline - time.monotonic())))
            if time.monotonic() >= deadline or (self.held, self.lost) != before:
                break
        self._admin.watch.raise_refused()

    def holder(self) -> str | None:
        """Who holds the lock, by client id and host."""
        return lock_holder(self._admin, self._group)

    def leave(self) -> None:
        """Leave the group, so that a successor need not wait for the session to end."""
        self.held = False  # before the client revokes, so that leaving is not taken for losing
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _assigned(self, consumer: Consumer, partitions: list[KafkaPartition]) -> None:
        placed = [KafkaPartition(part.topic, part.partition, OFFSET_END) for part in partitions]
        consumer.incremental_assign(placed)
        consumer.pause(placed)
        self.held = self.held or bool(partitions)

    def _revoked(self, consumer: Consumer, partitions: list[KafkaPartition]) -> None:
        consumer.incremental_unassign(partitions)
        if self.held and partitions:
            self.held, self.lost = False, True
