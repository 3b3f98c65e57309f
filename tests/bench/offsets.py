"""``python -m tests.bench.offsets``: how near translated group offsets come, ours and MirrorMaker 2's.

Groups at random positions over three topics. Both mirror the same topics from the same source to the same target, and
both are asked as an application would ask: by the newest checkpoint.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from confluent_kafka.admin import AdminClient

from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.mirror.clusters.confluent.client import connect
from airflow_provider_mm2.mirror.flow import MirrorFlow
from airflow_provider_mm2.mirror.interval.bounds import RunBounds
from airflow_provider_mm2.mirror.model import TopicPartition
from airflow_provider_mm2.mirror.run import run_mirror
from tests.bench.clusters import running
from tests.bench.offset_report import Answer, Answers, MeasuredOffsets, Who
from tests.bench.offset_topics import BothSides, Shape, make_topic
from tests.cases.published import newest_checkpoints
from tests.contract.lab import Side
from tests.contract.real_eyes import end_of
from tests.contract.real_lab import RealLab
from tests.java.mirror_maker import await_peer, dedicated_settings, mirror_maker

FULL: dict[str, object] = {"groups": 50, "records": 20_000, "in_one_transaction": 100, "checkpoints_s": 60}
QUICK: dict[str, object] = {"groups": 10, "records": 300, "in_one_transaction": 10, "checkpoints_s": 1}

Positions = Mapping[str, Mapping[TopicPartition, int]]
"""By group: next source offset to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One pair with its topics and groups; ``prefix`` begins the name of each."""

    pair: LocalPair
    lab: RealLab
    prefix: str
    options: argparse.Namespace

    def run(self) -> tuple[Answers, ...]:
        """Mirror the topics both ways, and judge what each says of the groups."""
        parts = {shape: TopicPartition(f"{self.prefix}-{shape.value}", 0) for shape in Shape}
        for shape, part in parts.items():
            _report(f"writing {part.topic}")
            self._make(shape, part)
        groups = self._place_groups(list(parts.values()))
        _report("mirroring")
        self._mirror(list(parts.values()), groups)
        ours = self._answers(Who.OURS, parts, groups)
        _report("mirroring with MirrorMaker 2")
        self._mirror_by_peer(list(parts.values()))
        theirs = self._answers(Who.MM2, parts, groups)
        return tuple(answers for both in zip(ours, theirs, strict=True) for answers in both)

    def _make(self, shape: Shape, part: TopicPartition) -> None:
        source = self.pair.source.client_settings
        records, in_one = self.options.records, self.options.in_one_transaction
        make_topic(self.lab, source, part.topic, shape, partitions=1, records=records, in_one_transaction=in_one)

    def _place_groups(self, parts: Sequence[TopicPartition]) -> Positions:
        """Commit a random position for each group on each partition, from the log's start to its end."""
        dice = random.Random(self.options.seed)  # noqa: S311
        admin = AdminClient({**self.pair.source.client_settings})
        ends = {part: end_of(admin, part) for part in parts}
        groups = {
            f"{self.prefix}-group-{number}": {part: dice.randrange(end + 1) for part, end in ends.items()}
            for number in range(self.options.groups)
        }
        for name, offsets in groups.items():
            self.lab.commit_offsets(Side.SOURCE, name, offsets)
        return groups

    def _alias(self, who: Who) -> str:
        return f"{self.prefix}-{who.value}"

    def _mirror(self, parts: Sequence[TopicPartition], groups: Positions) -> None:
        flow = MirrorFlow.model_validate(
            {
                "name": self.prefix,
                "source": {"alias": self._alias(Who.OURS), "settings": self.pair.source.client_settings},
                "target": {"alias": "target", "settings": self.pair.target.client_settings},
                "topics": [re.escape(part.topic) for part in parts],
                "groups": list(groups),
                "cut": "end",
            }
        )
        pair = connect(flow)
        try:
            run_mirror(flow, pair, bounds=RunBounds(until=None, since=None, started=datetime.now(timezone.utc)))
        finally:
            pair.close()

    def _mirror_by_peer(self, parts: Sequence[TopicPartition]) -> None:
        """Let MirrorMaker 2 copy all, and wait until its checkpoints have not moved for two of its intervals."""
        alias = self._alias(Who.MM2)
        settings = {
            **dedicated_settings(self.pair, alias, ",".join(part.topic for part in parts)),
            f"{alias}->target.groups": f"{self.prefix}-group-.*",
            "emit.checkpoints.interval.seconds": str(self.options.checkpoints_s),
            "emit.heartbeats.enabled": "false",
            "heartbeats.replication.enabled": "false",
        }
        left = list(parts)
        with mirror_maker(self.pair.folder / alias, settings) as peer:
            while left:
                await_peer(peer, lambda: self._both(Who.MM2, left[0]).is_whole)
                left.pop(0)
            quiet = _Quiet(2 * self.options.checkpoints_s + 3)
            await_peer(peer, lambda: quiet.since(self._published(alias)))

    def _published(self, alias: str) -> int:
        topic = TopicPartition(f"{alias}.checkpoints.internal", 0)
        return end_of(AdminClient({**self.pair.target.client_settings}), topic)

    def _both(self, who: Who, part: TopicPartition) -> BothSides:
        there = TopicPartition(f"{self._alias(who)}.{part.topic}", part.partition)
        admin = AdminClient({**self.pair.target.client_settings})
        if there.topic not in admin.list_topics(timeout=30).topics:
            return BothSides(source={0: b"nothing is there yet"}, target={})
        return BothSides.of(self.pair.source.client_settings, self.pair.target.client_settings, part, there)

    def _answers(self, who: Who, parts: Mapping[Shape, TopicPartition], groups: Positions) -> Iterator[Answers]:
        """What each group's checkpoints are worth, topic by topic."""
        alias, target = self._alias(who), self.pair.target.client_settings
        published = {name: newest_checkpoints(target, alias, name) for name in groups}
        for shape, part in parts.items():
            both = self._both(who, part)
            there = TopicPartition(f"{alias}.{part.topic}", part.partition)
            yield Answers(
                who=who,
                shape=shape,
                is_whole=both.is_whole,
                answers=tuple(
                    Answer.of(both, offsets[part], published[name].get(there)) for name, offsets in groups.items()
                ),
            )


class _Quiet:
    """Whether a number has stayed the same for some seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._number, self._since = -1, time.monotonic()

    def since(self, number: int) -> bool:
        """Look at it once more."""
        if number != self._number:
            self._number, self._since = number, time.monotonic()
        return time.monotonic() - self._since > self._seconds


def main(arguments: Sequence[str] | None = None, *, pair: LocalPair | None = None) -> int:
    """Measure what the options say.

    :param pair: a pair that runs; None starts one for the measurement.
    """
    options = _options(arguments)
    began, load_average = time.monotonic(), os.getloadavg()[0]
    with running(pair, options.dir) as (clusters, _):
        lab = RealLab(clusters.addresses)
        try:
            answers = Measurement(pair=clusters, lab=lab, prefix=f"offsets-{lab.new_name()}", options=options).run()
        finally:
            lab.close()
    seconds = time.monotonic() - began
    measured = MeasuredOffsets(answers=answers, seconds=seconds, load_average=load_average)
    sys.stdout.write("\n".join(measured.lines()) + "\n")
    if options.json_out:
        options.json_out.write_text(json.dumps(measured.to_json(), indent=2) + "\n", encoding="utf-8")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.offsets", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few groups, small topics, and checkpoints each second")
    parser.add_argument("--groups", type=int, help="each at a random position on every topic")
    parser.add_argument("--records", type=int, help="written to each topic")
    parser.add_argument("--in-one-transaction", type=int, help="records of one transaction")
    parser.add_argument("--checkpoints-s", type=int, help="how often MirrorMaker 2 looks at groups; 60 is its default")
    parser.add_argument("--seed", type=int, default=7, help="of the random positions")
    parser.add_argument("--dir", type=Path, help="where the clusters keep their data")
    parser.add_argument("--json-out", type=Path, help="write all figures to this file")
    parser.set_defaults(**FULL)
    if parser.parse_args(arguments).quick:
        parser.set_defaults(**QUICK)
    return parser.parse_args(arguments)


def _report(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
