"""Whole failovers on real clusters under load, through the command line, every record counted by the applications."""

from __future__ import annotations

import json
import threading
from datetime import datetime

import pytest
from typer.testing import CliRunner

from airflow_provider_mm2.cli.main import app
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.local.wait import poll
from tests.conftest import MakeCluster
from tests.proof.rig import process_of
from tests.recovery.applications import Writer, read_all, together
from tests.recovery.stage import PARTITIONS, MakeStage

pytestmark = pytest.mark.broker


@pytest.mark.parametrize("transactional", [False, True], ids=["plain", "transactional"])
def test_planned(pair: LocalPair, make_stage: MakeStage, *, transactional: bool) -> None:
    """Nothing is lost, nothing read again, nothing out of order: for a classic and a KIP-848 group."""
    stage = make_stage(pair.addresses["source"], pair.addresses["target"])
    stage.begin_groups()
    writer = Writer(stage.source, stage.topic, PARTITIONS, transactional=transactional).begin()
    readers = stage.readers(stage.source, stage.topic)
    for number in (1, 2):
        for reader in readers.values():
            reader.await_count(number * 300)
        stage.mm2("run")
    written = writer.end()
    before = {group: reader.end() for group, reader in readers.items()}
    preview = stage.mm2("failover")
    assert preview["state"] == "preview"
    assert "step 3 mirrors to the end first" in preview["warnings"][0]
    held = stage.mm2("failover", "--apply", "--quiet", "1")
    assert held["state"] == "awaiting approval"
    assert (held["known_missing"], [row["reread"] for row in held["groups"]]) == (0, [0] * 2 * PARTITIONS)
    done = stage.mm2("failover", "--resume", "--approve", held["plan_digest"])
    assert done["state"] == "closed"
    after = stage.readers(stage.target, stage.remote)
    for group, reader in after.items():
        reader.await_count(sum(map(len, written.values())) - sum(map(len, before[group].values())))
        assert together(before[group], reader.end()) == written, group
    refused = stage.mm2("run", code=4)
    assert refused["error"]["kind"] == "FlowFrozen"


def test_unplanned_in_the_midst_of_a_run(
    pair: LocalPair, make_cluster: MakeCluster, make_stage: MakeStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source dies in a run: nothing mirrored is lost or read again, and the loss is what was told."""
    source = make_cluster()
    stage = make_stage(source.client_settings, pair.addresses["target"], chunk={"seconds": 1, "bytes": 20_000})
    stage.begin_groups()
    writer = Writer(stage.source, stage.topic, PARTITIONS, pause_s=0.002).begin()
    readers = stage.readers(stage.source, stage.topic)
    for reader in readers.values():
        reader.await_count(600)
    before = {group: reader.end() for group, reader in readers.items()}
    stage.mm2("run")
    grown = writer.count + 3000
    assert poll(lambda: writer.count > grown, timeout_s=60)
    run = threading.Thread(target=lambda: CliRunner().invoke(app, ["run", str(stage.flow), "--json"]), daemon=True)
    run.start()
    process_of(source).kill()
    written = writer.end()
    report = stage.mm2("failover", "--unplanned", "--apply", "--yes")
    assert report["state"] == "closed"
    run.join(120)
    assert not run.is_alive()
    mirrored = read_all(stage.target, stage.remote, PARTITIONS)
    through = report["loss_window"].split()[3]
    for number in range(PARTITIONS):
        there, all_ = mirrored[number], written[number]
        assert there == list(range(len(there)))
        lost = [each for each in all_ if each not in set(there)]
        assert all(writer.stamps[number, each] >= _ms(through) for each in lost), through
    after = stage.readers(stage.target, stage.remote)
    for group, reader in after.items():
        reader.await_count(sum(map(len, mirrored.values())) - sum(map(len, before[group].values())))
        assert together(before[group], reader.end()) == mirrored, group


def _ms(moment: str) -> float:
    return datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp() * 1000


def test_source_that_does_not_resolve(pair: LocalPair, make_stage: MakeStage) -> None:
    """K22: an unplanned failover never opens a connection to the source."""
    stage = make_stage(pair.addresses["source"], pair.addresses["target"])
    stage.begin_groups()
    stage.mm2("run")
    document = json.loads(stage.flow.read_text("utf-8"))
    for address in ("nowhere.invalid:9092", "${MM2_NO_SUCH_VARIABLE}"):
        document["source"]["settings"] = {"bootstrap.servers": address}
        stage.flow.write_text(json.dumps(document), "utf-8")
        preview = stage.mm2("failover", "--unplanned")
        assert preview["state"] == "preview"
    assert stage.mm2("failover", "--unplanned", "--apply", "--yes")["state"] == "closed"
