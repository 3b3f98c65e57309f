"""The keys that Kafka itself defines, as ``kafka_keys.txt`` lists them, and what an import makes of one."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_mm2.mirror.mm2_import.importer import Imported, import_files

_LIST = Path(__file__).with_suffix(".txt")

KEYS = {
    key: tuple(readers.split())
    for key, _, readers in (
        line.partition(": ") for line in _LIST.read_text("utf-8").splitlines() if not line.startswith("#")
    )
}
"""Each key with its readers, such as ``source``, ``checkpoint``, ``worker`` or ``consumer``."""


def keys_of(*readers: str) -> list[str]:
    """Give the keys that one of these reads."""
    return sorted(key for key, those in KEYS.items() if set(readers) & set(those))


def dedicated(*lines: str) -> str:
    """Give a properties file of the clusters ``us`` and ``eu`` with one direction, and these lines."""
    base = ("clusters = us, eu", "us.bootstrap.servers = us:9092", "eu.bootstrap.servers = eu:9092")
    return "\n".join((*base, "us->eu.enabled = true", *lines)) + "\n"


def imported(text: str, label: str = "mm2.properties") -> Imported:
    """Import one file of this text."""
    return import_files([(label, text.encode("iso-8859-1"))])


def told(result: Imported) -> dict[str, str]:
    """Give the lines on what is not honoured by key, as people read them."""
    return {found.key: f"{found.why}; {found.instead}" for found in result.unhonoured}
