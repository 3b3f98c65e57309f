"""``python -m tests.bench.offset_map``: reading a large offset map and answering many groups by it.

A flow with 10,000 segments a partition answers 1,000 groups on 50 partitions; seconds and peak memory are printed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence

from airflow_provider_mm2.mirror.clusters.naming import ledger_topic
from airflow_provider_mm2.mirror.group_model import GroupOffsets
from airflow_provider_mm2.mirror.model import LogRecord, Segment
from airflow_provider_mm2.mirror.offsets.offset_map import OffsetMap
from airflow_provider_mm2.mirror.offsets.positions import Mirror, locate
from airflow_provider_mm2.mirror.offsets.translate import Policy
from airflow_provider_mm2.mirror.state.ledger import decode_ledger, encode_key, encode_value, split_segments
from airflow_provider_mm2.mirror.state_model import LedgerEntry
from tests.bench.children import peak_bytes


def ledger_records(partition: int, segments: int, chance: random.Random) -> Iterator[LogRecord]:
    """A partition's ledger as it stands in its topic, with holes on both sides between segments."""
    made: list[Segment] = []
    source = target = 0
    for _ in range(segments):
        source, target = source + chance.randrange(1, 5), target + 1
        count = chance.randrange(1, 500)
        made.append(Segment(source_start=source, target_start=target, count=count))
        source, target = source + count, target + count
    first = 0
    for number, some in enumerate(split_segments(made, 0)):
        entry = LedgerEntry(
            generation=1,
            source_topic_id="S",
            topic="orders",
            partition=partition,
            first=first,
            segments=some,
            next_offset=some[-1].source_end,
            target_topic="us.orders",
            target_topic_id="T",
            target_end=some[-1].target_end + 1,
            source_cluster_id="A",
            leader_epoch=0,
            records=sum(segment.count for segment in some),
            through_ms=0,
            sequence=number,
        )
        first = entry.next_offset
        yield LogRecord(offset=number, key=encode_key(entry), value=encode_value(entry))


def main(arguments: Sequence[str] | None = None) -> int:
    """Make, read, answer, and print what it took."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.offset_map", description=__doc__)
    parser.add_argument("--partitions", type=int, default=50)
    parser.add_argument("--segments", type=int, default=10_000, help="of each partition")
    parser.add_argument("--groups", type=int, default=1_000)
    options = parser.parse_args(arguments)
    chance = random.Random(1)  # noqa: S311 - positions to look up, not a secret
    records = [
        found for number in range(options.partitions) for found in ledger_records(number, options.segments, chance)
    ]
    began = time.monotonic()
    ledgers = decode_ledger(ledger_topic("bench"), 0, records)
    maps = {part: OffsetMap.of(ledger) for part, ledger in ledgers.items()}
    del ledgers
    read_s = time.monotonic() - began
    mirror = Mirror(
        maps=maps,
        log_starts={found.target: 0 for found in maps.values()},
        topics={"orders": ("us.orders", options.partitions)},
    )
    began, answered = time.monotonic(), 0
    for number in range(options.groups):
        offsets = {part: chance.randrange(found.source_end + 1) for part, found in maps.items()}
        answered += len(locate(f"group-{number}", GroupOffsets(offsets=offsets), mirror, Policy()))
    answer_s = time.monotonic() - began
    sys.stdout.write(
        f"{options.partitions} partitions of {options.segments:,} segments read in {read_s:.2f} s; "
        f"{answered:,} positions of {options.groups:,} groups answered in {answer_s:.2f} s; "
        f"peak {peak_bytes() / 1e6:.0f} MB\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
