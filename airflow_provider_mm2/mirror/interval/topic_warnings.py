"""What will not stop a run now and may hurt later: settings, replicas and retention of the target's topics."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from airflow_provider_mm2.mirror.clusters import naming
from airflow_provider_mm2.mirror.clusters.ports import ClusterPair
from airflow_provider_mm2.mirror.interval.carried import TIMESTAMP_TYPE, Settings
from airflow_provider_mm2.mirror.interval.replicas import replica_warnings
from airflow_provider_mm2.mirror.interval.retention import partitions_of, retention_ms, retention_warnings
from airflow_provider_mm2.mirror.interval.survey import Survey
from airflow_provider_mm2.mirror.model import TopicPartition


def topic_warnings(survey: Survey, replicas: Mapping[str, int], settings: Mapping[str, Settings]) -> Iterator[str]:
    """All that follows from names, settings and replicas.

    :param replicas: by target topic, as far as it is there.
    :param settings: likewise, the effective settings as the run will find them.
    """
    yield from survey.notes
    stays = "its progress stays until mm2 forget"
    for name in survey.gone:
        yield f"topic {name!r} was mirrored and is not on the source any more; {stays}"
    for name in sorted({part.topic for part in survey.ledger} & survey.selection.left_out.keys()):
        yield f"topic {name!r} was mirrored and is left out now ({survey.selection.left_out[name]}); {stays}"
    yield from _renamed(survey)
    for name, source in survey.source_settings.items():
        target_name = survey.selection.topics[name]
        target = settings.get(target_name, {})
        largest, takes = (number_of(side, "max.message.bytes") for side in (source, target))
        if largest is not None and takes is not None and takes < largest:
            yield (
                f"{target_name!r} takes records up to {takes} bytes (max.message.bytes), and its "
                f"source {name!r} up to {largest}: a larger one would stop the mirror"
            )
        stamp = target.get(TIMESTAMP_TYPE)
        if stamp is not None and stamp.value == "LogAppendTime":
            yield (
                f"{target_name!r} stamps records itself (message.timestamp.type=LogAppendTime): "
                "timestamps will not be those of the source"
            )
    yield from replica_warnings(survey.selection.topics, survey.source_topics, replicas)


def _renamed(survey: Survey) -> Iterator[str]:
    for name, target_name in survey.selection.topics.items():
        is_renamed = survey.record.policy == "identity" and target_name != name
        if is_renamed and name != naming.HEARTBEATS_TOPIC:
            yield (
                f"{name!r} becomes {target_name!r} although names are kept: it ends with 'heartbeats', as "
                "MirrorMaker 2's own topics do, and gets the name that it would give"
            )


def old_record_warnings(pair: ClusterPair, survey: Survey, settings: Mapping[str, Settings]) -> Iterator[str]:
    """Records that are to be copied and that the target would not keep.

    :param settings: effective settings of the target topics as the run will find them.
    """
    retentions = {name: retention_ms(settings.get(survey.selection.topics[name], {})) for name in survey.source_topics}
    progress: dict[TopicPartition, int | None] = {}
    for part in partitions_of((name, info.partitions) for name, info in survey.source_topics.items()):
        ledger = survey.ledger.get(part)
        progress[part] = None if ledger is None else ledger.latest.next_offset
    return retention_warnings(pair.source, retentions, progress, int(time.time() * 1000))


def number_of(settings: Settings, name: str) -> int | None:
    """A setting's value as a number."""
    setting = settings.get(name)
    return int(setting.value) if setting is not None and setting.value else None
