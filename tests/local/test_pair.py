"""A pair in a folder: several processes, stale and broken state, the life of its owner."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.errors import FolderNotOurs, FolderUnusable, NotStarted, PairDiffers
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.local.wait import poll

START = "import sys; from pathlib import Path; from airflow_provider_mm2.local.pair import LocalPair; "
START_PAIR = f"{START} print(LocalPair(Path(sys.argv[1])).start().addresses)"
START_GUARDED = (
    f"{START} from airflow_provider_mm2.local.guard import guard_folder; guard_folder(Path(sys.argv[1]));"
    "LocalPair(Path(sys.argv[1]) / 'pair').start(); print('ready', flush=True); sys.stdin.read()"
)


def topics(pair: LocalPair) -> list[set[str]]:
    return [
        set(AdminClient({**cluster.client_settings, "log_level": 0}).list_topics(timeout=10).topics)
        for cluster in pair.clusters
    ]


def create(pair: LocalPair, topic: str) -> None:
    for cluster in pair.clusters:
        client = AdminClient({**cluster.client_settings})
        client.create_topics([NewTopic(topic, 1)])[topic].result()


def test_addresses_before_the_start(tmp_path: Path) -> None:
    """A pair that was never started has no addresses, and says so when asked for one."""
    pair = LocalPair(tmp_path)
    assert pair.addresses == {}
    with pytest.raises(NotStarted, match="source"):
        _ = pair.source.bootstrap


@pytest.mark.parametrize("action", ["start", "stop", "delete"])
def test_folder_of_somebody_else(tmp_path: Path, action: str) -> None:
    """A folder with other files in it is refused and stays as it is."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "precious.py").touch()
    with pytest.raises(FolderNotOurs, match="source"):
        getattr(LocalPair(tmp_path), action)()
    assert [str(each.relative_to(tmp_path)) for each in sorted(tmp_path.rglob("*"))] == ["source", "source/precious.py"]


def test_folder_with_a_comma(tmp_path: Path) -> None:
    """A folder whose name Kafka would split in two is refused before anything is written."""
    with pytest.raises(FolderUnusable, match="a,b"):
        LocalPair(tmp_path / "a,b")
    assert list(tmp_path.iterdir()) == []


def test_cut_pair_file_counts_as_none(tmp_path: Path) -> None:
    """A pair file that is cut is read as no pair, and changes win over it."""
    (tmp_path / "pair.json").write_text('{"brokers": 3, "secu')
    assert LocalPair.open(tmp_path).source.spec.brokers == 1
    assert LocalPair.open(tmp_path, brokers=5).target.spec.brokers == 5


@pytest.mark.broker
def test_two_starts_at_once(kafka_folder: Path) -> None:
    """Two processes that start the same pair at the same time give the same addresses of the same two brokers."""
    command = [sys.executable, "-c", START_PAIR, str(kafka_folder)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    answers = [each.communicate(timeout=120)[0] for each in both]
    assert [each.returncode for each in both] == [0, 0]
    assert answers[0] == answers[1]
    assert len(processes.find(kafka_folder)) == 2


@pytest.mark.broker
def test_start_killed_half_way(kafka_folder: Path) -> None:
    """When a start is killed while its brokers come up, the next start finishes it."""
    command = [sys.executable, "-c", START_PAIR, str(kafka_folder)]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    assert poll(lambda: processes.find(kafka_folder), timeout_s=60)
    first.kill()
    first.wait()
    pair = LocalPair(kafka_folder).start()
    assert len(topics(pair)) == 2
    assert len(processes.find(kafka_folder)) == 2


@pytest.mark.broker
def test_crash_and_broken_state(kafka_folder: Path) -> None:
    """After a crash that also cut the state files, a start brings back both clusters with their topics."""
    pair = LocalPair(kafka_folder).start()
    create(pair, "kept")
    before = [path.read_text() for path in sorted(kafka_folder.glob("*/broker-0/formatted"))]
    pair.source.kill()
    for state in [kafka_folder / "pair.json", *kafka_folder.glob("*/cluster.json")]:
        state.write_text(state.read_text()[:20])
    pair = LocalPair.open(kafka_folder).start()
    assert ["kept" in each for each in topics(pair)] == [True, True]
    assert [path.read_text() for path in sorted(kafka_folder.glob("*/broker-0/formatted"))] == before
    assert len(processes.find(kafka_folder)) == 2


@pytest.mark.broker
def test_other_settings(kafka_folder: Path) -> None:
    """A running pair is not started with other settings; stopped, it takes them, but for the number of brokers."""
    pair = LocalPair(kafka_folder).start()
    with pytest.raises(PairDiffers, match="source_properties"):
        LocalPair(kafka_folder, source_properties={"num.partitions": "3"}).start()
    assert len(processes.find(kafka_folder)) == 2
    assert len(pair.stop()) == 2
    with pytest.raises(PairDiffers, match="brokers 1, and brokers 3"):
        LocalPair(kafka_folder, brokers=3).start()
    changed = LocalPair(kafka_folder, security="sasl_plaintext").start()
    assert changed.addresses["target"]["sasl.username"] == "mm2"
    assert len(topics(changed)) == 2
    assert json.loads((kafka_folder / "pair.json").read_text())["security"] == "sasl_plaintext"


@pytest.mark.broker
def test_guarded_brokers_end_with_their_owner(kafka_folder: Path) -> None:
    """When the owner of a guarded folder gets SIGKILL, its brokers end too."""
    command = [sys.executable, "-c", START_GUARDED, str(kafka_folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"ready\n"
        assert len(processes.find(kafka_folder)) == 2
        owner.send_signal(signal.SIGKILL)
        assert poll(lambda: not processes.find(kafka_folder), timeout_s=20)
