"""Records that are older than their target topic keeps any: they would be deleted soon after they are copied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from airflow_provider_mm2.mirror.clusters.ports import ClusterReader
from airflow_provider_mm2.mirror.interval.carried import TIMESTAMP_TYPE, Settings
from airflow_provider_mm2.mirror.model import TopicPartition

DAY_MS = 24 * 3600 * 1000


def retention_ms(settings: Settings) -> int | None:
    """How long a topic keeps a record by the time that it came with; None: for ever, by its key, by its arrival."""
    found = {name: setting.value or "" for name, setting in settings.items()}
    by_key = "delete" not in found.get("cleanup.policy", "delete")
    by_arrival = found.get(TIMESTAMP_TYPE) == "LogAppendTime"
    kept = int(found.get("retention.ms") or -1)
    return None if by_key or by_arrival or kept < 0 else kept


def retention_warnings(
    source: ClusterReader,
    retentions: Mapping[str, int | None],
    progress: Mapping[TopicPartition, int | None],
    now_ms: int,
) -> Iterator[str]:
    """One warning a topic whose next records are older than the target topic keeps them.

    The source's index by time tells it, one request for each length of time: no record is read.

    :param retentions: by source topic, what its target topic keeps.
    :param progress: next offset to copy of each source partition; None: the log's start.
    """
    old = _old_offsets(source, retentions, progress, now_ms)
    for topic in sorted({part.topic for part in old}):
        offsets = sum(count for part, count in old.items() if part.topic == topic)
        kept = retentions[topic] or 0
        yield (
            f"about {offsets} records to be copied of {topic!r} are older than its target topic keeps them "
            f"(retention.ms={kept}, {kept / DAY_MS:.3g} days): they will be deleted there; raise retention.ms on the "
            "target topic first if they are needed"
        )


def _old_offsets(
    source: ClusterReader,
    retentions: Mapping[str, int | None],
    progress: Mapping[TopicPartition, int | None],
    now_ms: int,
) -> dict[TopicPartition, int]:
    """Offsets between progress and the first record that is young enough, where there are any."""
    young: dict[TopicPartition, int] = {}
    since = {topic: now_ms - kept for topic, kept in retentions.items() if kept is not None and kept < now_ms}
    timed = [part for part in progress if part.topic in since]
    for time_ms in sorted(set(since.values())):
        found = source.offsets_at({part: time_ms for part in timed if since[part.topic] == time_ms})
        young.update({part: offset for part, offset in found.items() if offset is not None})
    unclear = [part for part in timed if _may_be_old(progress[part], young.get(part))]
    logs = source.log_offsets(unclear)
    counts = {
        part: min(young.get(part, log.stable), log.stable) - max(progress[part] or 0, log.start)
        for part, log in logs.items()
    }
    return {part: count for part, count in counts.items() if count > 0}


def _may_be_old(progress: int | None, young: int | None) -> bool:
    return progress is None or young is None or progress < young


def partitions_of(topics: Iterable[tuple[str, int]]) -> Iterator[TopicPartition]:
    """Every partition of topics, given with their counts."""
    for topic, count in topics:
        yield from (TopicPartition(topic, number) for number in range(count))
