"""Keys of files: properties, environment, YAML, JSON. A file is replaced as a whole, in one step."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_mm2.mirror.clusters.ports import Tick
from airflow_provider_mm2.mirror.errors import RepointChangedMeanwhile, RepointPlaceMissing, RepointUnreadable
from airflow_provider_mm2.mirror.recovery.repoint.documents.document import names_near, read_value, with_value
from airflow_provider_mm2.mirror.recovery.repoint.values import Present, near, same
from airflow_provider_mm2.mirror.repoint_values import DocumentFormat


@dataclass(frozen=True, kw_only=True)
class FilePlaces:
    """The keys of one file.

    :param may_create: whether a missing key may be added; without it a missing one is told with those near it.
    """

    path: Path
    format: DocumentFormat
    may_create: bool = False

    def where(self, key: str) -> str:
        """The key in the file."""
        return f"{key} in {self.path}"

    def read(self, key: str, tick: Tick) -> Present:
        """What stands there."""
        text, _ = self._decoded(self._bytes())
        found = read_value(text, self.format, key, self.where(key))
        if found is None and not self.may_create:
            problem = f"the file has no such key{names_near(text, self.format, key)}"
            raise RepointPlaceMissing(where=self.where(key), problem=problem)
        return found

    def write(self, key: str, before: Present, after: Present, tick: Tick) -> None:
        """Replace the file by one with the other value, unless it changed in between."""
        content = self._bytes()
        text, encoding = self._decoded(content)
        if not same(read_value(text, self.format, key, self.where(key)), before):
            raise self._changed(key)
        changed = with_value(text, self.format, key, after, self.where(key)).encode(encoding)
        self._replace(key, content, changed)

    def _bytes(self) -> bytes:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            folder = self.path.parent
            there = [str(folder / name) for name in os.listdir(folder)] if folder.is_dir() else []
            problem = f"there is no such file{near(str(self.path), there)}"
            raise RepointPlaceMissing(where=str(self.path), problem=problem) from None
        except OSError as error:
            raise RepointUnreadable(where=str(self.path), problem=str(error.strerror)) from None

    def _decoded(self, content: bytes) -> tuple[str, str]:
        """The text and its encoding: Java reads properties as Latin-1 or UTF-8."""
        encodings = ["utf-8", "latin-1"] if self.format == "properties" else ["utf-8"]
        if content.startswith(b"\xef\xbb\xbf"):
            encodings = ["utf-8-sig"]
        for encoding in encodings:
            try:
                return content.decode(encoding), encoding
            except UnicodeDecodeError:
                continue
        raise RepointUnreadable(where=str(self.path), problem="it is not UTF-8")

    def _replace(self, key: str, seen: bytes, content: bytes) -> None:
        """A new file beside the old one, of the same owner and mode, takes its name; a link goes on to lead to it."""
        real = self.path.resolve()
        descriptor, name = -1, ""
        try:
            old = real.stat()
            descriptor, name = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                if (os.geteuid(), os.getegid()) != (old.st_uid, old.st_gid):
                    os.fchown(file.fileno(), old.st_uid, old.st_gid)
                os.fchmod(file.fileno(), old.st_mode & 0o7777)
                os.fsync(file.fileno())
            if real.read_bytes() != seen:
                raise self._changed(key)
            os.replace(name, real)
            name = ""
            _sync_folder(real.parent)
        except OSError as error:
            raise RepointUnreadable(where=str(self.path), problem=f"{error.strerror} (when replaced)") from None
        finally:
            if name:
                Path(name).unlink(missing_ok=True)

    def _changed(self, key: str) -> RepointChangedMeanwhile:
        return RepointChangedMeanwhile(where=self.where(key), now="of other content", expected="as it was read")


def _sync_folder(folder: Path) -> None:
    """Have the rename on the disk before it is recorded."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
