"""Start any number of brokers together: format, launch, wait until each answers; all of them or none."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from airflow_provider_mm2.local.broker import Broker
from airflow_provider_mm2.local.errors import BrokerNotReady, BrokerRefused, PortTaken
from airflow_provider_mm2.local.jars import Report, silent
from airflow_provider_mm2.local.ports import is_free
from airflow_provider_mm2.local.readiness import why_not_ready
from airflow_provider_mm2.local.wait import poll


def start_brokers(brokers: Sequence[Broker], *, timeout_s: float, report: Report = silent) -> None:
    """Start these brokers and return when each serves clients; on any failure end those started here.

    :param brokers: none of them runs.
    :param timeout_s: seconds for all of it together.
    :raises BrokerRefused: a process ended by itself; the message gives the last error in its log.
    :raises PortTaken: another process listens on a port of a broker.
    :raises BrokerNotReady: the time is over.
    """
    deadline = time.monotonic() + timeout_s
    try:
        _format(brokers, deadline, report)
        launched = []
        for broker in brokers:
            _check_port(broker)
            launched.append((broker, broker.launch()))
        for broker, process in launched:
            report(f"waiting for broker {broker.node} of {broker.cluster} at {broker.probe['bootstrap.servers']}")
            _await_ready(broker, process, deadline, timeout_s)
    except BaseException:
        for broker in brokers:
            broker.end(grace_s=0)
        raise


def _format(brokers: Sequence[Broker], deadline: float, report: Report) -> None:
    for broker in brokers:
        broker.write_files()
    fresh = [broker for broker in brokers if not broker.is_formatted]
    if fresh:
        report(f"formatting the storage of {len(fresh)} brokers")
    for broker, process in [(broker, broker.format()) for broker in fresh]:
        try:
            exit_code = process.wait(max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            exit_code = None
        if exit_code != 0:
            raise _refusal(broker, "the formatting of its storage", exit_code, broker.format_log_file)
        broker.format_done()


def _check_port(broker: Broker) -> None:
    if not is_free(broker.port):
        raise PortTaken(cluster=broker.cluster, broker=broker.node, port=broker.port, log_file=broker.log_file)


def _await_ready(broker: Broker, process: subprocess.Popen[bytes], deadline: float, timeout_s: float) -> None:
    """Ask the broker until it serves, and stop asking when its process is gone."""
    reason: str | None = None

    def settled() -> bool:
        nonlocal reason
        if process.poll() is not None:
            return True
        reason = why_not_ready(broker.probe, broker.port, broker.node)
        return reason is None

    done = poll(settled, timeout_s=max(deadline - time.monotonic(), 0))
    if process.poll() is not None:
        raise _refusal(broker, "its start", process.returncode, broker.log_file)
    if not done:
        raise BrokerNotReady(
            cluster=broker.cluster,
            broker=broker.node,
            address=f"127.0.0.1:{broker.port}",
            timeout_s=timeout_s,
            reason=str(reason),
            log_file=broker.log_file,
        )


def _refusal(broker: Broker, step: str, exit_code: int | None, log_file: Path) -> BrokerRefused | PortTaken:
    return BrokerRefused(
        cluster=broker.cluster,
        broker=broker.node,
        step=step,
        exit_code_seen=exit_code,
        reason=last_error(log_file),
        log_file=log_file,
    )


def last_error(log_file: Path) -> str:
    """Give the last line of a Java log that names an error, or say that there is none.

    :param log_file: only its last 64 kB are read; it may be absent.
    """
    try:
        tail = log_file.read_bytes()[-65536:].decode(errors="replace")
    except OSError:
        return "the log could not be read"
    # The cause is the innermost exception; lines of a stack trace ("\tat ...") say less.
    pattern = (
        r"^(?:Caused by: |Exception in thread \S+ |Error|[\d:,T-]+ (?:ERROR|FATAL) |[\w.]+(?:Exception|Error): ).*"
    )
    matches = re.findall(pattern, tail, flags=re.MULTILINE)
    return str(matches[-1]).strip()[:400] if matches else "its log names no error"
