"""Real clusters: security, crash and restart, and starts that fail."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from airflow_provider_mm2.local import processes
from airflow_provider_mm2.local.cluster import LocalCluster
from airflow_provider_mm2.local.errors import BrokerNotReady, BrokerRefused, PortTaken
from airflow_provider_mm2.local.jars import kafka_classpath, resolve_jars
from airflow_provider_mm2.local.java import run_java
from airflow_provider_mm2.local.pair import LocalPair
from airflow_provider_mm2.local.properties_file import properties_text
from airflow_provider_mm2.local.wait import poll

pytestmark = pytest.mark.broker

MakeCluster = Callable[..., LocalCluster]


def admin(cluster: LocalCluster, **changes: str) -> AdminClient:
    return AdminClient({**cluster.client_settings, "log_level": 0, **changes})


def create(cluster: LocalCluster, topic: str, replicas: int = 1) -> None:
    client = admin(cluster)
    client.create_topics([NewTopic(topic, 1, replicas)], operation_timeout=30)[topic].result()


def produce(cluster: LocalCluster, topic: str, values: list[bytes], timestamp_ms: int = 0) -> None:
    producer = Producer({**cluster.client_settings, "log_level": 0, "acks": "all", "message.timeout.ms": 30000})
    for value in values:
        producer.produce(topic, value, partition=0, timestamp=timestamp_ms)
    assert producer.flush(40) == 0


def consume(cluster: LocalCluster, topic: str, count: int) -> list[bytes | None]:
    """Read ``count`` records from the beginning of partition 0."""
    consumer = Consumer({**cluster.client_settings, "log_level": 0, "group.id": "reader"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes | None] = []

    def read() -> bool:
        values.extend(message.value() for message in consumer.consume(count, 0.5) if message.error() is None)
        return len(values) >= count

    try:
        poll(read, timeout_s=30)
    finally:
        consumer.close()
    return values


def test_pair_has_two_clusters(pair: LocalPair) -> None:
    """Source and target of the session's pair are two clusters, each of one broker."""
    listed = [admin(cluster).list_topics(timeout=10) for cluster in pair.clusters]
    assert [list(each.brokers) for each in listed] == [[0], [0]]
    assert listed[0].cluster_id != listed[1].cluster_id


def test_unknown_topics_are_not_made(pair: LocalPair, topic_name: Callable[..., str]) -> None:
    """Reading the metadata of a topic that does not exist does not create it."""
    topic = topic_name()
    assert admin(pair.source, **{"allow.auto.create.topics": "true"}).list_topics(topic, timeout=10).topics[topic].error
    assert topic not in admin(pair.source).list_topics(timeout=10).topics


def test_wrong_password_is_turned_away(make_cluster: MakeCluster) -> None:
    """The configured user gets in, with a password of awkward characters; a wrong password does not."""
    cluster = make_cluster(security="sasl_plaintext", users={"alice": "a'\"\\é =", "bob": "b"})
    assert admin(cluster).list_topics(timeout=10).brokers
    assert admin(cluster, **{"sasl.username": "bob", "sasl.password": "b"}).list_topics(timeout=10).brokers
    with pytest.raises(KafkaException):
        admin(cluster, **{"sasl.password": "wrong"}).list_topics(timeout=2)


def test_tls_for_both_kinds_of_clients(make_cluster: MakeCluster, kafka_folder: Path) -> None:
    """With SASL_SSL the given settings work for librdkafka and for Java, and an unknown authority is refused."""
    cluster = make_cluster(security="sasl_ssl")
    create(cluster, "seen-from-java")
    settings, log = kafka_folder / "client.properties", kafka_folder / "java.log"
    settings.write_text(properties_text(cluster.java_client_settings))
    listing = ["--bootstrap-server", cluster.bootstrap, "--command-config", str(settings), "--list"]
    java = run_java(
        "org.apache.kafka.tools.TopicCommand",
        listing,
        folder=kafka_folder,
        log_file=log,
        classpath=kafka_classpath(),
    )
    assert java.wait(60) == 0, log.read_text()
    assert "seen-from-java" in log.read_text().splitlines()
    stranger = LocalCluster(kafka_folder / "never-started", security="sasl_ssl")
    stranger.prepare()
    other_authority = str(stranger.folder / "tls" / "ca.pem")
    with pytest.raises(KafkaException):
        admin(cluster, **{"ssl.ca.location": other_authority}).list_topics(timeout=2)


def test_killed_broker_comes_back_with_its_records(make_cluster: MakeCluster) -> None:
    """After SIGKILL a broker starts again on the same address with every acknowledged record, however old."""
    cluster = make_cluster(properties={"offsets.retention.minutes": "7"})
    create(cluster, "kept")
    values = [str(number).encode() for number in range(100)]
    produce(cluster, "kept", values, timestamp_ms=1_000_000_000_000)
    address = cluster.bootstrap
    cluster.kill()
    assert not cluster.is_running()
    cluster.start_broker()
    assert cluster.bootstrap == address
    assert consume(cluster, "kept", 100) == values
    resource = ConfigResource(ResourceType.BROKER, "0")
    client = admin(cluster)
    configs = client.describe_configs([resource])[resource].result()
    assert configs["offsets.retention.minutes"].value == "7"


@pytest.mark.slow
def test_three_brokers_outlive_one(make_cluster: MakeCluster) -> None:
    """Of three brokers one may be killed: writes with all acknowledgements go on, and it joins again."""
    cluster = make_cluster(brokers=3)
    create(cluster, "replicated", replicas=3)
    cluster.kill(1)
    produce(cluster, "replicated", [b"while one is down"])
    assert [cluster.is_running(node) for node in range(3)] == [True, False, True]
    cluster.start_broker(1)

    def in_sync() -> bool:
        partition = admin(cluster).list_topics("replicated", timeout=10).topics["replicated"].partitions[0]
        return sorted(partition.isrs) == [0, 1, 2]

    assert poll(in_sync, timeout_s=30)
    assert consume(cluster, "replicated", 1) == [b"while one is down"]


@pytest.mark.parametrize(
    ("properties", "cause", "log"),
    [
        ({"num.io.threads": "many"}, "Invalid value many for configuration num.io.threads", "format.log"),
        ({"authorizer.class.name": "no.such.Class"}, "ClassNotFoundException: no.such.Class", "broker.log"),
    ],
    ids=["refused while formatting", "refused while starting"],
)
def test_broker_that_does_not_start(
    make_cluster: MakeCluster, kafka_folder: Path, properties: dict[str, str], cause: str, log: str
) -> None:
    """A bad property ends with one message: the property, its cause and the log file; nothing is left running."""
    with pytest.raises(BrokerRefused) as failure:
        make_cluster(name="special", properties=properties)
    text = str(failure.value)
    assert len(text.splitlines()) == 3
    assert "broker 0 of the special cluster" in text
    assert cause in text
    assert failure.value.log_file in text
    assert Path(failure.value.log_file).name == log
    assert processes.find(kafka_folder) == []


def test_port_of_a_whole_cluster_taken(make_cluster: MakeCluster) -> None:
    """A cluster whose port was taken while it was down starts on new ports."""
    cluster = make_cluster()
    address = cluster.bootstrap
    cluster.stop()
    host, port = address.split(":")
    with socket.create_server((host, int(port))):
        cluster.start()
        assert cluster.bootstrap != address
        assert admin(cluster).list_topics(timeout=10).brokers


def test_broker_too_slow(kafka_folder: Path) -> None:
    """A start that takes longer than allowed ends with the address and the log, and leaves nothing running."""
    cluster = LocalCluster(kafka_folder / "slow")
    with pytest.raises(BrokerNotReady) as failure:
        cluster.start(timeout_s=1.5)
    assert failure.value.log_file in str(failure.value)
    assert processes.find(kafka_folder) == []
    cluster.start()
    assert admin(cluster).list_topics(timeout=10).brokers


def test_java_programs_compile_and_run(kafka_folder: Path) -> None:
    """Further jars can be fetched: Eclipse's compiler builds a program against Kafka that the same Java runs."""
    (compiler,) = resolve_jars(["org.eclipse.jdt:ecj:3.42.0"]).glob("*.jar")
    source = kafka_folder / "Hello.java"
    source.write_text(
        "public class Hello { public static void main(String[] a) {"
        " System.out.println(org.apache.kafka.common.utils.AppInfoParser.getVersion()); } }"
    )
    log = kafka_folder / "hello.log"
    out = str(kafka_folder / "out")
    jars = ":".join(str(jar) for jar in Path(kafka_classpath()).parent.glob("kafka-clients-*.jar"))
    compile_it = ["-17", "-cp", jars, "-d", out, str(source)]
    main = "org.eclipse.jdt.internal.compiler.batch.Main"
    java = run_java(main, compile_it, folder=kafka_folder, log_file=log, classpath=str(compiler))
    assert java.wait(60) == 0, log.read_text()
    java = run_java("Hello", folder=kafka_folder, log_file=log, classpath=f"{out}:{kafka_classpath()}")
    assert java.wait(60) == 0, log.read_text()
    assert log.read_text().splitlines()[-1] == "4.3.1"


def test_port_of_one_broker_taken(make_cluster: MakeCluster) -> None:
    """A broker among others keeps its address, and says so when another process took it."""
    cluster = make_cluster(brokers=2)
    port = int(cluster.bootstrap.split(",")[1].split(":")[1])
    cluster.kill(1)
    with socket.create_server(("127.0.0.1", port)), pytest.raises(PortTaken, match=str(port)):
        cluster.start_broker(1)
