"""Read the cause of a failure out of what a Java program wrote."""

from __future__ import annotations

import re
from pathlib import Path

_TAIL_BYTES = 65536

# The cause is in the innermost exception, which comes last; the lines of a stack trace itself say less.
_ERROR = re.compile(
    r"^(?:Caused by: |Exception in thread \S+ |\S+ (?:ERROR|FATAL) |(?=Error: |[\w.$]+(?:Exception|Error): ))(.+)",
    re.MULTILINE,
)


def read_since(log_file: Path, start: int) -> str:
    """Read the last 64 kB of a log at most; an absent log reads as empty.

    :param start: bytes to leave out at the beginning, written by earlier runs.
    """
    try:
        return log_file.read_bytes()[start:][-_TAIL_BYTES:].decode(errors="replace")
    except FileNotFoundError:
        return ""


def last_error(log: str) -> str:
    """Give the last line that names an error, or say that there is none.

    >>> last_error("Exception in thread \\"main\\" ConfigException: bad value\\n\\tat Main.java")
    'ConfigException: bad value'
    """
    lines = _ERROR.findall(log)
    return str(lines[-1]).strip()[:400] if lines else "its log names no error"


def port_in_use(log: str) -> int | None:
    """Give the port a Java server could not listen on because it is taken; ``None`` when that did not happen.

    >>> port_in_use("Socket server failed to bind to 127.0.0.1:9092: Address already in use.")
    9092
    """
    match = re.search(r":(\d+): Address already in use", log)
    return int(match.group(1)) if match else None
