"""Services over real HTTP: an endpoint with a document, Consul's KV store, etcd's gateway."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class Asked:
    """One request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Its body as JSON."""
        return json.loads(self.body)


Answer = tuple[int, str, dict[str, str]]


@dataclass
class Service:
    """What answers; ``failing`` gives a status for requests that are to fail, ``asked`` has all there were."""

    failing: Callable[[Asked], int | None] = lambda asked: None
    asked: list[Asked] = field(default_factory=list)
    url: str = ""

    def answer(self, asked: Asked) -> Answer:
        """Give status, body and headers."""
        raise NotImplementedError

    def written(self) -> list[str]:
        """Give the methods of all that were not reads."""
        return [one.method for one in self.asked if one.method != "GET"]


@contextmanager
def serving(service: Service, *, context: Any = None) -> Iterator[Service]:
    """Serve it on a port of its own; ``context`` makes it TLS."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one piece: else the second waits 40 ms for the first to be acknowledged

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = Asked(self.command, unquote(parts.path), query, dict(self.headers.items()), body)
            service.asked.append(asked)
            status = service.failing(asked)
            status, text, headers = service.answer(asked) if status is None else (status, "{}", {})
            content = text.encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _serve

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    service.url = f"http{'' if context is None else 's'}://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class DocumentService(Service):
    """One document at ``/config``, with an ETag that a write must match where it names one."""

    text: str = "{}"
    etag: bool = True
    version: int = 1

    def answer(self, asked: Asked) -> Answer:
        """Give it or take it."""
        if asked.path != "/config":
            return 404, "", {}
        if asked.method == "GET":
            return 200, self.text, {"ETag": f'"{self.version}"'} if self.etag else {}
        if asked.headers.get("If-Match", f'"{self.version}"') != f'"{self.version}"':
            return 412, "", {}
        self.version += 1
        self.text = self._merged(asked.json) if asked.method == "PATCH" else asked.body.decode()
        return 204, "", {}

    def _merged(self, patch: dict[str, Any]) -> str:
        def merge(onto: Any, changes: Any) -> Any:
            if not isinstance(changes, dict):
                return changes
            kept = {key: value for key, value in onto.items() if changes.get(key, 0) is not None}
            return kept | {key: merge(onto.get(key, {}), one) for key, one in changes.items() if one is not None}

        return json.dumps(merge(json.loads(self.text), patch))


@dataclass
class ConsulService(Service):
    """Consul's KV endpoints, as its documentation has them: ``cas``, ``flags``, ``keys``."""

    stored: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    index: int = 10

    def put(self, key: str, text: str, flags: int = 0) -> None:
        """Store a value, as somebody else does."""
        self.index += 1
        self.stored[key] = (text, self.index, flags)

    def answer(self, asked: Asked) -> Answer:
        """Read, check and set, check and delete."""
        key = asked.path.removeprefix("/v1/kv/")
        if asked.method == "GET" and "keys" in asked.query:
            return 200, json.dumps([one for one in self.stored if one.startswith(key)]), {}
        found = self.stored.get(key)
        if asked.method == "GET":
            if found is None:
                return 404, "", {}
            value = base64.b64encode(found[0].encode()).decode()
            return 200, json.dumps([{"Key": key, "Value": value, "ModifyIndex": found[1], "Flags": found[2]}]), {}
        if int(asked.query["cas"]) != (0 if found is None else found[1]):
            return 200, "false", {}
        if asked.method == "DELETE":
            del self.stored[key]
        else:
            self.put(key, asked.body.decode(), int(asked.query.get("flags", 0)))
        return 200, "true", {}


@dataclass
class EtcdService(Service):
    """The JSON gateway of etcd 3.4, answer for answer as a real one gives them (``range``, ``txn``, a log-in)."""

    stored: dict[str, tuple[str, int]] = field(default_factory=dict)
    revision: int = 1
    password: str | None = None

    def put(self, key: str, text: str) -> None:
        """Store a value, as somebody else does."""
        self.revision += 1
        self.stored[key] = (text, self.revision)

    def answer(self, asked: Asked) -> Answer:
        """Log in, read a range, or carry out a transaction of one comparison and one change."""
        if asked.path == "/v3/auth/authenticate":
            right = asked.json["password"] == self.password
            return (200, '{"token":"a-token.1"}', {}) if right else (400, '{"code":3}', {})
        if self.password is not None and asked.headers.get("Authorization") != "a-token.1":
            return 400, '{"error":"etcdserver: user name is empty","code":3}', {}
        header = {"header": {"revision": str(self.revision)}}
        if asked.path == "/v3/kv/range":
            kvs = [self._told(key) for key in self._range(asked.json)]
            return 200, json.dumps(header | ({"kvs": kvs, "count": str(len(kvs))} if kvs else {})), {}
        (compare,), (change,) = asked.json["compare"], asked.json["success"]
        key = base64.b64decode(compare["key"]).decode()
        if str(self.stored.get(key, ("", 0))[1]) != compare["mod_revision"]:
            return 200, json.dumps(header | {"responses": []}), {}
        if "request_delete_range" in change:
            del self.stored[key]
        else:
            self.put(key, base64.b64decode(change["request_put"]["value"]).decode())
        return 200, json.dumps(header | {"succeeded": True}), {}

    def _range(self, body: dict[str, Any]) -> list[str]:
        first = base64.b64decode(body["key"]).decode()
        if "range_end" not in body:
            return [first] if first in self.stored else []
        end = base64.b64decode(body["range_end"]).decode()
        return [key for key in self.stored if first <= key < end or end == "\0"]

    def _told(self, key: str) -> dict[str, str]:
        text, revision = self.stored[key]
        coded = {"key": base64.b64encode(key.encode()).decode(), "mod_revision": str(revision)}
        return coded | ({"value": base64.b64encode(text.encode()).decode()} if text else {})
