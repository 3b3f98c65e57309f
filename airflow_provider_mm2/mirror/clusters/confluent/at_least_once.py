"""Without transactions: the data first, each delivery checked, then the ledger, then the progress group.

The order decides what a kill leaves. After the data: records that nobody has counted, which the next attempt copies
again. After the ledger: a progress group that lags behind it, which the next attempt sets right. The other way round a
kill would leave progress without records.

Nothing fences an attempt that slept while another one went on. The lease keeps them apart. Behind it, before each write
of the ledger, its end and the gate's must be where this attempt left them, and the lease is kept between that look and
the write. What still slips through slept in just that moment, and the ledger's reader passes it over
(``state/unfenced.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_provider_mm2.mirror.clusters.config import plain_producer_settings
from airflow_provider_mm2.mirror.clusters.confluent.batch import Run
from airflow_provider_mm2.mirror.clusters.confluent.plain import PlainProducer
from airflow_provider_mm2.mirror.clusters.confluent.plain_writer import PlainStateWriter, await_visible
from airflow_provider_mm2.mirror.clusters.confluent.sending import Offsets
from airflow_provider_mm2.mirror.clusters.confluent.transaction import State
from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import MirrorError, Overtaken
from airflow_provider_mm2.mirror.group_model import GroupOffsets
from airflow_provider_mm2.mirror.model import CopierSettings, TopicPartition
from airflow_provider_mm2.mirror.state_model import StateRecord

if TYPE_CHECKING:
    from airflow_provider_mm2.mirror.clusters.confluent.cluster import ConfluentCluster


class AtLeastOnce(PlainProducer):
    """See :class:`airflow_provider_mm2.mirror.clusters.confluent.sending.Sending`."""

    def __init__(self, target: ConfluentCluster, settings: CopierSettings) -> None:
        self._writer = PlainStateWriter(
            admin=target.admin, writer=settings.transactional_id, settings=plain_producer_settings(target.settings)
        )
        super().__init__(
            alias=target.alias,
            writer=settings.transactional_id,
            watch=target.admin.watch,
            settings=plain_producer_settings(target.settings, batch_bytes=settings.batch_bytes),
        )
        self._target = target
        self._group = settings.progress_group
        self._watched = settings.watched
        self._ends: dict[TopicPartition, int] = {}
        self._state = State.NEW
        self._records: Sequence[StateRecord] = ()
        self._offsets: Offsets = {}

    def fence(self, tick: Tick) -> None:
        """Step 2: there is nothing to fence with. Note where the state ends, before it is read."""
        self._expect(State.NEW)
        tick()
        self._ends = self._target.admin.log_ends(self._watched) if self._watched else {}
        self._state = State.READY

    def begin(self) -> None:
        """Step 5."""
        self._expect(State.READY)
        self._state = State.OPEN

    def add(self, records: Sequence[StateRecord], progress: Offsets, tick: Tick) -> None:
        """Step 7: nothing is written yet."""
        self._expect(State.OPEN)
        tick()
        self._records, self._offsets = records, progress

    def commit(self, tick: Tick) -> None:
        """Step 8, first half: the ledger, turn by turn, then the progress group."""
        self._expect(State.OPEN)
        self._check_unmoved(tick)
        self._writer.write(self._records, tick)  # it keeps the lease before each turn
        own = {part: end for part, end in self._writer.ends.items() if part in self._ends}
        self._ends |= {part: end for part, end in own.items() if self._watched[part] is None}
        tick()
        answer = self._target.commit_groups({self._group: GroupOffsets(offsets=self._offsets)}, tick)[self._group]
        refused = [answer] if isinstance(answer, MirrorError) else list(answer.values())
        if refused:
            raise refused[0]
        self._state = State.READY

    def _check_unmoved(self, tick: Tick) -> None:
        """Look whether the ledger and the flow record are as this attempt left them.

        :raises Overtaken: somebody wrote to them, so another attempt is at work or the flow was changed.
        """
        found = self._target.admin.log_ends(self._watched) if self._watched else {}
        for part, end in found.items():
            left_at, key = self._ends[part], self._watched[part]
            if end == left_at:
                continue
            if key is None:
                raise Overtaken(writer=self.id, what=f"{part} ends at {end}, and this attempt left it at {left_at}")
            for record in self._target.read_state(part, tick, start=left_at):
                if record.key == key:
                    raise Overtaken(writer=self.id, what=f"{key.decode()} in {part} was written at {record.offset}")
            self._ends[part] = end

    def see(self, progress: Offsets, mapped_ends: Offsets, tick: Tick) -> None:
        """Step 8, second half."""
        committed = self._target.progress(self._group).committed(list(progress), tick)
        for part, offset in progress.items():
            if committed.get(part) != offset:
                what = f"the progress of {part} is {committed.get(part)}, and this attempt committed {offset}"
                raise Overtaken(writer=self.id, what=what)
        await_visible(self._target.admin, mapped_ends, tick)

    def abort(self) -> None:
        """End the attempt: what is queued is not sent any more."""
        self._state = State.ENDED
        self._writer.close()
        self.drop()

    def pierced(self, source: TopicPartition, target: TopicPartition, run: Run) -> MirrorError:
        """Another attempt's last records or a stranger's lie among ours; which of them are ours cannot be told."""
        start, end = run.span
        return self.undelivered(
            f"{end - start} records lie in [{start}, {end}) of {target} where {run.count} were sent"
        )

    def _expect(self, state: State) -> None:
        if self._state is not state:
            raise RuntimeError(f"{self.id}: {self._state.value} where {state.value} is needed")
