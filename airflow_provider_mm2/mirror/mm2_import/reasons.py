"""Why a key is not honoured, and what to do instead: the words, each once."""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    """Two halves of a line that a user reads."""

    why: str
    instead: str


SCHEDULE = Reason(
    "nothing runs between two runs: each run does this once", "dag.schedule in the flow says how often runs begin"
)
REFRESH = Reason(
    "each run looks for new topics, partitions and groups when it begins",
    "where that is not wanted, name each topic and group in full in topics: and groups:",
)
WORKER = Reason(
    "there is no Connect worker: a run is one process, and its progress is in the flow's own topics on the target",
    "leave it out",
)
INTERNAL_FACTOR = Reason(
    "the flow's own topics have one replication factor, and the keys given differ",
    "choose internal_replication_factor in the flow",
)
INTERNAL_FACTOR_ABSENT = Reason(
    "MirrorMaker 2 gives its internal topics 3 replicas by default; ours get the default of the target's brokers",
    "set internal_replication_factor: 3 in the flow for the same",
)
STORAGE = Reason(
    "there is no Connect worker, and so none of its topics", "internal_replication_factor is that of the flow's topics"
)
FACTOR_ABSENT = Reason(
    "MirrorMaker 2 gives mirrored topics 2 replicas by default; ours get the default of the target's brokers",
    "set replication_factor: 2 in the flow for the same",
)
TASKS = Reason(
    "a run copies in shards, of which there is one unless the flow says more",
    "set shards: in the flow before its first run, which records the number; one shard is often fast enough",
)
TIMEOUT = Reason(
    "the clients' time limits are the mirror's own", "lease_wait_s and silence_limit_s in the flow limit what may last"
)
METRICS = Reason("a run reports its figures itself", "mm2 status FLOW --json, and the sensors in Airflow")
FILTER = Reason(
    "classes of Java cannot be run here", "write what it selects as patterns in topics:, topics_exclude:, groups:"
)
CONFIG_FILTER = Reason(
    "classes of Java cannot be run here", "write what it leaves out as patterns in sync_topics.config_exclude"
)
ADMIN_CLASS = Reason(
    "classes of Java cannot be run here",
    "create topics by your own means and set sync_topics.create and sync_topics.grow to false",
)
POLICY = Reason(
    "classes of Java cannot be run here; the flow names the class, so that no run begins with other names",
    "write a Python class with its three methods and put that one's dotted path into replication_policy, or choose "
    "'default' or 'identity'",
)
POLICY_OPTION = Reason(
    "only the separator of a replication policy can be set", "write it into a replication policy of your own"
)
INTERNAL_SEPARATOR = Reason(
    "the separator counts in the flow's checkpoints and offset syncs, too",
    "let clients look for the names with the separator; what MirrorMaker 2 left under '.' is not read",
)
DEFAULTS_OF_TARGET = Reason("MirrorMaker 2 takes all but 'source' for 'target', as a flow does", "nothing to do")
ACLS_TO_ASK_FOR = Reason(
    "MirrorMaker 2 carries access rules over by default; a flow does so only when told to",
    "set sync_topics.acls: true in the flow for the same",
)
SYNCS_ON_TARGET = Reason(
    "nothing is ever written to the source: the flow's offset syncs are on the target",
    "let readers of the offset syncs ask the target",
)
GROUPS_WITHOUT_CHECKPOINTS = Reason(
    "MirrorMaker 2 commits nothing to groups while emit.checkpoints.enabled is false; the flow keeps to that",
    "set sync_group_offsets: true in the flow where positions shall be committed all the same",
)
NO_CHECKPOINT_CONNECTOR = Reason(
    "there is no MirrorCheckpointConnector between the two clusters; the flow has emit_checkpoints: false",
    "give its configuration too, or take the line out of the flow",
)
HEARTBEATS = Reason(
    "a run writes a heartbeat to <source>.heartbeats, by which clients find the upstream cluster; the source's own "
    "are mirrored instead where it has some",
    "nothing to do: one record a run",
)
HEARTBEATS_FACTOR = Reason("heartbeats are one of the flow's own topics", "internal_replication_factor in the flow")
HEARTBEATS_MIRRORED = Reason(
    "a flow mirrors the source's heartbeats only where its topics: has them", "add heartbeats to topics: in the flow"
)
EXACTLY_ONCE = Reason("a run is always exactly once", "leave it out")
TRANSACTIONS = Reason(
    "a transaction ends after a time or a size, whichever comes first", "chunk.seconds and chunk.bytes in the flow"
)
INCREMENTAL = Reason("settings of topics are always changed one by one, never replaced", "leave it out")
BYTES = Reason(
    "keys, values and headers are copied as the bytes they are",
    "nothing to do, unless records were converted on the way: convert those behind the mirror",
)
TRANSFORMS = Reason(
    "records are never changed or dropped on the way",
    "choose topics by topics: and topics_exclude:, and transform behind the mirror",
)
ERRORS = Reason(
    "no record is ever passed over: a run stops at the first it cannot copy, and a task is retried by Airflow",
    "dag.retries and dag.retry_delay_s in the flow",
)
TOPIC_CREATION = Reason(
    "a topic is created with the partitions and settings of its source",
    "replication_factor in the flow; all else on the topic",
)
PROVIDERS = Reason(
    "values from elsewhere come from environment variables or an Airflow connection",
    "set the variables named, or use connection: in place of settings:",
)
OVERRIDE = Reason("a source connector never uses these clients", "leave it out")
NEWER_DEFAULT = Reason(
    "this is the default of Kafka 4; the flow keeps that of Kafka 3, by which topics of users that end in .internal "
    "or -internal are left out",
    "rename such topics, if there are any: mm2 plan FLOW lists what is left out, and why",
)
FROM_LATEST = Reason(
    "a flow begins where the source's log begins",
    "mm2 seed FLOW --from latest --apply before the first run begins at the end of the logs",
)
UNCOMMITTED = Reason("only committed records are mirrored", "nothing to do: aborted records never reach the target")
ONE_CONNECTION = Reason(
    "a flow has one set of settings for each cluster, for readers, writers and admin clients alike",
    "give one user the rights of all of them (docs/rights.md)",
)
SECOND_CONNECTION = Reason(
    "a flow has one connection to each cluster, and takes that of the MirrorSourceConnector", "leave it out"
)
OWN_TUNING = Reason(
    "the mirror sets this itself: its guarantees or its speed rest on it", "leave it out; chunk: limits a transaction"
)
NO_EQUAL = Reason(
    "librdkafka, the client of the mirror, has no equal",
    "look for what is meant in librdkafka's CONFIGURATION.md, and add it to settings: in the flow",
)
TLS_BY_OPENSSL = Reason(
    "librdkafka leaves TLS to OpenSSL, which has other names for this",
    "set ssl.cipher.suites or ssl.curves.list in settings: where OpenSSL's defaults do not do",
)
UNUSED_ROLE = Reason("no client of a run does what this one did in MirrorMaker 2", "leave it out")
NO_ROLE = Reason(
    "MirrorMaker 2 reads a client's key only behind the cluster or the client it is for",
    "write source.cluster., target.cluster., source.consumer. or producer.override. in front, if it shall count",
)
NOT_AT_THE_TOP = Reason(
    "MirrorMaker 2 reads it only behind a cluster or a direction",
    "write A. or A->B. in front, with the names of clusters, if it shall count",
)
