"""What the demo prints at its end, as text: records by month and partition, and both clusters side by side."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_mm2.local.demo.log import PartitionContent, TopicContent


def months_table(topic: str, content: TopicContent) -> str:
    """Give a table of the records of a topic, by month of their timestamp and by partition."""
    partitions = sorted(content)
    months = sorted({month for partition in content.values() for month in partition.months})
    head = [topic, *(f"partition {partition}" for partition in partitions), "records"]
    rows = [
        [month, *(_count(content[partition].months[month]) for partition in partitions), _count(_of(content, month))]
        for month in months
    ]
    total = ["all", *(_count(content[partition].records) for partition in partitions), _count(records(content))]
    return table([head, *rows, total])


def comparison_table(source: TopicContent, target: TopicContent) -> str:
    """Give a table with count and digest of each partition on both sides."""
    head = ["partition", "source", "target", "digest on source", "digest on target", ""]
    rows = [head]
    for partition in sorted(source.keys() | target.keys()):
        left = source.get(partition, PartitionContent())
        right = target.get(partition, PartitionContent())
        verdict = "same" if same(left, right) else "DIFFERENT"
        rows.append(
            [
                str(partition),
                _count(left.records),
                _count(right.records),
                left.fingerprint,
                right.fingerprint,
                verdict,
            ]
        )
    return table(rows)


def same(left: PartitionContent, right: PartitionContent) -> bool:
    """Tell whether two partitions hold the same records in the same order."""
    return left.records == right.records and left.digest.digest() == right.digest.digest()


def all_same(source: TopicContent, target: TopicContent) -> bool:
    """Tell whether two topics have the same partitions, each with the same records in the same order."""
    return source.keys() == target.keys() and all(same(source[partition], target[partition]) for partition in source)


def records(content: TopicContent) -> int:
    """Count the records of a topic."""
    return sum(partition.records for partition in content.values())


def table(rows: Sequence[Sequence[str]]) -> str:
    """Align columns: the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _of(content: TopicContent, month: str) -> int:
    return sum(partition.months[month] for partition in content.values())


def _count(number: int) -> str:
    return f"{number:,}"
