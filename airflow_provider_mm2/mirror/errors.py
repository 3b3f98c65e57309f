"""Every exception of the project, each with its facts as fields and a message in three parts.

An error says what was found (with numbers), the likely cause and the next move. ``retriable`` tells whether the
same call may succeed when it is made again without anybody changing anything; operators and the command line
decide by it alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(kw_only=True, eq=False)
class MirrorError(Exception):
    """Base of all errors; subclasses add facts as fields and three templates filled from them.

    ``exit_code``: what the command line ends with (2 bad settings, 3 worth a retry, 4 failed for good).
    """

    retriable: ClassVar[bool] = False
    exit_code: ClassVar[int] = 4
    found: ClassVar[str] = "something failed"
    likely_cause: ClassVar[str] = "unknown"
    next_move: ClassVar[str] = "read the log above this line"

    def __post_init__(self) -> None:
        """Give ``Exception`` the rendered text, so that tracebacks and ``repr`` show it."""
        super().__init__(str(self))

    @property
    def facts(self) -> dict[str, object]:
        """The fields of this error, as plain values."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    @property
    def first_line(self) -> str:
        """What was found, without cause and next move: for a line in a report."""
        return str(self).split("\n", 1)[0]

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the facts when an error crosses to another process."""
        return _made, (type(self), dict(vars(self)))

    def __str__(self) -> str:
        """Render the three parts on three lines."""
        facts = {name: _listed(fact) for name, fact in self.facts.items()}
        return (
            f"{self.found.format(**facts)}\n"
            f"  Likely cause: {self.likely_cause.format(**facts)}\n"
            f"  Next move: {self.next_move.format(**facts)}"
        )


def _made(kind: type[MirrorError], facts: dict[str, object]) -> MirrorError:
    return kind(**facts)


def _listed(fact: object) -> object:
    """Several names as people write them."""
    return ", ".join(map(str, fact)) or "none" if isinstance(fact, tuple) else fact


@dataclass(kw_only=True, eq=False)
class SettingsError(MirrorError):
    """The settings or arguments are wrong; nothing was contacted or written."""

    exit_code: ClassVar[int] = 2


@dataclass(kw_only=True, eq=False)
class RetriableError(MirrorError):
    """The same call may succeed later without a change."""

    retriable: ClassVar[bool] = True
    exit_code: ClassVar[int] = 3


# --- settings and arguments ---


@dataclass(kw_only=True, eq=False)
class FlowInvalid(SettingsError):
    """A flow file or mapping does not describe a flow; ``problems`` has one line each, with its place."""

    path: str
    problems: tuple[str, ...]
    found: ClassVar[str] = "{path} is not a valid flow:\n    {listed}"
    likely_cause: ClassVar[str] = "a misspelt key or a value of another kind than the key takes"
    next_move: ClassVar[str] = "correct the lines named; docs/flow.md lists every key with its default"

    @property
    def facts(self) -> dict[str, object]:
        """The fields, and the problems as a list for people."""
        return {**vars(self), "listed": "\n    ".join(self.problems)}


@dataclass(kw_only=True, eq=False)
class FlowNotFound(SettingsError):
    """No flow of that name or path."""

    name: str
    looked_in: str
    known: tuple[str, ...] = ()
    found: ClassVar[str] = "there is no flow {name!r} in {looked_in} (there: {known})"
    likely_cause: ClassVar[str] = "a misspelt name, or the folder of flows is another one"
    next_move: ClassVar[str] = "give the path of the file, or set MM2_FLOWS to the folder that holds it"


@dataclass(kw_only=True, eq=False)
class PolicyNotUsable(SettingsError):
    """A replication policy's class cannot be imported or made."""

    path: str
    problem: str
    found: ClassVar[str] = "the replication policy {path!r} cannot be used: {problem}"
    likely_cause: ClassVar[str] = (
        "the module is not installed here, or the class does not take source_alias= and separator="
    )
    next_move: ClassVar[str] = "install it beside the provider, or use 'default' or 'identity'"


@dataclass(kw_only=True, eq=False)
class VariableMissing(SettingsError):
    """A setting refers to an environment variable that is not there."""

    alias: str
    setting: str
    variable: str
    found: ClassVar[str] = "setting {setting!r} of cluster {alias!r} is ${{{variable}}}, and there is no such variable"
    likely_cause: ClassVar[str] = "the variable is set in another shell, worker or container than this one"
    next_move: ClassVar[str] = "export {variable} where this runs, or use an Airflow connection"


@dataclass(kw_only=True, eq=False)
class ConnectionMissing(SettingsError):
    """An Airflow connection that a flow names cannot be had."""

    connection: str
    problem: str
    found: ClassVar[str] = "the connection {connection!r} cannot be used: {problem}"
    likely_cause: ClassVar[str] = "it was never created here, or under another id"
    next_move: ClassVar[str] = (
        "create it (airflow connections add, or AIRFLOW_CONN_<ID> in the environment) with the librdkafka settings "
        "as its extra, beginning with bootstrap.servers"
    )


@dataclass(kw_only=True, eq=False)
class HttpConnectionUnusable(SettingsError):
    """An Airflow connection of type ``http`` that a flow names cannot be had."""

    connection: str
    problem: str
    found: ClassVar[str] = "the http connection {connection!r} cannot be used: {problem}"
    likely_cause: ClassVar[str] = "it was never created here, or is of another type"
    next_move: ClassVar[str] = (
        "create it (airflow connections add, or AIRFLOW_CONN_<ID> in the environment) with host, port, login and "
        "password; schema is http or https"
    )


@dataclass(kw_only=True, eq=False)
class SecretInFlow(SettingsError):
    """A flow used under Airflow holds a secret in plain text."""

    alias: str
    settings: tuple[str, ...]
    found: ClassVar[str] = "the flow holds secrets in plain text: {settings} of cluster {alias!r}"
    likely_cause: ClassVar[str] = "the settings were pasted from a client's configuration"
    next_move: ClassVar[str] = (
        "move them to an Airflow connection and name it with 'connection:', or write ${{NAME}} and set the variable "
        "on the workers"
    )


@dataclass(kw_only=True, eq=False)
class SettingRefused(SettingsError):
    """The client library refuses a setting, or it cannot work here."""

    alias: str
    problem: str
    found: ClassVar[str] = "the settings of cluster {alias!r} are refused: {problem}"
    likely_cause: ClassVar[str] = (
        "a Java client's key or value where librdkafka's is meant, or a file that is not there"
    )
    next_move: ClassVar[str] = "compare with librdkafka's CONFIGURATION.md and correct the settings or the connection"


@dataclass(kw_only=True, eq=False)
class RunsOnConnect(SettingsError):
    """A bounded run was asked for of a flow whose engine is Kafka Connect."""

    flow: str
    found: ClassVar[str] = "flow {flow!r} has engine: connect, so connectors mirror it, and no run does"
    likely_cause: ClassVar[str] = "a command, operator or DAG for bounded runs was given a flow of the other engine"
    next_move: ClassVar[str] = "its connectors are for `mm2 connect {flow}`, ConnectMirrorOperator, ConnectMirrorSensor"


@dataclass(kw_only=True, eq=False)
class BoundRefused(SettingsError):
    """An interval's end or start cannot be used."""

    bound: str
    problem: str
    found: ClassVar[str] = "the bound {bound} is refused: {problem}"
    likely_cause: ClassVar[str] = "a time without a zone, a sentinel such as -1, or a clock that is ahead"
    next_move: ClassVar[str] = "give a time with a zone between 1970 and now, such as 2026-01-31T00:00:00Z"


@dataclass(kw_only=True, eq=False)
class PlaceRefused(SettingsError):
    """Where a comparison is to begin or end is neither an offset nor a time."""

    place: str
    problem: str
    found: ClassVar[str] = "{place} is no place in a topic: {problem}"
    likely_cause: ClassVar[str] = "a negative number, a time without a zone, or a name"
    next_move: ClassVar[str] = "give a source offset such as 4711, or a time with a zone such as 2026-01-31T00:00:00Z"


@dataclass(kw_only=True, eq=False)
class IntervalMissing(SettingsError):
    """``strict`` is on, and the run has no interval of any width."""

    found: ClassVar[str] = "the flow is strict, and this run has no data interval of any width ({interval})"
    likely_cause: ClassVar[str] = (
        "a trigger timetable (Airflow 3's default for cron schedules unless [scheduler] create_cron_data_intervals "
        "is on) or a run started by hand"
    )
    next_move: ClassVar[str] = (
        "set dag.timetable: data_interval in the flow, or pass the end (and the start) as the operator's until= and "
        "since=, or --until and --since on the command line"
    )
    interval: str


@dataclass(kw_only=True, eq=False)
class IntervalOutOfOrder(RetriableError):
    """``strict`` is on, and an earlier interval has not been mirrored."""

    topic: str
    partition: int
    through: str
    since: str
    found: ClassVar[str] = (
        "{topic}-{partition} is mirrored through {through}, and this interval starts {since}: the time between them "
        "is missing"
    )
    likely_cause: ClassVar[str] = (
        "intervals run out of order, were skipped while the DAG was paused, or the timetable changed"
    )
    next_move: ClassVar[str] = (
        "run the missing interval first (airflow backfill create), or turn strict off: a run then starts at the "
        "recorded progress and covers the hole"
    )


@dataclass(kw_only=True, eq=False)
class IntervalOverlaps(MirrorError):
    """``strict`` is on, and part of the interval has been mirrored already."""

    topic: str
    partition: int
    through: str
    since: str
    until: str
    found: ClassVar[str] = (
        "{topic}-{partition} is mirrored through {through}, inside this interval ({since} to {until})"
    )
    likely_cause: ClassVar[str] = "a run with another end came between, for example by hand"
    next_move: ClassVar[str] = "pass since={through}, or turn strict off: a run then goes on at the recorded progress"


@dataclass(kw_only=True, eq=False)
class FilesInTheWay(SettingsError):
    """Files that were to be written exist already."""

    paths: tuple[str, ...]
    otherwise: str
    found: ClassVar[str] = "these files exist already: {paths}"
    likely_cause: ClassVar[str] = "the command was run here before, and the files may have been edited since"
    next_move: ClassVar[str] = "{otherwise}; nothing was written"


@dataclass(kw_only=True, eq=False)
class FileNotWritable(SettingsError):
    """A file that was asked for cannot be written."""

    path: str
    problem: str
    found: ClassVar[str] = "{path} cannot be written: {problem}"
    likely_cause: ClassVar[str] = "a directory that does not exist or may not be written to, or a full disk"
    next_move: ClassVar[str] = "give another path"


@dataclass(kw_only=True, eq=False)
class NotAHistory(SettingsError):
    """A file of earlier drills is something else."""

    path: str
    problem: str
    found: ClassVar[str] = "{path} is not a history of drills: {problem}"
    likely_cause: ClassVar[str] = "the path of another file; a history has one line of JSON for each drill"
    next_move: ClassVar[str] = "give the file that earlier drills wrote with --history, or a path where none is yet"


@dataclass(kw_only=True, eq=False)
class ImportRefused(SettingsError):
    """A configuration of MirrorMaker 2 cannot become flows; ``problems`` has one line each, with its place."""

    path: str
    problems: tuple[str, ...]
    found: ClassVar[str] = "{path} cannot be imported:\n    {listed}"
    likely_cause: ClassVar[str] = (
        "a key that MirrorMaker 2 itself refuses, or takes for something else than was meant, or not all of the files"
    )
    next_move: ClassVar[str] = "correct the lines named in a copy, and import that; nothing was written"

    @property
    def facts(self) -> dict[str, object]:
        """The fields, and the problems as a list for people."""
        return {**vars(self), "listed": "\n    ".join(self.problems)}


@dataclass(kw_only=True, eq=False)
class ImportUnreadable(SettingsError):
    """A file that was to be imported cannot be read at all."""

    path: str
    problem: str
    found: ClassVar[str] = "{path} cannot be read: {problem}"
    likely_cause: ClassVar[str] = "a misspelt path, a folder in place of a file, or a file that may not be read here"
    next_move: ClassVar[str] = "give the path of MirrorMaker 2's own file; nothing was written"


@dataclass(kw_only=True, eq=False)
class ShardUnknown(SettingsError):
    """A task was given a shard that the flow does not have."""

    shard: str
    shards: int
    found: ClassVar[str] = "there is no shard {shard}: the flow is recorded with {shards}, counted from 0"
    likely_cause: ClassVar[str] = "a hand-written DAG maps over other numbers than the plan task gives"
    next_move: ClassVar[str] = "map over the plan's output, or leave shard= out to mirror all shards in one task"


@dataclass(kw_only=True, eq=False)
class ConditionRefused(SettingsError):
    """What a sensor is to wait for cannot be meant."""

    argument: str
    problem: str
    found: ClassVar[str] = "the sensor's {argument} is refused: {problem}"
    likely_cause: ClassVar[str] = "a template that rendered to something else, or a value of another kind"
    next_move: ClassVar[str] = "compare with the sensor's documentation; docs/how-to/groups.md shows each of them"


@dataclass(kw_only=True, eq=False)
class ArgumentRefused(SettingsError):
    """An operator's argument cannot be meant."""

    argument: str
    problem: str
    found: ClassVar[str] = "the operator's {argument} is refused: {problem}"
    likely_cause: ClassVar[str] = "a template that rendered to something else, or a task before this one gave nothing"
    next_move: ClassVar[str] = (
        "compare with the operator's docstring; the task's rendered fields show what it was given"
    )


@dataclass(kw_only=True, eq=False)
class TasksFailed(MirrorError):
    """Tasks of a run before this one did not succeed, so the run must not look as if it had."""

    tasks: tuple[str, ...]
    found: ClassVar[str] = "not mirrored as a whole: {tasks}"
    likely_cause: ClassVar[str] = "see the log of the task that failed; what other shards have mirrored is safe"
    next_move: ClassVar[str] = "clear the failed task (with downstream), or wait for the next run, which covers it too"


@dataclass(kw_only=True, eq=False)
class OptionsDisagree(SettingsError):
    """Options of a command were given together that do not go together."""

    options: tuple[str, ...]
    problem: str
    found: ClassVar[str] = "{options} do not go together: {problem}"
    likely_cause: ClassVar[str] = "one of them was left over from another call"
    next_move: ClassVar[str] = "give one of them; --help lists what each does"


@dataclass(kw_only=True, eq=False)
class OptionMissing(SettingsError):
    """An option of a command was given without the one that it belongs to."""

    options: tuple[str, ...]
    problem: str
    missing: str
    found: ClassVar[str] = "{options} cannot stand without {missing}: {problem}"
    likely_cause: ClassVar[str] = "{missing} was forgotten"
    next_move: ClassVar[str] = "add {missing}, or leave {options} out"


# --- seeding ---


@dataclass(kw_only=True, eq=False)
class SeedUnreadable(SettingsError):
    """What progress was to be taken from is not there, or cannot be read."""

    seed: str
    problem: str
    cause: str
    found: ClassVar[str] = "progress cannot be taken from {seed!r}: {problem}"
    likely_cause: ClassVar[str] = "{cause}"
    next_move: ClassVar[str] = "correct it; docs/cli.md lists what --from takes. Nothing has been written"


@dataclass(kw_only=True, eq=False)
class SeedRefused(MirrorError):
    """A seed would lose or repeat records, or cannot be as asked; ``refused`` says so of each partition."""

    flow: str
    refused: tuple[str, ...]
    cause: str
    otherwise: str
    found: ClassVar[str] = "progress of flow {flow!r} was not set: {refused}"
    likely_cause: ClassVar[str] = "{cause}"
    next_move: ClassVar[str] = "look at it without --apply; {otherwise}. Nothing has been written"


@dataclass(kw_only=True, eq=False)
class SeedTaskRefused(SeedRefused):
    """The same of a task, which has arguments in place of options."""

    found: ClassVar[str] = "this task did not set progress of flow {flow!r}: {refused}"
    next_move: ClassVar[str] = "{otherwise}. Nothing has been written"


@dataclass(kw_only=True, eq=False)
class NothingToForget(SettingsError):
    """The flow has recorded nothing of a topic."""

    flow: str
    topics: tuple[str, ...]
    known: tuple[str, ...]
    found: ClassVar[str] = "flow {flow!r} has recorded nothing of {topics} (it has of: {known})"
    likely_cause: ClassVar[str] = (
        "a misspelt name, the target's name in place of the source's, or it was forgotten before"
    )
    next_move: ClassVar[str] = "give the name that the topic has on the source, as mm2 status shows it"


@dataclass(kw_only=True, eq=False)
class NothingRecorded(SettingsError):
    """Nothing is on record of a flow that is to be forgotten."""

    flow: str
    found: ClassVar[str] = "nothing is recorded of flow {flow!r} on its target"
    likely_cause: ClassVar[str] = "it was forgotten before, it has never run, or its target is another cluster now"
    next_move: ClassVar[str] = "nothing is to be done here; mm2 plan FLOW tells what a next run would do"


@dataclass(kw_only=True, eq=False)
class SeedOvertaken(RetriableError):
    """What a seed was judged by changed before it was written."""

    flow: str
    changed: tuple[str, ...]
    found: ClassVar[str] = "flow {flow!r} moved while progress was being set: {changed}"
    likely_cause: ClassVar[str] = "a mirror run came in between, or somebody wrote to the topics"
    next_move: ClassVar[str] = "pause the flow's DAG and look again; shards before this one are set, this one is not"


# --- reaching a cluster ---


@dataclass(kw_only=True, eq=False)
class ClusterUnreachable(RetriableError):
    """No broker of a cluster answered within the limit."""

    alias: str
    servers: str
    seconds: float
    problem: str
    found: ClassVar[str] = "no broker of cluster {alias!r} ({servers}) answered within {seconds:.0f} s: {problem}"
    likely_cause: ClassVar[str] = (
        "the brokers are down, the address is wrong, or a firewall or TLS setting stands between"
    )
    next_move: ClassVar[str] = (
        "try the address from this machine; a run that is retried goes on at the recorded progress"
    )


@dataclass(kw_only=True, eq=False)
class AuthenticationFailed(MirrorError):
    """The cluster refused the credentials."""

    alias: str
    servers: str
    problem: str
    found: ClassVar[str] = "cluster {alias!r} ({servers}) refused the credentials: {problem}"
    likely_cause: ClassVar[str] = (
        "a wrong user or password, another sasl.mechanism than the listener's, or an expired token"
    )
    next_move: ClassVar[str] = "correct the connection or the variables that the flow's settings name"


@dataclass(kw_only=True, eq=False)
class NotAuthorized(MirrorError):
    """The cluster refused an operation."""

    alias: str
    operation: str
    problem: str
    found: ClassVar[str] = "cluster {alias!r} did not allow: {operation} ({problem})"
    likely_cause: ClassVar[str] = "an ACL is missing for this user"
    next_move: ClassVar[str] = "grant it; docs/rights.md of the project lists the rights needed on each side"


@dataclass(kw_only=True, eq=False)
class AccessNotChecked(MirrorError):
    """A cluster cannot keep access rules."""

    alias: str
    found: ClassVar[str] = "{alias!r} checks no access, so it keeps no access rules"
    likely_cause: ClassVar[str] = "its brokers have no authorizer.class.name"
    next_move: ClassVar[str] = "set up an authorizer there, or turn sync_topics.acls off in the flow"


@dataclass(kw_only=True, eq=False)
class TransactionsUnsupported(MirrorError):
    """The target cannot do transactions for us."""

    alias: str
    transactional_id: str
    problem: str
    found: ClassVar[str] = "cluster {alias!r} gave no transaction for {transactional_id!r}: {problem}"
    likely_cause: ClassVar[str] = (
        "the transaction state topic cannot be made (replication factor above the number of brokers), the broker's "
        "transaction.max.timeout.ms is below the flow's transaction_timeout_s, the user has no right on the "
        "transactional id, or the broker has no transactions"
    )
    next_move: ClassVar[str] = (
        "set transaction.state.log.replication.factor and transaction.state.log.min.isr on the target's brokers for "
        "their number, lower transaction_timeout_s in the flow, or grant Write on the transactional id "
        "(docs/rights.md). Where transactions are not to be had, delivery: at_least_once in the flow does without "
        "them; a failure can then leave records twice"
    )


@dataclass(kw_only=True, eq=False)
class KafkaFailure(MirrorError):
    """A cluster refused something in a way that has no error of its own here."""

    alias: str
    operation: str
    code: str
    problem: str
    found: ClassVar[str] = "cluster {alias!r} failed: {operation}: {code} ({problem})"
    likely_cause: ClassVar[str] = "see the code; it is Kafka's own"
    next_move: ClassVar[str] = "read the brokers' log at this time; progress on the target is kept"


@dataclass(kw_only=True, eq=False)
class KafkaBusy(RetriableError):
    """A cluster could not answer for the moment."""

    alias: str
    operation: str
    code: str
    problem: str
    found: ClassVar[str] = "cluster {alias!r} could not do it now: {operation}: {code} ({problem})"
    likely_cause: ClassVar[str] = "a broker is starting, stopping or electing a leader"
    next_move: ClassVar[str] = "run again; it goes on at the recorded progress"


# --- what is to be mirrored ---


@dataclass(kw_only=True, eq=False)
class GroupAway(RetriableError):
    """A group's coordinator does not answer; other groups' do."""

    alias: str
    group: str
    code: str
    problem: str
    found: ClassVar[str] = "group {group!r} on cluster {alias!r} cannot be asked: {code} ({problem})"
    likely_cause: ClassVar[str] = "the broker that keeps this group is restarting or has lost its disk"
    next_move: ClassVar[str] = "run it again; the other groups are done and are not touched by that"


@dataclass(kw_only=True, eq=False)
class GroupActive(RetriableError):
    """Somebody is in a group whose offsets were to be written."""

    group: str
    members: tuple[str, ...]
    found: ClassVar[str] = "group {group!r} is active on the target (members: {members}); nothing of it was written"
    likely_cause: ClassVar[str] = "its consumers run on the target already, or have just been started there"
    next_move: ClassVar[str] = "stop them and run it again, or leave them: an active group keeps its own position"


@dataclass(kw_only=True, eq=False)
class GroupUnknown(MirrorError):
    """Nobody knows of a group."""

    group: str
    looked_in: str
    found: ClassVar[str] = "there is no sign of group {group!r} in {looked_in}"
    likely_cause: ClassVar[str] = (
        "a misspelt name, a group that the mirror leaves out (groups, groups_exclude), or one that never committed"
    )
    next_move: ClassVar[str] = "'mm2 groups FLOW' lists the groups of a flow, and those left out with the rule"


@dataclass(kw_only=True, eq=False)
class CheckpointsMissing(MirrorError):
    """A cluster has no checkpoints of groups from another one."""

    alias: str
    source_alias: str
    topic: str
    upstream: tuple[str, ...]
    found: ClassVar[str] = (
        "cluster {alias!r} has no topic {topic!r}, so no checkpoints of groups from {source_alias!r} "
        "(by their heartbeats mirrored here: {upstream})"
    )
    likely_cause: ClassVar[str] = (
        "another alias, separator or replication policy than the mirror's, or it publishes no checkpoints"
    )
    next_move: ClassVar[str] = "give the mirror's own alias and policy, or turn emit_checkpoints on and run it once"


@dataclass(kw_only=True, eq=False)
class ReadTimedOut(RetriableError):
    """A topic could not be read to its end in time; nothing of it was used."""

    alias: str
    topic: str
    seconds: float
    found: ClassVar[str] = "{topic!r} on {alias!r} was not read to its end within {seconds:.0f} s; nothing of it counts"
    likely_cause: ClassVar[str] = "a slow or busy cluster, or a topic that was never compacted"
    next_move: ClassVar[str] = "ask again, with a longer limit_s"


@dataclass(kw_only=True, eq=False)
class WaitBroken(RetriableError):
    """A deferred task's trigger met an error that may pass."""

    problem: str
    found: ClassVar[str] = "the wait was broken off in the triggerer: {problem}"
    likely_cause: ClassVar[str] = "what is said above"
    next_move: ClassVar[str] = (
        "let Airflow try again, or set silent_fail=True, which logs such errors and goes on waiting"
    )


@dataclass(kw_only=True, eq=False)
class GroupsIncomplete(RetriableError):
    """Some groups could not be read or written; all others are done."""

    flow: str
    failed: int
    groups: int
    names: tuple[str, ...]
    problem: str
    found: ClassVar[str] = "flow {flow!r}: {failed} of {groups} groups failed ({names}); the first: {problem}"
    likely_cause: ClassVar[str] = "the brokers that keep these groups are restarting, or rights on them are missing"
    next_move: ClassVar[str] = (
        "run it again: what is done is left as it is; 'mm2 groups FLOW' shows each group's result"
    )


@dataclass(kw_only=True, eq=False)
class SameCluster(MirrorError):
    """Source and target are one cluster."""

    cluster_id: str
    source: str
    target: str
    found: ClassVar[str] = "{source!r} and {target!r} are the same cluster (id {cluster_id})"
    likely_cause: ClassVar[str] = "two connections with different host names for one cluster"
    next_move: ClassVar[str] = "correct one of the two; a topic copied onto itself grows without end"


@dataclass(kw_only=True, eq=False)
class TopicMissing(MirrorError):
    """A topic that the flow names literally is not on the source."""

    alias: str
    topics: tuple[str, ...]
    found: ClassVar[str] = "the source {alias!r} has no topic {topics}"
    likely_cause: ClassVar[str] = "a misspelt name, or the credentials may not describe it"
    next_move: ClassVar[str] = "create it, grant Describe, or take it out of the flow's topics"


@dataclass(kw_only=True, eq=False)
class NamedTopicLeftOut(MirrorError):
    """A topic that the flow names literally is left out by a rule of the same flow."""

    topics: tuple[str, ...]
    found: ClassVar[str] = "the flow names topics that it leaves out: {topics}"
    likely_cause: ClassVar[str] = "a default of topics_exclude, or a rule on names, hits a name given in full"
    next_move: ClassVar[str] = (
        "take it out of topics, or give topics_exclude without what hits it ([] for none): a topic named in full then "
        "wins over the rule for internal names. Kafka's and MirrorMaker 2's own topics, and what came from the target, "
        "are never mirrored"
    )


@dataclass(kw_only=True, eq=False)
class OppositeFlow(MirrorError):
    """A source topic is what another flow mirrors from our target."""

    alias: str
    flow: str
    topics: tuple[str, ...]
    found: ClassVar[str] = "the flow {flow!r} writes to {topics} on {alias!r}, with records that come from our target"
    likely_cause: ClassVar[str] = "two flows in opposite directions under names that do not tell where a topic is from"
    next_move: ClassVar[str] = (
        "put the topics of one flow into topics_exclude of the other, or use replication_policy: default and the same "
        "aliases in both; nothing has been created"
    )


@dataclass(kw_only=True, eq=False)
class NothingSelected(MirrorError):
    """The flow selects no topic."""

    alias: str
    patterns: tuple[str, ...]
    topics: int
    rules: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    found: ClassVar[str] = "none of the {topics} topics on {alias!r} is selected by {patterns} (left out: {rules})"
    likely_cause: ClassVar[str] = (
        "patterns are regular expressions for whole names (orders.* and not orders*), or the credentials may not "
        "describe the topics"
    )
    next_move: ClassVar[str] = "correct 'topics'; on the source there are {names}"


@dataclass(kw_only=True, eq=False)
class NameClash(MirrorError):
    """Two source topics would have one name on the target."""

    target_topic: str
    topics: tuple[str, ...]
    found: ClassVar[str] = "the source topics {topics} would all be called {target_topic!r} on the target"
    likely_cause: ClassVar[str] = "a custom replication policy, or names that differ only in '.' and '_'"
    next_move: ClassVar[str] = "exclude one of them, or use another replication policy"


@dataclass(kw_only=True, eq=False)
class NameTooLong(MirrorError):
    """Names that the target would refuse."""

    names: tuple[str, ...]
    limit: int
    found: ClassVar[str] = "names longer than {limit} characters on the target: {names}"
    likely_cause: ClassVar[str] = "the alias and the separator are put before the topic's name"
    next_move: ClassVar[str] = "use a shorter alias, or replication_policy: identity; nothing has been created"


@dataclass(kw_only=True, eq=False)
class TargetTopicClaimed(MirrorError):
    """Another flow writes to the same target topic."""

    target_topic: str
    group: str
    found: ClassVar[str] = "another flow already mirrors into {target_topic!r}: its progress group is {group!r}"
    likely_cause: ClassVar[str] = "two flow files with the same source and policy, or one flow that was renamed"
    next_move: ClassVar[str] = (
        "take the topic out of one of them; a renamed flow keeps its progress only under its old name"
    )


# --- state on the target ---


@dataclass(kw_only=True, eq=False)
class StateDamaged(MirrorError):
    """A record of a state topic cannot be believed."""

    topic: str
    partition: int
    offset: int
    problem: str
    found: ClassVar[str] = "the record at {topic}-{partition} offset {offset} cannot be believed: {problem}"
    likely_cause: ClassVar[str] = "somebody else wrote to the topic, or a newer version of this provider did"
    next_move: ClassVar[str] = (
        "find out who wrote it; nothing goes on from it, and what was committed before stays. A newer version reads "
        "what a newer version wrote"
    )


@dataclass(kw_only=True, eq=False)
class StateTopicUnfit(MirrorError):
    """An internal topic exists with other properties than it needs."""

    topic: str
    problem: str
    found: ClassVar[str] = "the internal topic {topic!r} is not usable: {problem}"
    likely_cause: ClassVar[str] = "it was created or altered by hand"
    next_move: ClassVar[str] = (
        "set cleanup.policy=compact on it; with another number of partitions than recorded, ask first who changed it"
    )


@dataclass(kw_only=True, eq=False)
class FlowChanged(MirrorError):
    """What the flow says differs from what its first run recorded."""

    flow: str
    setting: str
    recorded: str
    given: str
    found: ClassVar[str] = "flow {flow!r} was recorded with {setting} {recorded!r}, and is now given {given!r}"
    likely_cause: ClassVar[str] = (
        "the flow file was edited, a connection points to another cluster, or two flows have one name"
    )
    next_move: ClassVar[str] = "put the recorded value back, or give the flow another name (which starts a new mirror)"


@dataclass(kw_only=True, eq=False)
class FlowNotPrepared(MirrorError):
    """A flow has no record on the target."""

    flow: str
    found: ClassVar[str] = "flow {flow!r} has no record on the target: it has never run there"
    likely_cause: ClassVar[str] = "it is new, its plan task was skipped, or its state topics on the target were deleted"
    next_move: ClassVar[str] = (
        "run it once ('mm2 run FLOW', or its DAG, which begins with the plan task); where another tool has filled the "
        "target's topics, 'mm2 seed FLOW' first"
    )


@dataclass(kw_only=True, eq=False)
class FlowFrozen(MirrorError):
    """The gate forbids mirror runs."""

    flow: str
    active_side: str
    frozen: bool
    found: ClassVar[str] = "flow {flow!r} may not run: active side is the {active_side}, frozen is {frozen}"
    likely_cause: ClassVar[str] = (
        "a failover is under way (frozen), or has moved the applications to the target, which is the active side now"
    )
    next_move: ClassVar[str] = (
        "see 'mm2 failover {flow} --status': one under way is finished by --resume or undone by --rollback; when the "
        "target is active, 'mm2 failback' brings home what it has taken; records written to the target are safe"
    )


@dataclass(kw_only=True, eq=False)
class EngineDiffers(MirrorError):
    """The flow record says that another engine mirrors the flow."""

    flow: str
    recorded: str
    given: str
    found: ClassVar[str] = (
        "flow {flow!r} is mirrored with engine: {recorded}, as recorded on the target, and this is for engine: {given}"
    )
    likely_cause: ClassVar[str] = "the key was changed in the flow's file, and the flow was not handed over"
    next_move: ClassVar[str] = (
        "hand it over with `mm2 hand-over {flow} --apply`, or write engine: {recorded} again; nothing was copied"
    )


@dataclass(kw_only=True, eq=False)
class HandOverUnderWay(MirrorError):
    """Runs are shut, and the connectors have not been told where to go on."""

    flow: str
    found: ClassVar[str] = "flow {flow!r} is being handed over to connectors, and until that is done nothing mirrors it"
    likely_cause: ClassVar[str] = "a hand-over is at work, or one was killed half way"
    next_move: ClassVar[str] = (
        "with engine: connect `mm2 hand-over {flow} --apply` finishes it; with engine: bounded the same takes it back"
    )


@dataclass(kw_only=True, eq=False)
class HandOverRefused(MirrorError):
    """A flow cannot be handed over as things stand; what mirrors it stays as it was."""

    flow: str
    problems: tuple[str, ...]
    cause: str = "the flow has never been mirrored, or one side is not as what is recorded says"
    found: ClassVar[str] = "flow {flow!r} cannot be handed over: {problems}"
    likely_cause: ClassVar[str] = "{cause}"
    next_move: ClassVar[str] = "mend what is named, and hand it over again; nothing was copied and nothing is lost"


@dataclass(kw_only=True, eq=False)
class ProgressLost(MirrorError):
    """The ledger is missing while the progress group has an offset."""

    target_topic: str
    partition: int
    group_offset: int
    found: ClassVar[str] = (
        "the ledger knows nothing of {target_topic}-{partition}, and the progress group says {group_offset}"
    )
    likely_cause: ClassVar[str] = "the ledger topic was deleted, or somebody set the progress group by hand"
    next_move: ClassVar[str] = (
        "mm2 seed FLOW --from progress-group --apply adopts the group's offset; --from match looks for the end of the "
        "copy instead; without --apply either only shows what it would do"
    )


@dataclass(kw_only=True, eq=False)
class ProgressDisagrees(MirrorError):
    """Ledger and progress group say different things."""

    target_topic: str
    partition: int
    ledger_offset: int
    group_offset: int
    found: ClassVar[str] = (
        "progress of {target_topic}-{partition} is {ledger_offset} by the ledger and {group_offset} by the group; "
        "read twice, 2 s apart"
    )
    likely_cause: ClassVar[str] = "somebody committed offsets for the progress group"
    next_move: ClassVar[str] = (
        "mm2 seed FLOW --from progress-group adopts the group's value (--apply), after it has told what that loses or "
        "repeats; deleting the group lets the ledger decide"
    )


COUNT_LIMIT = 10_000
"""Where records that are not ours are counted no further: a topic that another tool filled can hold billions."""


def _counted(records: int) -> str:
    noun = "record" if records == 1 else "records"
    return f"at least {records} {noun}" if records >= COUNT_LIMIT else f"{records} {noun}"


@dataclass(kw_only=True, eq=False)
class ProgressUnknown(MirrorError):
    """A target partition holds records, and nothing says where they came from."""

    target_topic: str
    partition: int
    records: int
    start: int
    end: int
    found: ClassVar[str] = (
        "{target_topic}-{partition} already holds {how_many} ([{start}, {end})), and this flow has no progress for it"
    )
    likely_cause: ClassVar[str] = "another tool mirrored it before, or an application writes to it"
    next_move: ClassVar[str] = (
        "mm2 seed FLOW --from match finds where the copy ends (connect:TOPIC and source-group:GROUP take the word of "
        "the tool that made it); --from earliest --force copies all beside it; or delete the target topic to start anew"
    )

    @property
    def facts(self) -> dict[str, object]:
        """The fields, and the count as far as it was counted."""
        return {**vars(self), "how_many": _counted(self.records)}


# --- the source ---


@dataclass(kw_only=True, eq=False)
class SourceGap(MirrorError):
    """Retention on the source overtook the mirror."""

    topic: str
    partition: int
    start: int
    end: int
    found: ClassVar[str] = "{topic}-{partition} has lost the offsets [{start}, {end}) before they were mirrored"
    likely_cause: ClassVar[str] = "retention on the source is shorter than the time between two runs"
    next_move: ClassVar[str] = (
        "raise retention.ms on the source or run more often. To go on behind the gap, which then stays on record: this "
        "once by mm2 seed FLOW --topic {topic} --from earliest --force --apply, always by on_gap: accept in the flow"
    )


@dataclass(kw_only=True, eq=False)
class SourceTruncated(MirrorError):
    """The source's log is shorter, or another one, than what was mirrored."""

    topic: str
    partition: int
    progress: int
    end: int
    found: ClassVar[str] = "{topic}-{partition} ends at {end}, and {progress} was mirrored already"
    likely_cause: ClassVar[str] = "an unclean leader election on the source, or its disk was restored from a copy"
    next_move: ClassVar[str] = (
        "compare both sides. To go on: this once where they agree by mm2 seed FLOW --topic {topic} --from match "
        "--apply, always at the source's end by on_gap: accept in the flow; or leave the topic out and keep the copy "
        "as it is"
    )


@dataclass(kw_only=True, eq=False)
class SourceTopicRecreated(MirrorError):
    """A source topic is not the one that was mirrored."""

    topic: str
    recorded_id: str
    found_id: str
    progress: int
    found: ClassVar[str] = (
        "the source topic {topic!r} was recreated: id {found_id}, mirrored was {recorded_id} (up to offset {progress})"
    )
    likely_cause: ClassVar[str] = "somebody deleted the topic and made it again"
    next_move: ClassVar[str] = (
        "to mirror the new topic from its start behind the old records: this once by mm2 seed FLOW --topic {topic} "
        "--from earliest --apply, always by on_recreated: restart in the flow; or leave it out and keep the copy. The "
        "old offset map is never used for the new topic"
    )


@dataclass(kw_only=True, eq=False)
class TopicDeleted(MirrorError):
    """A topic that is being read or written does not exist any more."""

    alias: str
    topic: str
    found: ClassVar[str] = "the topic {topic!r} was deleted on {alias!r}"
    likely_cause: ClassVar[str] = "somebody deleted it; this provider never creates a topic by asking for it"
    next_move: ClassVar[str] = (
        "take it out of the flow, or create it again (which counts as another topic); progress is kept"
    )


@dataclass(kw_only=True, eq=False)
class SourceSilent(RetriableError):
    """The source sent nothing for too long while its bound was not reached."""

    seconds: int
    waiting: tuple[str, ...]
    found: ClassVar[str] = "the source sent nothing for {seconds} s; not at their bound: {waiting}"
    likely_cause: ClassVar[str] = "a broker of the source is down or has no leader for the partition"
    next_move: ClassVar[str] = "look at the source's partitions; a retry goes on at the recorded progress"


@dataclass(kw_only=True, eq=False)
class TransactionHangs(MirrorError):
    """An open transaction on the source holds its last stable offset back."""

    topic: str
    partition: int
    stable: int
    end: int
    seconds: int
    found: ClassVar[str] = (
        "{topic}-{partition} has an open transaction at offset {stable} for {seconds} s: {behind} offsets up to "
        "{end} cannot be read. All that could be read was mirrored"
    )
    likely_cause: ClassVar[str] = "a transactional producer on the source hangs or died"
    next_move: ClassVar[str] = (
        "kafka-transactions.sh --bootstrap-server SOURCE find-hanging --topic {topic} names it, and abort ends it"
    )

    @property
    def facts(self) -> dict[str, object]:
        """The fields, and how many offsets are held back."""
        return {**vars(self), "behind": self.end - self.stable}


@dataclass(kw_only=True, eq=False)
class TimestampZero(MirrorError):
    """A record stamped exactly 0, which the client would store as now."""

    topic: str
    partition: int
    offset: int
    found: ClassVar[str] = (
        "{topic}-{partition} offset {offset} is stamped exactly 0 (1970), which cannot be carried over"
    )
    likely_cause: ClassVar[str] = "the producing application sets the timestamp to 0 instead of leaving it out"
    next_move: ClassVar[str] = (
        "mend the producer; mm2 seed FLOW --topic {topic} --from offsets:FILE --force --apply goes on behind the "
        "record (a line {topic},{partition},OFFSET of the one after it), which is then not on the target"
    )


@dataclass(kw_only=True, eq=False)
class HeaderUnfaithful(MirrorError):
    """A record with headers that the client cannot carry unchanged."""

    topic: str
    partition: int
    offset: int
    problem: str
    found: ClassVar[str] = (
        "{topic}-{partition} offset {offset} has a header that cannot be carried unchanged: {problem}"
    )
    likely_cause: ClassVar[str] = "a header key that is not UTF-8"
    next_move: ClassVar[str] = (
        "mend the producer; mm2 seed FLOW --topic {topic} --from offsets:FILE --force --apply goes on behind the "
        "record (a line {topic},{partition},OFFSET of the one after it), which is then not on the target"
    )


@dataclass(kw_only=True, eq=False)
class RecordTooLarge(MirrorError):
    """A record does not fit on the target."""

    topic: str
    partition: int
    offset: int
    bytes: int
    setting: str
    found: ClassVar[str] = (
        "{topic}-{partition} offset {offset} has {bytes} bytes, more than the target takes; "
        "nothing of its chunk is visible"
    )
    likely_cause: ClassVar[str] = (
        "{setting} is lower on the target than on the source, or the source has the record compressed, which the "
        "mirror does not do by itself"
    )
    next_move: ClassVar[str] = (
        "raise {setting} on the target topic (with room for the record's headers), or set compression.type, such as "
        "zstd, among the target's settings in the flow, and run again"
    )


# --- the target ---


@dataclass(kw_only=True, eq=False)
class TargetTopicGone(MirrorError):
    """A target topic that records were mirrored to does not exist."""

    topic: str
    target_topic: str
    recorded_id: str
    records: int
    found: ClassVar[str] = "the target topic {target_topic!r} (id {recorded_id}, {records} records mirrored) is gone"
    likely_cause: ClassVar[str] = "somebody deleted it on the target"
    next_move: ClassVar[str] = (
        "to mirror it again from the source's start: this once by mm2 seed FLOW --topic {topic} --from earliest "
        "--apply, always by on_recreated: restart in the flow; or leave the topic out"
    )


@dataclass(kw_only=True, eq=False)
class TargetTopicRecreated(MirrorError):
    """A target topic is not the one that records were mirrored to."""

    topic: str
    target_topic: str
    recorded_id: str
    found_id: str
    records: int
    found: ClassVar[str] = (
        "the target topic was recreated: {target_topic!r} has id {found_id}, mirrored to was {recorded_id} "
        "({records} records)"
    )
    likely_cause: ClassVar[str] = "somebody deleted the topic on the target and made it again"
    next_move: ClassVar[str] = (
        "to mirror it again from the source's start: this once by mm2 seed FLOW --topic {topic} --from earliest "
        "--apply, always by on_recreated: restart in the flow; or leave the topic out"
    )


@dataclass(kw_only=True, eq=False)
class TargetLostData(MirrorError):
    """A target log ends below what was recorded."""

    topic: str
    target_topic: str
    partition: int
    recorded_end: int
    end: int
    found: ClassVar[str] = "target lost data: {target_topic}-{partition} ends at {end}, and {recorded_end} was recorded"
    likely_cause: ClassVar[str] = "an unclean leader election on the target, or its disk was restored from a copy"
    next_move: ClassVar[str] = "mm2 seed FLOW --topic {topic} --from match --apply goes on where both sides agree"


@dataclass(kw_only=True, eq=False)
class MirroredRecordsHidden(MirrorError):
    """Records that the ledger counts are not visible on the target."""

    topic: str
    target_topic: str
    partition: int
    records: int
    start: int
    end: int
    found: ClassVar[str] = (
        "{target_topic}-{partition}: the last {records} records mirrored, [{start}, {end}), were aborted"
    )
    likely_cause: ClassVar[str] = "a broker died and lost some of a commit's markers, and what hung was aborted by hand"
    next_move: ClassVar[str] = "mm2 seed FLOW --topic {topic} --from match --apply goes on where both sides agree"


@dataclass(kw_only=True, eq=False)
class ForeignWrites(MirrorError):
    """Somebody else wrote records to a target topic."""

    topic: str
    target_topic: str
    partition: int
    records: int
    start: int
    end: int
    found: ClassVar[str] = (
        "{target_topic}-{partition} holds {how_many} in [{start}, {end}) that this flow did not write"
    )
    likely_cause: ClassVar[str] = "an application or another mirror writes to the target topic"
    next_move: ClassVar[str] = (
        "stop the writer. To go on behind its records, which stay: this once by mm2 seed FLOW --topic {topic} --from "
        "match --force --apply, always by on_foreign_writes: warn or accept in the flow; "
        "or delete the target topic and mirror it again"
    )

    @property
    def facts(self) -> dict[str, object]:
        """The fields, and the count as far as it was counted."""
        return {**vars(self), "how_many": _counted(self.records)}


@dataclass(kw_only=True, eq=False)
class TargetTransactionOpen(RetriableError):
    """Somebody else's transaction is open on a target partition: what it holds cannot be counted yet."""

    target_topic: str
    partition: int
    stable: int
    end: int
    found: ClassVar[str] = (
        "{target_topic}-{partition} has an open transaction that is not ours at offset {stable} (the log ends at {end})"
    )
    likely_cause: ClassVar[str] = (
        "an application or another mirror writes to the target topic, or a broker lost the markers of a transaction"
    )
    next_move: ClassVar[str] = (
        "kafka-transactions.sh --bootstrap-server TARGET find-hanging --topic {target_topic} names its producer; run "
        "again when it has ended"
    )


@dataclass(kw_only=True, eq=False)
class OffsetsHeld(RetriableError):
    """Offsets of a group cannot be read, since a transaction that was to replace them does not end."""

    group: str
    partitions: tuple[str, ...]
    count: int
    found: ClassVar[str] = (
        "the offsets of group {group!r} cannot be read: an open transaction holds {count} partition(s): {partitions}"
    )
    likely_cause: ClassVar[str] = (
        "an attempt died and its transaction has not timed out yet, or a broker lost the markers of a transaction"
    )
    next_move: ClassVar[str] = (
        "run again in a minute; when it stays, kafka-transactions.sh --bootstrap-server TARGET find-hanging --topic "
        "__consumer_offsets finds the transaction, and abort ends it; where it finds none, restart the broker that "
        "coordinates the group"
    )


@dataclass(kw_only=True, eq=False)
class TargetPartitionsFewer(MirrorError):
    """A target topic has fewer partitions than its source, and may not be grown."""

    target_topic: str
    partitions: int
    needed: int
    found: ClassVar[str] = "{target_topic!r} has {partitions} partitions, and its source has {needed}"
    likely_cause: ClassVar[str] = "the source grew, and sync_topics.grow is off in the flow"
    next_move: ClassVar[str] = (
        "turn sync_topics.grow on, or raise the partitions by hand; keys then spread as on the source"
    )


@dataclass(kw_only=True, eq=False)
class TargetTopicMissing(MirrorError):
    """A target topic does not exist, and may not be created."""

    target_topics: tuple[str, ...]
    found: ClassVar[str] = "the target has no topic {target_topics}"
    likely_cause: ClassVar[str] = "sync_topics.create is off in the flow"
    next_move: ClassVar[str] = "turn sync_topics.create on, or create it with as many partitions as the source has"


@dataclass(kw_only=True, eq=False)
class ReplicationImpossible(RetriableError):
    """Fewer brokers of a cluster are up than a topic is to have replicas.

    Worth a retry: one that is down or restarts for a moment is not told of, so the cluster looks smaller than it is.
    """

    alias: str
    factor: str
    brokers: int
    topics: tuple[str, ...]
    found: ClassVar[str] = "fewer brokers of {alias!r} were up than {factor} asks for ({brokers} are now): {topics}"
    likely_cause: ClassVar[str] = (
        "a broker is down or restarts; or replication_factor or internal_replication_factor of the flow, or "
        "default.replication.factor of the brokers, is meant for a larger cluster"
    )
    next_move: ClassVar[str] = (
        "run again when all brokers are up, or give a number that the cluster has brokers for; none of these topics "
        "was created"
    )


@dataclass(kw_only=True, eq=False)
class TooFewReplicas(MirrorError):
    """A topic has fewer replicas than must have a record before it counts as written."""

    topic: str
    replicas: int
    needed: int
    found: ClassVar[str] = "{topic!r} has {replicas} replica(s), and min.insync.replicas is {needed} there"
    likely_cause: ClassVar[str] = "the broker's min.insync.replicas is above the topic's replication factor"
    next_move: ClassVar[str] = (
        "lower min.insync.replicas on the topic, or give it more replicas (replication_factor in the flow when it is "
        "created); until then no write to it can succeed"
    )


@dataclass(kw_only=True, eq=False)
class TopicSettingsRefused(MirrorError):
    """A broker does not take settings of a topic."""

    alias: str
    topic: str
    settings: tuple[str, ...]
    problem: str
    found: ClassVar[str] = "{alias!r} refuses settings of the topic {topic!r}: {settings} ({problem})"
    likely_cause: ClassVar[str] = "its brokers are of another version, or set up otherwise, than the source's"
    next_move: ClassVar[str] = "list the setting in sync_topics.config_exclude, or set up the brokers for it"


@dataclass(kw_only=True, eq=False)
class RecordRefused(MirrorError):
    """The target's broker refuses records as they are."""

    target_topic: str
    problem: str
    found: ClassVar[str] = "the target refuses records of {target_topic}: {problem}"
    likely_cause: ClassVar[str] = (
        "a topic setting there: message.timestamp.before/after.max.ms, or compaction of records without a key"
    )
    next_move: ClassVar[str] = "set it as on the source and run again; nothing of the chunk was recorded"


@dataclass(kw_only=True, eq=False)
class CommitNotVisible(MirrorError):
    """A commit was acknowledged and cannot be seen."""

    transactional_id: str
    seconds: float
    partitions: tuple[str, ...]
    found: ClassVar[str] = (
        "the commit of {transactional_id!r} was acknowledged, and cannot be seen after {seconds:.0f} s on {partitions}"
    )
    likely_cause: ClassVar[str] = (
        "a broker of the target died while it ended the transaction and never wrote its markers (Kafka itself)"
    )
    next_move: ClassVar[str] = (
        "kafka-transactions.sh --bootstrap-server TARGET find-hanging --max-transaction-timeout 0 finds it, abort ends "
        "it on each partition; then run again. Where another partition's marker was written, the two disagree after "
        "that: mm2 seed FLOW --topic TOPIC (its name on the source) --from match --apply goes on where both sides agree"
    )


# --- attempts side by side ---


@dataclass(kw_only=True, eq=False)
class LeaseHeld(RetriableError):
    """Another run holds the lease."""

    group: str
    holder: str
    seconds: float
    found: ClassVar[str] = "another run holds it: {group!r} is held by {holder}, waited {seconds:.0f} s"
    likely_cause: ClassVar[str] = "an earlier attempt, a backfill or somebody at a shell is mirroring the same shard"
    next_move: ClassVar[str] = (
        "let it end; this run then finds what it left. max_active_runs=1 keeps Airflow's own runs apart"
    )


@dataclass(kw_only=True, eq=False)
class LeaseLost(RetriableError):
    """The lease was taken away while the run was at work."""

    group: str
    found: ClassVar[str] = "the lease {group!r} was lost"
    likely_cause: ClassVar[str] = "this process slept or was cut off from the target longer than the lease's session"
    next_move: ClassVar[str] = "run again; it goes on at the recorded progress"


@dataclass(kw_only=True, eq=False)
class Fenced(RetriableError):
    """A later attempt has taken over, or the transaction timed out on the broker."""

    transactional_id: str
    why: str
    found: ClassVar[str] = "{transactional_id!r} was fenced: {why}"
    likely_cause: ClassVar[str] = (
        "another attempt started, or this one took longer than transaction_timeout_s for a chunk"
    )
    next_move: ClassVar[str] = (
        "run again; if it was the time-out, lower chunk.seconds and chunk.bytes or raise transaction_timeout_s"
    )


@dataclass(kw_only=True, eq=False)
class TransactionFailed(RetriableError):
    """The transaction cannot go on and was aborted; nothing of it is visible."""

    transactional_id: str
    problem: str
    found: ClassVar[str] = "the transaction of {transactional_id!r} failed and was aborted: {problem}"
    likely_cause: ClassVar[str] = "a broker of the target went away or was too slow"
    next_move: ClassVar[str] = "run again; it goes on at the recorded progress"


@dataclass(kw_only=True, eq=False)
class CommitPending(RetriableError):
    """A commit was sent, and no answer came within the limit."""

    transactional_id: str
    seconds: float
    found: ClassVar[str] = (
        "the commit of {transactional_id!r} had no answer within {seconds:.0f} s; it may have happened"
    )
    likely_cause: ClassVar[str] = "the target's transaction coordinator is away"
    next_move: ClassVar[str] = "run again; the next attempt reads from the target whether it happened"


@dataclass(kw_only=True, eq=False)
class DeliveryFailed(RetriableError):
    """Without transactions: a chunk or a write of the state did not arrive as a whole; nothing of it was recorded."""

    writer: str
    problem: str
    found: ClassVar[str] = "what {writer!r} wrote did not arrive as a whole: {problem}"
    likely_cause: ClassVar[str] = (
        "a broker of the target went away or was too slow, or somebody else writes to the target topic"
    )
    next_move: ClassVar[str] = (
        "run again; it goes on at the recorded progress, behind what arrived of the chunk, which is then there twice"
    )


@dataclass(kw_only=True, eq=False)
class Overtaken(RetriableError):
    """Without transactions nothing fences an attempt: it found by itself that somebody else wrote the flow's state."""

    writer: str
    what: str
    found: ClassVar[str] = "{writer!r} has stopped before it wrote more: {what}"
    likely_cause: ClassVar[str] = (
        "this process slept or was cut off longer than the lease's session, and a later attempt is at work; or the "
        "flow's record was changed meanwhile"
    )
    next_move: ClassVar[str] = "run again; it waits for the other attempt, and goes on at the recorded progress"


@dataclass(kw_only=True, eq=False)
class Stopped(RetriableError):
    """Somebody asked the run to stop."""

    found: ClassVar[str] = "the run was asked to stop; what was committed before stays"
    likely_cause: ClassVar[str] = "the task was cleared, marked or shut down, or Ctrl-C was pressed"
    next_move: ClassVar[str] = "run again; it goes on at the recorded progress"


@dataclass(kw_only=True, eq=False)
class ChangedMeanwhile(RetriableError):
    """Something changed while a run copied that the flow accepts, from the next run on."""

    change: str
    policy: str
    found: ClassVar[str] = "while the run copied: {change}"
    likely_cause: ClassVar[str] = "somebody deleted or made anew a topic, or retention overtook the run"
    next_move: ClassVar[str] = "run again: {policy} accepts it at a run's start, and puts it on record"


# --- failing over ---


@dataclass(kw_only=True, eq=False)
class FailoverUnderWay(MirrorError):
    """A failover of the flow is open, so another one cannot begin."""

    flow: str
    stage: str
    owner: str
    begun: str
    next_call: str
    found: ClassVar[str] = "a failover of flow {flow!r} is open ({stage}), begun by {owner} at {begun}"
    likely_cause: ClassVar[str] = "somebody else is at it, or the process that was has died"
    next_move: ClassVar[str] = "talk to them; {next_call}"


@dataclass(kw_only=True, eq=False)
class NoFailover(MirrorError):
    """There is no open failover to go on with or to undo."""

    flow: str
    last: str
    found: ClassVar[str] = "no failover of flow {flow!r} is open ({last})"
    likely_cause: ClassVar[str] = "it has been closed or rolled back already, or it is another flow's"
    next_move: ClassVar[str] = (
        "see `mm2 failover {flow} --status`; one that is closed is undone by --reopen as long as nobody has written to "
        "the target, else by `mm2 failback {flow}`"
    )


@dataclass(kw_only=True, eq=False)
class FailoverRefused(MirrorError):
    """A failover cannot begin as things stand; nothing was changed."""

    flow: str
    problems: tuple[str, ...]
    found: ClassVar[str] = "flow {flow!r} cannot fail over: {problems}"
    likely_cause: ClassVar[str] = "it has failed over already, or a cluster is not the one that was mirrored"
    next_move: ClassVar[str] = "see `mm2 failover {flow} --status` and `mm2 status {flow}`"


@dataclass(kw_only=True, eq=False)
class NothingMirrored(MirrorError):
    """A flow that has mirrored nothing, or never read the groups, has nothing to fail over to."""

    flow: str
    found: ClassVar[str] = "flow {flow!r} has no mirrored data with consumer groups to fail over to"
    likely_cause: ClassVar[str] = "no run has finished yet: it mirrors first, and reads the groups at its end"
    next_move: ClassVar[str] = (
        "run `mm2 run {flow}` while the source is there; see `mm2 status {flow}` for what is on the target"
    )


@dataclass(kw_only=True, eq=False)
class NotOfTheFlow(SettingsError):
    """A group or topic was named that the flow does not have."""

    flow: str
    what: str
    names: tuple[str, ...]
    near: tuple[str, ...]
    found: ClassVar[str] = "flow {flow!r} has no {what} {names} (much like it: {near})"
    likely_cause: ClassVar[str] = "a misspelt name, or one that the flow's patterns leave out"
    next_move: ClassVar[str] = "see `mm2 groups {flow}` for the groups, `mm2 plan {flow}` for what is left out and why"


@dataclass(kw_only=True, eq=False)
class SourceGone(RetriableError):
    """The source of a planned failover does not answer."""

    flow: str
    problem: str
    found: ClassVar[str] = "a planned failover of flow {flow!r} needs its source, which does not answer: {problem}"
    likely_cause: ClassVar[str] = "the source is down or cut off, which is what an unplanned failover is for"
    next_move: ClassVar[str] = (
        "if it is gone: 'mm2 failover {flow} --unplanned', which never speaks to it; else try again once it answers"
    )


@dataclass(kw_only=True, eq=False)
class SourceNotQuiet(RetriableError):
    """Somebody writes to the source, so a planned failover would leave records behind."""

    flow: str
    seconds: int
    written: tuple[str, ...]
    found: ClassVar[str] = "the source of flow {flow!r} is still written to: within {seconds} s grew {written}"
    likely_cause: ClassVar[str] = "a producer is still running, or a transaction is still open on the source"
    next_move: ClassVar[str] = (
        "stop the producers and go on with --resume; --rollback undoes what was done; a new failover with --force goes "
        "on all the same and lists what stays behind"
    )


@dataclass(kw_only=True, eq=False)
class GroupsStillActive(RetriableError):
    """Consumers are still in their groups on the source, so they would read on there."""

    flow: str
    count: int
    seconds: int
    groups: tuple[str, ...]
    found: ClassVar[str] = (
        "{count} group(s) of flow {flow!r} still have members on the source after {seconds} s: {groups}"
    )
    likely_cause: ClassVar[str] = "their applications were not stopped, and no repoint of the flow can stop them"
    next_move: ClassVar[str] = (
        "stop them and go on with --resume; --rollback undoes what was done; a new failover with --force goes on, and "
        "what they read meanwhile they read again"
    )


@dataclass(kw_only=True, eq=False)
class PlanChanged(MirrorError):
    """What is there is not what was approved; nothing was written."""

    flow: str
    differences: tuple[str, ...]
    count: int
    found: ClassVar[str] = (
        "the failover of flow {flow!r} is not any more what was approved, in {count} place(s): {differences}"
    )
    likely_cause: ClassVar[str] = (
        "a mistyped digest or one of another plan; or applications wrote, read or moved offsets since the plan was made"
    )
    next_move: ClassVar[str] = (
        "find out who; `mm2 failover {flow} --rollback` undoes what was done, and a new failover shows a new plan"
    )


@dataclass(kw_only=True, eq=False)
class CanaryLost(MirrorError):
    """A record that the target took is not there."""

    topic: str
    like: str
    found_records: int
    found: ClassVar[str] = (
        "a record written to {topic} (made like {like}) was not read back: {found_records} record(s) there"
    )
    likely_cause: ClassVar[str] = "the target loses what it acknowledges, or somebody else writes to that topic"
    next_move: ClassVar[str] = "look at the target's brokers before any application writes there; then --resume"


@dataclass(kw_only=True, eq=False)
class GroupsNotSeen(RetriableError):
    """Groups that were moved were not seen at work on the target."""

    flow: str
    count: int
    seconds: int
    groups: tuple[str, ...]
    found: ClassVar[str] = "{count} group(s) of flow {flow!r} were not seen on the target within {seconds} s: {groups}"
    likely_cause: ClassVar[str] = "their applications have not been started, or still point at the source"
    next_move: ClassVar[str] = "start them and go on with --resume: it looks again for as long"


@dataclass(kw_only=True, eq=False)
class NotReopenable(MirrorError):
    """A failover that was a false alarm cannot be taken back."""

    flow: str
    problems: tuple[str, ...]
    found: ClassVar[str] = "the failover of flow {flow!r} cannot be taken back: {problems}"
    likely_cause: ClassVar[str] = (
        "applications have worked on the target since, and the source does not have what they wrote; or nothing as a "
        "whole has moved"
    )
    next_move: ClassVar[str] = (
        "see `mm2 failover {flow} --status`; where the target is active, `mm2 failback {flow}` brings all of it home"
    )


@dataclass(kw_only=True, eq=False)
class NoWayHome(SettingsError):
    """A flow cannot be turned round."""

    flow: str
    problem: str
    found: ClassVar[str] = "flow {flow!r} has no way home: {problem}"
    likely_cause: ClassVar[str] = (
        "a replication policy of one's own, or the name of a way home where a flow's was meant"
    )
    next_move: ClassVar[str] = (
        "with a policy of your own: write a flow of the opposite direction, 'mm2 seed' it '--from failover', run it, "
        "and fail that one over"
    )


@dataclass(kw_only=True, eq=False)
class WayHomeNotPrepared(MirrorError):
    """A way home was to be mirrored before it is known where it begins."""

    flow: str
    forward: str
    found: ClassVar[str] = (
        "{flow!r} has no record on its target: it is not known from where on there is anything to bring"
    )
    likely_cause: ClassVar[str] = "the way home of {forward!r} was never prepared; it would bring home all there is"
    next_move: ClassVar[str] = "look at 'mm2 failback {forward}', then begin with 'mm2 failback {forward} --prepare'"


@dataclass(kw_only=True, eq=False)
class FailbackRefused(MirrorError):
    """A flow cannot come home as things stand."""

    flow: str
    problems: tuple[str, ...]
    found: ClassVar[str] = "flow {flow!r} cannot come home: {problems}"
    likely_cause: ClassVar[str] = (
        "its failover is not over, or a cluster is not the one that it was before the failover"
    )
    next_move: ClassVar[str] = "look at 'mm2 failover {flow} --status' and 'mm2 failback {flow}'; nothing was written"


@dataclass(kw_only=True, eq=False)
class StrandedUndecided(MirrorError):
    """Records lie on the old source that were never mirrored, and nobody has said what becomes of them."""

    flow: str
    alias: str
    records: int
    partitions: tuple[str, ...]
    found: ClassVar[str] = (
        "{records} record(s) are stranded on {alias!r}: they were written there and never mirrored ({partitions})"
    )
    likely_cause: ClassVar[str] = "the source died before a run mirrored them, or somebody has written there since"
    next_move: ClassVar[str] = (
        "'mm2 failback {flow}' lists them; say what becomes of them with --stranded: keep (they stay where they are, "
        "before what comes home), copy (to the new side, behind what is there, marked by a header) or quarantine (to a "
        "topic of their own there); nothing was written"
    )


@dataclass(kw_only=True, eq=False)
class StrandedDecided(MirrorError):
    """It has been said before what becomes of stranded records, and it was something else."""

    flow: str
    asked: str
    decided: str
    found: ClassVar[str] = "what becomes of the stranded records of flow {flow!r} is decided: {decided}, not {asked}"
    likely_cause: ClassVar[str] = "an earlier call chose, and was interrupted before all of them were copied"
    next_move: ClassVar[str] = "call it again with that choice, or without any; what is copied is not copied twice"


@dataclass(kw_only=True, eq=False)
class DrillClash(SettingsError):
    """A topic or group that a drill would make and delete is somebody's own."""

    flow: str
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    found: ClassVar[str] = (
        "a drill of flow {flow!r} would make what is there and not a drill's: topics {topics}; groups {groups}"
    )
    likely_cause: ClassVar[str] = "somebody gave one such a name, or deleted what the last drill noted of itself"
    next_move: ClassVar[str] = "rename or delete these; nothing was touched"


@dataclass(kw_only=True, eq=False)
class DrillUnderWay(RetriableError):
    """Another drill or game day of the flow is at work."""

    flow: str
    holder: str
    seconds: float
    found: ClassVar[str] = (
        "another drill or game day of flow {flow!r} is at work ({holder}); waited {seconds:.0f} s, and made nothing"
    )
    likely_cause: ClassVar[str] = "a schedule, a CI or a colleague holds one; one at a time, since they share names"
    next_move: ClassVar[str] = "run it again when that one is over"


@dataclass(kw_only=True, eq=False)
class NoDrillOfReverse(SettingsError):
    """A way home has no drills of its own."""

    flow: str
    forward: str
    found: ClassVar[str] = "{flow!r} is the way home of flow {forward!r}, and has no drills or game days of its own"
    likely_cause: ClassVar[str] = "the name of the way home was given in place of the flow's"
    next_move: ClassVar[str] = "'mm2 drill {forward} --failback' fails over and comes home, by the same settings"


@dataclass(kw_only=True, eq=False)
class LimitPassed(MirrorError):
    """A drill was carried out, and did not keep its limits."""

    flow: str
    limits: tuple[str, ...]
    found: ClassVar[str] = "the drill of flow {flow!r} did not keep its limits: {limits}"
    likely_cause: ClassVar[str] = "runs that are too far apart, a slow cluster, or limits that cannot be met"
    next_move: ClassVar[str] = "read the drill's report; mirror more often, or change 'drill:' in the flow"


@dataclass(kw_only=True, eq=False)
class ExtraMissing(SettingsError):
    """What is asked for needs packages that are not installed."""

    extra: str
    packages: tuple[str, ...]
    found: ClassVar[str] = "packages are missing here: {packages}"
    likely_cause: ClassVar[str] = "they come with the extra {extra!r}, which was not installed"
    next_move: ClassVar[str] = "pip install 'airflow-provider-mm2[{extra}]'; nothing was written"


@dataclass(kw_only=True, eq=False)
class DrillFailed(MirrorError):
    """A drill could not be carried out."""

    flow: str
    phase: str
    problem: str
    found: ClassVar[str] = "the drill of flow {flow!r} ended in its phase {phase!r}: {problem}"
    likely_cause: ClassVar[str] = (
        "missing rights (a drill makes topics and groups on both clusters), or a cluster that went away"
    )
    next_move: ClassVar[str] = "mend it and drill again; what this one made is taken away, or will be by the next one"


@dataclass(kw_only=True, eq=False)
class GroupsNotMirrored(SettingsError):
    """Groups were named for a game day that have no position on what it is about."""

    flow: str
    groups: tuple[str, ...]
    topics: tuple[str, ...]
    found: ClassVar[str] = "no position on topics {topics}, which flow {flow!r} mirrors: groups {groups}"
    likely_cause: ClassVar[str] = "they read other topics, or had committed nothing when the last run read the groups"
    next_move: ClassVar[str] = (
        "see `mm2 groups {flow}` for what each group reads; leave these out, or mirror their topics"
    )


# --- applications' configuration ---


@dataclass(kw_only=True, eq=False)
class RepointValueMissing(SettingsError):
    """What a value of ``repoint`` is made of is not known here."""

    where: str
    problem: str
    found: ClassVar[str] = "the new value of {where} cannot be told: {problem}"
    likely_cause: ClassVar[str] = "a variable that is set on another machine, or a topic that has not been mirrored yet"
    next_move: ClassVar[str] = "export the variable where this runs, or correct the placeholder in the flow's repoint:"


@dataclass(kw_only=True, eq=False)
class SecretInRepoint(SettingsError):
    """An entry of ``repoint`` of a flow used under Airflow holds a secret in plain text."""

    name: str
    keys: tuple[str, ...]
    found: ClassVar[str] = "{name!r} of the flow's repoint: holds secrets in plain text: {keys}"
    likely_cause: ClassVar[str] = "they were pasted from the application's own configuration"
    next_move: ClassVar[str] = "write ${{NAME}} and set the variable on the workers, for each side where they differ"


@dataclass(kw_only=True, eq=False)
class RepointPlaceMissing(MirrorError):
    """What is to be changed is not there."""

    where: str
    problem: str
    found: ClassVar[str] = "{where} is not there: {problem}"
    likely_cause: ClassVar[str] = "a misspelt path or key, or the application's configuration lies on another machine"
    next_move: ClassVar[str] = "correct it in the flow's repoint:, or add the key with create: true"


@dataclass(kw_only=True, eq=False)
class RepointUnreadable(MirrorError):
    """A place of applications' configuration cannot be read or written safely."""

    where: str
    problem: str
    found: ClassVar[str] = "{where} cannot be used: {problem}"
    likely_cause: ClassVar[str] = "rights that are missing, or a document of another format than the flow says"
    next_move: ClassVar[str] = "look at it by hand; docs/how-to/repoint.md tells what each kind takes"


@dataclass(kw_only=True, eq=False)
class RepointChangedMeanwhile(MirrorError):
    """Somebody else changed a value between the plan and now."""

    where: str
    now: str
    expected: str
    found: ClassVar[str] = "{where} is {now!r} by now, and was {expected!r}: it is not overwritten"
    likely_cause: ClassVar[str] = "a deployment or a colleague changed it since the plan was made"
    next_move: ClassVar[str] = "look at who changed it; make a new plan to go on, or undo what was done so far"


@dataclass(kw_only=True, eq=False)
class RepointRefused(MirrorError):
    """A repoint has items that cannot be carried out; nothing of it was changed."""

    name: str
    problems: tuple[str, ...]
    found: ClassVar[str] = "{name!r} was not repointed: {problems}"
    likely_cause: ClassVar[str] = "the plan could not see everything, or the flow was changed since"
    next_move: ClassVar[str] = "mend what is named and make a new plan; nothing of this one was changed"


@dataclass(kw_only=True, eq=False)
class EndpointUnreachable(RetriableError):
    """A service that holds configuration gave no answer, or not now."""

    where: str
    problem: str
    found: ClassVar[str] = "{where} gave no usable answer: {problem}"
    likely_cause: ClassVar[str] = "the service is down, starting or busy, or a firewall or TLS setting is in between"
    next_move: ClassVar[str] = "try the address from this machine; what was changed before stays on record"


@dataclass(kw_only=True, eq=False)
class EndpointRefused(MirrorError):
    """A service that holds configuration refused a request."""

    where: str
    problem: str
    found: ClassVar[str] = "{where} refused it: {problem}"
    likely_cause: ClassVar[str] = "credentials or rights that are missing, or a value that the service does not take"
    next_move: ClassVar[str] = "correct 'auth' or the value in the flow, in connect: or repoint:, and begin again"


@dataclass(kw_only=True, eq=False)
class EndpointTooSlow(RetriableError):
    """What was asked for was taken, and did not come about within the limit."""

    where: str
    seconds: float
    problem: str
    found: ClassVar[str] = "{where} was not done within {seconds:.0f} s: {problem}"
    likely_cause: ClassVar[str] = "pods that do not get ready, or a cluster that keeps rebalancing"
    next_move: ClassVar[str] = "look at its events or its log; raise wait_s, and begin again: what is done is passed"


@dataclass(kw_only=True, eq=False)
class NotOnConnect(SettingsError):
    """A flow with ``engine: connect`` asks what MirrorMaker 2 cannot do."""

    flow: str
    problems: tuple[str, ...]
    found: ClassVar[str] = "flow {flow!r} asks what MirrorMaker 2 cannot do:\n    {listed}"
    likely_cause: ClassVar[str] = "the flow was written for bounded runs, which can"
    next_move: ClassVar[str] = (
        "take these keys out, or say what MirrorMaker 2 does (docs/how-to/connect.md has each key), or stay with runs"
    )

    @property
    def facts(self) -> dict[str, object]:
        """The fields, and the problems as a list for people."""
        return {**vars(self), "listed": "\n    ".join(self.problems)}


@dataclass(kw_only=True, eq=False)
class NotAConnectFlow(SettingsError):
    """Connectors were asked for of a flow that runs mirror."""

    flow: str
    found: ClassVar[str] = "flow {flow!r} has engine: bounded, so runs mirror it, and no connectors do"
    likely_cause: ClassVar[str] = "a command or operator for connectors was given a flow of the other engine"
    next_move: ClassVar[str] = "use `mm2 run`, or write engine: connect and connect: into the flow"


@dataclass(kw_only=True, eq=False)
class ConnectVariableMissing(SettingsError):
    """What speaks to a Connect cluster refers to an environment variable that is not there."""

    flow: str
    variable: str
    found: ClassVar[str] = "connect: of flow {flow!r} has ${{{variable}}}, and there is no such environment variable"
    likely_cause: ClassVar[str] = "the variable is set in another shell, worker or container than this one"
    next_move: ClassVar[str] = "export {variable} where this runs, or use an Airflow connection of type http"


@dataclass(kw_only=True, eq=False)
class ConnectorNotOurs(MirrorError):
    """A connector has the name that one of the flow's would have, and is somebody else's; it was left alone."""

    name: str
    where: str
    flow: str
    problem: str
    found: ClassVar[str] = "the connector {name} at {where} is not one of flow {flow!r}: {problem}"
    likely_cause: ClassVar[str] = "another tool or flow uses this Connect cluster, or somebody registered it by hand"
    next_move: ClassVar[str] = "delete or rename that connector, or give the flow another name; nothing was changed"


@dataclass(kw_only=True, eq=False)
class ConnectorMissing(MirrorError):
    """A flow's connectors are to be acted on, and are not there."""

    flow: str
    where: str
    names: tuple[str, ...]
    found: ClassVar[str] = "flow {flow!r} has no {names} at {where}"
    likely_cause: ClassVar[str] = "they were never put, or somebody has deleted them"
    next_move: ClassVar[str] = "put them: `mm2 connect {flow} put --apply`"


@dataclass(kw_only=True, eq=False)
class ConnectOffsetsMoved(MirrorError):
    """Offsets of a stopped connector are not what they were to be."""

    connector: str
    where: str
    changed: tuple[str, ...]
    found: ClassVar[str] = "the offsets of {connector} at {where} moved while it was stopped: {changed}"
    likely_cause: ClassVar[str] = "somebody resumed it or altered its offsets at the same time"
    next_move: ClassVar[str] = "find out who else works on these connectors, and do it again; it is stopped"


@dataclass(kw_only=True, eq=False)
class ConnectorRefused(MirrorError):
    """A worker refuses the configuration of a connector; nothing was changed."""

    where: str
    problems: tuple[str, ...]
    found: ClassVar[str] = "the worker at {where} refuses it:\n    {listed}"
    likely_cause: ClassVar[str] = "a class that the worker does not have, or a worker of another version"
    next_move: ClassVar[str] = "correct the flow's keys that these come from, or the worker; nothing was changed"

    @property
    def facts(self) -> dict[str, object]:
        """The fields, and the problems as a list for people."""
        return {**vars(self), "listed": "\n    ".join(self.problems)}


@dataclass(kw_only=True, eq=False)
class ExactlyOnceOff(MirrorError):
    """A worker does not support exactly once, which the flow wants; nothing was changed."""

    where: str
    said: str
    found: ClassVar[str] = "the worker at {where} cannot mirror exactly once: {said}"
    likely_cause: ClassVar[str] = "exactly.once.source.support is not enabled on the workers; its default is disabled"
    next_move: ClassVar[str] = (
        "set it to preparing on every worker and restart them one by one, then the same with enabled; or give the flow "
        "delivery: at_least_once"
    )


@dataclass(kw_only=True, eq=False)
class ConnectOnOtherCluster(MirrorError):
    """The workers of a Connect cluster write to another Kafka cluster than the flow's target; nothing was changed."""

    where: str
    worker: str
    alias: str
    target: str
    found: ClassVar[str] = "the worker at {where} writes to cluster {worker!r}, and {alias!r} is {target!r}"
    likely_cause: ClassVar[str] = (
        "the workers are of the source or of a third cluster; MirrorMaker 2's records go where its workers do"
    )
    next_move: ClassVar[str] = "give the address of a Connect cluster whose bootstrap.servers are those of the target"


@dataclass(kw_only=True, eq=False)
class ConnectLeftNothing(MirrorError):
    """Where groups stand was asked of a flow whose connectors have left nothing to tell it by."""

    flow: str
    found: ClassVar[str] = "there is neither an offset sync nor a checkpoint of the topics of flow {flow!r}"
    likely_cause: ClassVar[str] = (
        "its connectors have copied nothing yet, or it has emit_offset_syncs: false, or other aliases or another "
        "separator than they have"
    )
    next_move: ClassVar[str] = "look whether they run and how far they are: `mm2 connect {flow} status`"


@dataclass(kw_only=True, eq=False)
class ConnectIdle(MirrorError):
    """Connectors of a flow, or their tasks, do not run, and have not failed."""

    flow: str
    waits: tuple[str, ...]
    found: ClassVar[str] = "of the connectors of flow {flow!r} does not run: {waits}"
    likely_cause: ClassVar[str] = "never put, paused or stopped by somebody, or the workers start or rebalance just now"
    next_move: ClassVar[str] = "`mm2 connect {flow} put`, or `resume`; what MirrorMaker 2 copies waits until then"


@dataclass(kw_only=True, eq=False)
class ConnectFailed(MirrorError):
    """A connector, or a task of one, has failed, and Connect does not start it again by itself."""

    flow: str
    failures: tuple[str, ...]
    found: ClassVar[str] = "of the connectors of flow {flow!r} has failed:\n    {listed}"
    likely_cause: ClassVar[str] = "what the last 'Caused by' says; the worker's log has more"
    next_move: ClassVar[str] = "mend that, and `mm2 connect {flow} restart`"

    @property
    def facts(self) -> dict[str, object]:
        """The fields, and the failures as a list for people."""
        return {**vars(self), "listed": "\n    ".join(self.failures)}


@dataclass(kw_only=True, eq=False)
class TlsUnusable(SettingsError):
    """A file that TLS needs cannot be used."""

    where: str
    problem: str
    found: ClassVar[str] = "the files of 'tls' for {where} cannot be used: {problem}"
    likely_cause: ClassVar[str] = "the file lies on another machine, may not be read here, or is not PEM"
    next_move: ClassVar[str] = "correct ca, certificate or key in 'tls' of the flow; all three are PEM files"


@dataclass(kw_only=True, eq=False)
class FailoverOver(MirrorError):
    """A DAG run makes one failover, and that of this run has been undone."""

    flow: str
    number: int
    stage: str
    found: ClassVar[str] = "failover {number} of flow {flow!r}, which this DAG run began, is {stage}"
    likely_cause: ClassVar[str] = "its approval was refused or timed out, or somebody undid it; then a task was cleared"
    next_move: ClassVar[str] = (
        "start a new run of the DAG, which makes a plan of its own; `mm2 failover {flow} --status` shows the old one"
    )


@dataclass(kw_only=True, eq=False)
class PhaseTooEarly(MirrorError):
    """A phase of a failover cannot begin, since a step before it is not over."""

    flow: str
    phase: str
    step: str
    state: str
    found: ClassVar[str] = "phase {phase!r} of the failover of flow {flow!r} cannot begin: {step} is {state!r}"
    likely_cause: ClassVar[str] = "the task before this one failed or was marked as a success, or nobody approved yet"
    next_move: ClassVar[str] = "let the phase that has this step run first; `mm2 failover {flow} --status` shows each"


@dataclass(kw_only=True, eq=False)
class GroupsLeft(MirrorError):
    """A failover is closed, and some groups were not moved by it."""

    flow: str
    count: int
    groups: tuple[str, ...]
    found: ClassVar[str] = "the failover of flow {flow!r} is closed without {count} group(s): {groups}"
    likely_cause: ClassVar[str] = "somebody was in them on the target, or their offsets could not be read or written"
    next_move: ClassVar[str] = (
        "stop their members on the target and fail over again with only these groups, in mode unplanned where the "
        "target is the active side by now: `mm2 failover {flow} --unplanned --group GROUP --apply`"
    )


@dataclass(kw_only=True, eq=False)
class PlacesInexact(MirrorError):
    """Some groups have no exact place on the target."""

    flow: str
    count: int
    groups: tuple[str, ...]
    found: ClassVar[str] = "{count} position(s) of flow {flow!r} have no exact place on the target: {groups}"
    likely_cause: ClassVar[str] = "the groups have read further than the mirror, or what they stand on has expired"
    next_move: ClassVar[str] = (
        "mirror to the end and ask again; `mm2 groups {flow}` shows each with its reason; exact=False only reports"
    )


# --- verification ---


@dataclass(kw_only=True, eq=False)
class NothingToVerify(MirrorError):
    """Nothing of a flow can be compared."""

    flow: str
    problem: str
    found: ClassVar[str] = "nothing of flow {flow!r} can be compared: {problem}"
    likely_cause: ClassVar[str] = (
        "no run of the flow has finished, its connectors have not begun, or another tool mirrors it"
    )
    next_move: ClassVar[str] = (
        "run `mm2 run {flow}` first, with engine: connect look at `mm2 connect {flow} status`; "
        "`mm2 verify {flow} --by-order` judges what another tool has mirrored"
    )


@dataclass(kw_only=True, eq=False)
class RangeNotMirrored(SettingsError):
    """Nothing of the range that is to be compared was mirrored."""

    flow: str
    asked: str
    mirrored: tuple[str, ...]
    found: ClassVar[str] = "nothing in {asked} was mirrored by flow {flow!r}; mirrored is {mirrored}"
    likely_cause: ClassVar[str] = "an offset of the target in place of the source's, or a time before or after all runs"
    next_move: ClassVar[str] = "give --from and --to within what `mm2 status {flow}` shows, or leave them out"


@dataclass(kw_only=True, eq=False)
class ResumeRefused(SettingsError):
    """A comparison cannot go on from a file."""

    path: str
    problem: str
    found: ClassVar[str] = "the comparison cannot go on from {path}: {problem}"
    likely_cause: ClassVar[str] = "the file is of another comparison, or not of this command at all"
    next_move: ClassVar[str] = "give the flow and the options that it was begun with, or a new file to begin anew"


@dataclass(kw_only=True, eq=False)
class MirrorDiffers(MirrorError):
    """Both sides were compared, and are not the same."""

    flow: str
    count: int
    first: str
    found: ClassVar[str] = "the mirror of flow {flow!r} is not as it should be: {count} mismatch(es), the first {first}"
    likely_cause: ClassVar[str] = "docs/how-to/verify.md tells of each kind what it means and where it comes from"
    next_move: ClassVar[str] = (
        "see the task's XCom `verified` for the first ones, `mm2 verify {flow} --json` for all with their offsets"
    )
