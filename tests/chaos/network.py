"""A network that a test makes slow, silent or dead: TCP proxies that stand before brokers."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

from airflow_provider_mm2.local.spec import HOST

T = TypeVar("T")

PIECE = 65_536
LIMIT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """What becomes of the bytes of a proxy.

    :param latency_s: each piece of at most 64 KiB waits this long.
    :param bytes_per_s: of each connection and direction.
    :param silent: nothing passes and nobody is told; it passes when this is over.
    :param dead: connections are reset, and new ones closed at once.
    """

    latency_s: float = 0.0
    bytes_per_s: float = float("inf")
    silent: bool = False
    dead: bool = False


FAIR = Weather()


class Network:
    """The thread in which the proxies of a test work."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="network", daemon=True)
        self._thread.start()
        self.servers: list[asyncio.Server] = []
        self.proxies: list[Proxy] = []

    def proxy(self, destination: Callable[[], int]) -> Proxy:
        """Make a proxy at a free port.

        :param destination: gives the port to connect to, asked for each connection.
        """
        return self.run(_open(self, destination))

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Let the thread do something, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(LIMIT_S)

    def close(self) -> None:
        """End every connection and the thread."""
        self.run(self._end_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LIMIT_S)
        self._loop.close()

    async def _end_all(self) -> None:
        """Let every connection end by itself: one whose task is cancelled before it began is closed by nobody."""
        for server in self.servers:
            server.close()
        for proxy in self.proxies:
            await proxy.change(Weather(dead=True))
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        if tasks:
            await asyncio.wait(tasks, timeout=LIMIT_S / 2)
        for _ in range(3):  # turns of the loop in which aborted connections are closed
            await asyncio.sleep(0)


class Proxy:
    """Takes connections at ``port`` and passes on what comes, as the weather lets it."""

    def __init__(self, network: Network, destination: Callable[[], int]) -> None:
        self.port = 0
        self.passed = 0
        self._network = network
        self._destination = destination
        self._weather = FAIR
        self._fair = asyncio.Event()
        self._fair.set()
        self._open: set[asyncio.StreamWriter] = set()

    @contextmanager
    def under(self, weather: Weather) -> Iterator[None]:
        """Have this weather for a while."""
        self._network.run(self.change(weather))
        try:
            yield
        finally:
            self._network.run(self.change(FAIR))

    async def change(self, weather: Weather) -> None:
        """Have this weather from now on; in the network's thread."""
        self._weather = weather
        if weather.silent:
            self._fair.clear()
        else:
            self._fair.set()
        if weather.dead:
            for writer in list(self._open):
                _reset(writer)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until either end closes it."""
        self._open.add(writer)
        try:
            with suppress(OSError):
                if not self._weather.dead:
                    await self._connect(reader, writer)
        finally:
            self._open.discard(writer)
            _reset(writer)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(HOST, self._destination())
        self._open.add(back)
        ways = [asyncio.ensure_future(self._pass(*way)) for way in ((reader, back), (there, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self._open.discard(back)
            _reset(back)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(PIECE):
            await self._fair.wait()
            weather = self._weather
            await asyncio.sleep(weather.latency_s + len(piece) / weather.bytes_per_s)
            self.passed += len(piece)
            writer.write(piece)
            await writer.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    """End a connection as a machine does that is gone: what is under way is lost."""
    connection = writer.get_extra_info("socket")
    if not writer.transport.is_closing() and connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _open(network: Network, destination: Callable[[], int]) -> Proxy:
    proxy = Proxy(network, destination)
    server = await asyncio.start_server(proxy.serve, HOST, 0)
    network.servers.append(server)
    network.proxies.append(proxy)
    proxy.port = server.sockets[0].getsockname()[1]
    return proxy
