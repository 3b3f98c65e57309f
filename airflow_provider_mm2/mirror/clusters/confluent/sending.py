"""How a chunk becomes part of the mirror: what the copy engine needs, and the two ways to do it.

``exactly_once``: data, ledger and progress in one transaction. ``at_least_once``: data first, every delivery checked,
then the ledger, then the progress group. Steps are those of ``interval/replicate.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from confluent_kafka import KafkaError, KafkaException, Producer

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import MirrorError
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.clusters.confluent.batch import Run

Offsets = Mapping[TopicPartition, int]


class Sending(Protocol):
    """One attempt's way to the target.

    ``delivered``: delivery callback for records of which nothing but a failure is wanted; None: another call tells.
    """

    id: str
    producer: Producer
    failed_code: int | None
    delivered: Callable[[Any, Any], object] | None

    def fence(self, tick: Tick) -> None:
        """Step 2."""

    def begin(self) -> None:
        """Step 5."""

    def serve(self, timeout_s: float) -> None:
        """Serve delivery callbacks.

        :raises MirrorError: the attempt has failed.
        """

    def check(self) -> None:
        """Ask whether the attempt has failed; for who waits for deliveries."""

    def flush(self, tick: Tick) -> None:
        """Step 6: wait until all of the chunk was taken."""

    def add(self, records: Sequence[StateRecord], progress: Offsets, tick: Tick) -> None:
        """Step 7."""

    def commit(self, tick: Tick) -> None:
        """Step 8, first half."""

    def see(self, progress: Offsets, mapped_ends: Offsets, tick: Tick) -> None:
        """Step 8, second half."""

    def abort(self) -> None:
        """End the attempt."""

    def failure(self, error: KafkaException | KafkaError, operation: str) -> MirrorError:
        """Our error for a failed call."""

    def undelivered(self, problem: str) -> MirrorError:
        """Our error for a delivery that failed, or of which nothing is known."""

    def pierced(self, source: TopicPartition, target: TopicPartition, run: Run) -> MirrorError:
        """Our error for records of a run that are not side by side on the target."""
