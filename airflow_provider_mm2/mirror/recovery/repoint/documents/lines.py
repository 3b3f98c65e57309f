"""Java properties and environment files: one entry a line, the rest of the line kept. Pure."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass

import javaproperties
from dotenv.parser import parse_stream

from airflow_provider_mm2.mirror.recovery.repoint.documents.spans import line_end_of

_PROPERTY_HEAD = re.compile(r"[ \t\f]*(?:\\.|[^\\=:\s])+(?:[ \t\f]*[=:][ \t\f]*|[ \t\f]+|(?=[\r\n]|\Z))", re.DOTALL)
_ENV_HEAD = re.compile(r"\s*(?:export[ \t]+)?[^=\s#]+[ \t]*=[ \t]*")
_ENV_VALUE = re.compile(
    r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[^\r\n#]*?(?=[ \t]+#|[ \t]*[\r\n]|[ \t]*\Z)", re.DOTALL
)
_NEEDS_NO_QUOTES = re.compile(r"[\w.,:/@%+=\-]*")
_TAIL = re.compile(r"[\r\n]*\Z")


@dataclass(frozen=True, slots=True)
class Line:
    """A piece of the text; with a key where it has one. All pieces together are the text."""

    source: str
    key: str | None = None
    value: str = ""


def property_lines(text: str) -> list[Line]:
    """The pieces of a properties file."""
    return [
        Line(one.source, getattr(one, "key", None), getattr(one, "value", ""))
        for one in javaproperties.parse(io.StringIO(text, newline=""))
    ]


def with_property(line: Line, value: str) -> str:
    """A piece with another value; continuation lines become one.

    :raises ValueError: where its value begins cannot be told.
    """
    head = _PROPERTY_HEAD.match(line.source)
    if head is None:
        raise ValueError("where the value begins cannot be told")
    separator = "" if head[0].strip() == "" or head[0][-1] in "=: \t\f" else "="
    return f"{head[0]}{separator}{_escaped(value)}{_line_end(line.source)}"


def new_property(key: str, value: str) -> str:
    """A line of its own, without its end."""
    return f"{javaproperties.join_key_value(key, '', separator='=')}{_escaped(value)}"


def _escaped(value: str) -> str:
    """As Java reads it back; a colon in a value needs nothing."""
    escapes = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
    text = "".join(escapes.get(sign, sign if " " <= sign <= "~" else _unicode(sign)) for sign in value)
    return f"\\{text}" if text.startswith(" ") else text


def _unicode(sign: str) -> str:
    units = sign.encode("utf-16-be")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))


def env_lines(text: str) -> list[Line]:
    """The pieces of an environment file.

    :raises ValueError: a line is none.
    """
    lines = []
    for binding in parse_stream(io.StringIO(text)):
        if binding.error:
            raise ValueError(f"line {binding.original.line} is neither NAME=value nor a comment")
        lines.append(Line(binding.original.string, binding.key, binding.value or ""))
    return lines


def with_variable(line: Line, value: str) -> str:
    """A piece with another value, in the quotes that it had.

    :raises ValueError: where its value begins cannot be told.
    """
    head = _ENV_HEAD.match(line.source)
    old = None if head is None else _ENV_VALUE.match(line.source, head.end())
    if head is None or old is None:
        raise ValueError("where the value begins cannot be told")
    quote = old[0][:1] if old[0][:1] in ("'", '"') else ""
    return f"{head[0]}{_quoted(value, quote)}{line.source[old.end() :]}"


def new_variable(key: str, value: str) -> str:
    """A line of its own, without its end."""
    return f"{key}={_quoted(value, '')}"


def _quoted(value: str, quote: str) -> str:
    if not quote and _NEEDS_NO_QUOTES.fullmatch(value):
        return value
    if quote == "'" or not quote:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def with_line(text: str, line: str) -> str:
    """The text with a line behind the last."""
    end = line_end_of(text)
    return f"{text}{'' if not text or text.endswith(chr(10)) else end}{line}{end}"


def _line_end(source: str) -> str:
    match = _TAIL.search(source)
    return "" if match is None else match[0]
