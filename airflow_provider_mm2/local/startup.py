"""Start any number of brokers together: format, launch, wait until each answers; all of them or none."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from airflow_provider_mm2.local.broker import Broker
from airflow_provider_mm2.local.errors import BrokerNotReady, BrokerRefused, PortTaken
from airflow_provider_mm2.local.jars import Report, silent
from airflow_provider_mm2.local.java_log import last_error, port_in_use, read_since
from airflow_provider_mm2.local.ports import is_free
from airflow_provider_mm2.local.readiness import why_not_ready
from airflow_provider_mm2.local.spec import HOST
from airflow_provider_mm2.local.wait import poll
from airflow_provider_mm2.mirror.errors import MirrorError


def start_brokers(brokers: Sequence[Broker], *, timeout_s: float, report: Report = silent) -> None:
    """Start those of these brokers that do not run, and return when each serves clients.

    On any failure the ones started here are ended; those that ran before are left alone.

    :param timeout_s: seconds for all of it together.
    :raises BrokerRefused: a process ended by itself; the message gives the last error in its log.
    :raises PortTaken: another process listens on a port of a broker.
    :raises BrokerNotReady: the time is over.
    """
    deadline = time.monotonic() + timeout_s
    down = [broker for broker in brokers if not broker.running()]
    try:
        _check_ports(down)
        _format(down, deadline, timeout_s, report)
        for start in [_Start(broker) for broker in brokers]:
            report(f"waiting for broker {start.broker.node} of {start.broker.cluster} at port {start.broker.port}")
            start.await_ready(deadline, timeout_s)
    except BaseException:
        for broker in down:
            broker.end(grace_s=0)
        raise


class _Start:
    """One broker under way: launched when made, unless it ran before."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._log_start = broker.log_file.stat().st_size if broker.log_file.exists() else 0
        self._process = None if broker.running() else broker.launch()

    def await_ready(self, deadline: float, timeout_s: float) -> None:
        """Ask the broker until it serves, and stop asking when its process is gone."""
        reason: str | None = None

        def settled() -> bool:
            nonlocal reason
            if self._exit_code() is not None:
                return True
            reason = why_not_ready(self.broker.probe, self.broker.port, self.broker.node)
            return reason is None

        poll(settled, timeout_s=_left_s(deadline))
        exit_code = self._exit_code()
        if exit_code is not None:
            raise _refusal(self.broker, "its start", exit_code, self.broker.log_file, self._log_start)
        if reason is not None:
            raise _not_ready(self.broker, timeout_s, reason, self.broker.log_file)

    def _exit_code(self) -> int | None:
        return None if self._process is None else self._process.poll()


def _format(brokers: Sequence[Broker], deadline: float, timeout_s: float, report: Report) -> None:
    """Format the storage of those brokers that have none, all at the same time."""
    for broker in brokers:
        broker.end(grace_s=0)  # a formatting that outlived a killed start
        broker.write_files()
    fresh = [broker for broker in brokers if not broker.is_formatted]
    if fresh:
        report(f"formatting the storage of {len(fresh)} brokers")
    for broker, process in [(broker, broker.format()) for broker in fresh]:
        try:
            exit_code = process.wait(_left_s(deadline))
        except subprocess.TimeoutExpired:
            raise _not_ready(broker, timeout_s, "its storage is being formatted", broker.format_log_file) from None
        if exit_code != 0:
            raise _refusal(broker, "the formatting of its storage", exit_code, broker.format_log_file)
        broker.format_done()


def _check_ports(brokers: Sequence[Broker]) -> None:
    for broker in brokers:
        if not is_free(broker.port):
            raise _port_taken(broker, broker.port)


def _left_s(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.0)


def _refusal(broker: Broker, step: str, exit_code: int, log_file: Path, log_start: int = 0) -> MirrorError:
    """Tell from its log why a process ended."""
    log = read_since(log_file, log_start)
    port = port_in_use(log)
    if port is not None:
        return _port_taken(broker, port)
    return BrokerRefused(
        cluster=broker.cluster,
        broker=broker.node,
        step=step,
        status=exit_code,
        reason=last_error(log),
        log_file=str(log_file),
    )


def _port_taken(broker: Broker, port: int) -> PortTaken:
    return PortTaken(cluster=broker.cluster, broker=broker.node, port=port, log_file=str(broker.log_file))


def _not_ready(broker: Broker, timeout_s: float, reason: str, log_file: Path) -> BrokerNotReady:
    return BrokerNotReady(
        cluster=broker.cluster,
        broker=broker.node,
        address=f"{HOST}:{broker.port}",
        timeout_s=timeout_s,
        reason=reason,
        log_file=str(log_file),
    )
