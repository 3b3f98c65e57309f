"""The cause of a failure as the log of a Java program gives it."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_mm2.local.java_log import last_error, port_in_use, read_since

BIND = """\
2026-11-29T20:41:14,597 ERROR Encountered fatal fault: caught exception (ProcessTerminatingFaultHandler)
java.lang.RuntimeException: Unable to start acceptor for CONTROLLER
\tat kafka.network.SocketServer.x(SocketServer.scala:1)
Caused by: org.KafkaException: Socket server failed to bind to 127.0.0.1:17071: Address already in use.
Caused by: java.net.BindException: Address already in use
\t... 13 more
2026-11-29T20:41:15,000 INFO shutting down (kafka.server.X)
"""


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (BIND, "java.net.BindException: Address already in use"),
        ('Exception in thread "main" a.ConfigException: Invalid value\n\tat x', "a.ConfigException: Invalid value"),
        ("Error: Could not find or load main class x", "Error: Could not find or load main class x"),
        (
            "2026-11-29T20:41:06 ERROR broken (x)\njava.lang.ClassNotFoundException: n.N\n",
            "java.lang.ClassNotFoundException: n.N",
        ),
        ("2026-11-29T20:41:06 INFO fine (x)\n", "its log names no error"),
        ("", "its log names no error"),
    ],
)
def test_last_error(log: str, cause: str) -> None:
    """The innermost exception is given, stack frames and later lines left out."""
    assert last_error(log) == cause


def test_port_in_use() -> None:
    """A port that was taken is found by number, and only then."""
    assert port_in_use(BIND) == 17071
    assert port_in_use("java.net.BindException: Cannot assign requested address") is None


def test_earlier_runs_do_not_count(tmp_path: Path) -> None:
    """Only what was written since the start is read, and an absent log reads as empty."""
    log = tmp_path / "broker.log"
    log.write_text("old\nnew\n")
    assert read_since(log, 4) == "new\n"
    assert read_since(tmp_path / "absent.log", 0) == ""
