"""Keys of Java's Kafka clients, and which of them librdkafka has, too.

Source: Kafka, ``ConsumerConfig``, ``ProducerConfig``, ``AdminClientConfig``, ``SslConfigs``, ``SaslConfigs``;
librdkafka, ``CONFIGURATION.md``.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SAME_NAME = frozenset(
    {
        "bootstrap.servers",
        "security.protocol",
        "sasl.mechanism",
        "sasl.kerberos.service.name",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "ssl.key.password",
        "client.id",
        "client.rack",
        "client.dns.lookup",
        "connections.max.idle.ms",
        "enable.metrics.push",
    }
)
"""Taken over as they are. All clients of a cluster share them."""

RENAMED = {
    "request.timeout.ms": "socket.timeout.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
}

RANGES = {
    "connections.max.idle.ms": range(0, 2**31),
    "sasl.kerberos.min.time.before.relogin": range(0, 86_400_001),
    "socket.timeout.ms": range(10, 300_001),
    "socket.send.buffer.bytes": range(0, 100_000_001),
    "socket.receive.buffer.bytes": range(0, 100_000_001),
}
"""What librdkafka takes for a number; others are told."""

TLS_STORES = frozenset(
    {
        "ssl.truststore.type",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.certificates",
        "ssl.keystore.type",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.key",
        "ssl.keystore.certificate.chain",
        "ssl.endpoint.identification.algorithm",
    }
)

TLS_BY_OPENSSL = frozenset(
    {
        "ssl.protocol",
        "ssl.provider",
        "ssl.cipher.suites",
        "ssl.enabled.protocols",
        "ssl.keymanager.algorithm",
        "ssl.trustmanager.algorithm",
        "ssl.secure.random.implementation",
        "ssl.engine.factory.class",
    }
)

SASL_WITHOUT_EQUAL = _words(
    """
    sasl.client.callback.handler.class sasl.login.callback.handler.class sasl.login.class
    sasl.kerberos.kinit.cmd sasl.kerberos.ticket.renew.window.factor sasl.kerberos.ticket.renew.jitter
    sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.retry.backoff.ms
    sasl.login.retry.backoff.max.ms sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
    sasl.login.refresh.min.period.seconds sasl.login.refresh.buffer.seconds
    sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name sasl.oauthbearer.jwks.endpoint.url
    sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.clock.skew.seconds
    sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer sasl.oauthbearer.header.urlencode
    sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
    sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
    sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
    sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
    sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file
    sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
    sasl.oauthbearer.assertion.template.file
    """
)

BY_THE_MIRROR = _words(
    """
    acks allow.auto.create.topics auto.commit.interval.ms auto.offset.reset batch.size buffer.memory check.crcs
    default.api.timeout.ms delivery.timeout.ms enable.auto.commit enable.idempotence fetch.max.bytes fetch.max.wait.ms
    fetch.min.bytes group.id group.instance.id group.protocol heartbeat.interval.ms isolation.level
    key.deserializer key.serializer linger.ms max.block.ms max.in.flight.requests.per.connection
    max.partition.fetch.bytes max.poll.interval.ms max.poll.records max.request.size metadata.max.age.ms
    metadata.max.idle.ms partition.assignment.strategy partitioner.class reconnect.backoff.max.ms
    reconnect.backoff.ms retries retry.backoff.max.ms retry.backoff.ms session.timeout.ms
    socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms transaction.timeout.ms
    transactional.id value.deserializer value.serializer
    """
)

WITHOUT_EQUAL = _words(
    """
    auto.include.jmx.reporter bootstrap.controllers compression.gzip.level compression.lz4.level
    compression.zstd.level config.providers exclude.internal.topics group.remote.assignor interceptor.classes
    metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy metric.reporters metrics.num.samples
    metrics.recording.level metrics.sample.window.ms share.acknowledgement.mode share.acquire.mode
    partitioner.adaptive.partitioning.enable
    partitioner.availability.timeout.ms partitioner.ignore.keys security.providers
    transaction.two.phase.commit.enable
    """
)

SASL_JAAS = "sasl.jaas.config"
COMPRESSION = "compression.type"

SECURITY = {key for key in SAME_NAME if key.startswith(("sasl.", "ssl.", "security.", "bootstrap."))} | {
    SASL_JAAS,
    *TLS_STORES,
    *TLS_BY_OPENSSL,
    *SASL_WITHOUT_EQUAL,
}
"""What MirrorMaker 2 takes without a role in front, and hands to all clients of a cluster."""

CLIENT_KEYS = frozenset({*SECURITY, *SAME_NAME, *RENAMED, *BY_THE_MIRROR, *WITHOUT_EQUAL, SASL_JAAS, COMPRESSION})
"""Every key of a Java client that is known here."""
