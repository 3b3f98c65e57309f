"""A document, or a whole body, behind an HTTP endpoint: read with GET, written with PUT, POST or PATCH."""

from __future__ import annotations

import json
from dataclasses import dataclass

import httpx

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import RepointChangedMeanwhile, RepointPlaceMissing
from airflow_provider_mm2.mirror.recovery.repoint.documents.document import names_near, read_value, with_value
from airflow_provider_mm2.mirror.recovery.repoint.documents.spans import pointer_parts
from airflow_provider_mm2.mirror.recovery.repoint.values import Held, Present, same
from airflow_provider_mm2.mirror.web.endpoint import Web

BODY = "body"


@dataclass(frozen=True, kw_only=True)
class HttpPlaces:
    """Values of one document by JSON pointer, or its whole body.

    An endpoint that gives an ETag is written with If-Match; at others a change within the moment between reading and
    writing is not seen.
    """

    web: Web
    path: str
    write_path: str
    method: str
    content_type: str | None = None
    may_create: bool = False

    def where(self, key: str) -> str:
        """The pointer and the address."""
        return f"{key} of {self.web.url}{self.path}"

    def read(self, key: str, tick: Tick) -> Present:
        """What stands there."""
        text = self.web.get(self.path, tick).text
        found = self._value(key, text)
        if found is None and not self.may_create:
            raise RepointPlaceMissing(
                where=self.where(key), problem=f"no such value{names_near(text, 'json', key.strip('/'))}"
            )
        return found

    def write(self, key: str, before: Present, after: Present, tick: Tick) -> None:
        """Send the document with the other value (PATCH: that value alone, as a merge patch)."""
        response = self.web.get(self.path, tick)
        if not same(self._value(key, response.text), before):
            raise self._changed(key)
        headers = {"Content-Type": self._content_type(key)}
        if "ETag" in response.headers:
            headers["If-Match"] = response.headers["ETag"]
        content = self._content(key, response, after)
        answer = self.web.send(
            self.method, self.write_path, tick, taken=(412,), headers=headers, content=content.encode()
        )
        if answer.status_code == 412:
            raise self._changed(key)

    def _content(self, key: str, response: httpx.Response, after: Present) -> str:
        if key == BODY:
            return "" if after is None else str(after.value)
        if self.method != "PATCH":
            return with_value(response.text, "json", key, after, self.where(key))
        patch: object = None if after is None else after.value
        for name in reversed(pointer_parts(key) if key.startswith("/") else [key]):
            patch = {name: patch}
        return json.dumps(patch)

    def _content_type(self, key: str) -> str:
        if self.content_type is not None:
            return self.content_type
        if key == BODY:
            return "text/plain; charset=utf-8"
        return "application/merge-patch+json" if self.method == "PATCH" else "application/json"

    def _value(self, key: str, text: str) -> Present:
        return Held(text) if key == BODY else read_value(text, "json", key, self.where(key))

    def _changed(self, key: str) -> RepointChangedMeanwhile:
        return RepointChangedMeanwhile(where=self.where(key), now="of another version", expected="as it was read")
