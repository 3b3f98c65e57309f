"""YAML as plain values, with the line of every key and item. Messages never contain a scalar's text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

Place = tuple[str | int, ...]
"""Path of keys and item numbers from the top of a document."""

DEEPEST = 8
"""A flow is four levels deep; the limit ends an alias that contains itself."""

LARGEST = 20_000
"""Most values of one document, so that aliases of aliases cannot fill the memory."""

_TAG = "tag:yaml.org,2002:"
_TEXT = {_TAG + "str", _TAG + "timestamp"}
_PLAIN = {_TAG + kind for kind in ("int", "float", "bool", "null")}
_QUOTED = re.compile(r"(['\"])(?P<text>.*?)\1")
_HINTS = {
    "\\t": "indent with spaces; YAML takes no tabs",
    "cannot start any token": "put the value in quotes",
    "undefined alias": "put a value that begins with '*' in quotes",
    "mapping values are not allowed": "put a value that contains ': ' in quotes",
    "another document": "one file holds one flow",
}


@dataclass(kw_only=True, eq=False)
class YamlFault(Exception):
    """A document that cannot be read: at which line, and where in it as far as known."""

    line: int
    text: str
    place: Place = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlDocument:
    """The plain value of a document (None when it is empty) and the line of each place, counted from 1."""

    value: object
    lines: dict[Place, int]

    def line_of(self, place: Place) -> int:
        """Line of a key or item, or of the nearest thing around it that is in the file."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)


def read_yaml(text: str) -> YamlDocument:
    """Read one YAML 1.2 document; what looks like a date stays text.

    :raises YamlFault: it is not YAML, has a key twice, or uses tags, merges or keys that are not text.
    """
    reader = YAML(typ="rt")
    try:
        node = reader.compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        fault = YamlFault(line=1 if mark is None else mark.line + 1, text=_without_values(error.problem or ""))
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        fault = YamlFault(line=line, text="a control character; save the file as plain text")
    except RecursionError:
        fault = YamlFault(line=1, text="brackets or indents that are nested too deeply")
    except YAMLError:
        fault = YamlFault(line=1, text="not YAML")
    else:
        if node is None:
            return YamlDocument(value=None, lines={})
        return _Plain(reader).document(node)
    raise fault


def _without_values(problem: str) -> str:
    """The YAML reader's own words, less what it quotes from the file, with the usual remedy."""

    def keep(match: re.Match[str]) -> str:
        quoted = match.group("text")
        return match.group(0) if len(quoted) == 1 or quoted == "\\t" or quoted.startswith("<") else "..."

    hints = [hint for words, hint in _HINTS.items() if words in problem]
    shown = f"not YAML: {_QUOTED.sub(keep, problem)}"
    return f"{shown} ({hints[0]})" if hints else shown


@dataclass(kw_only=True)
class _Budget:
    """Values left before a document counts as too large."""

    left: int = LARGEST


@dataclass
class _Plain:
    """Turns nodes into plain values and notes their lines."""

    reader: YAML
    lines: dict[Place, int] = field(default_factory=dict)
    budget: _Budget = field(default_factory=_Budget)

    def document(self, node: Node) -> YamlDocument:
        value = self._value(node, ())
        return YamlDocument(value=value, lines=self.lines)

    def _value(self, node: Node, place: Place) -> object:
        line = _line(node)
        self.lines.setdefault(place, line)
        self.budget.left -= 1
        if len(place) > DEEPEST or self.budget.left < 0:
            raise YamlFault(line=line, text="nested too deep or too large for a flow", place=place[:2])
        if isinstance(node, ScalarNode):
            return self._scalar(node, place)
        if isinstance(node, SequenceNode) and _tag(node) == _TAG + "seq":
            return [self._value(item, (*place, number)) for number, item in enumerate(node.value)]
        if isinstance(node, MappingNode) and _tag(node) == _TAG + "map":
            return self._mapping(node, place)
        raise YamlFault(line=line, text="tags are not taken", place=place)

    def _mapping(self, node: MappingNode, place: Place) -> dict[str, object]:
        mapping: dict[str, object] = {}
        for key_node, value_node in node.value:
            line = _line(key_node)
            if not isinstance(key_node, ScalarNode) or _tag(key_node) not in _TEXT:
                raise YamlFault(line=line, text="a key that is not text; put it in quotes", place=place)
            key = str(key_node.value)
            if key in mapping:
                raise YamlFault(line=line, text="given twice", place=(*place, key))
            below = (*place, key)
            self.lines[below] = line
            mapping[key] = self._value(value_node, below)
        return mapping

    def _scalar(self, node: ScalarNode, place: Place) -> object:
        tag = _tag(node)
        if tag in _TEXT:
            return str(node.value)
        if tag not in _PLAIN:
            raise YamlFault(
                line=_line(node), text="tags are not taken; put a value that begins with '!' in quotes", place=place
            )
        try:
            value: object = self.reader.constructor.construct_object(node, deep=True)
        except (ValueError, YAMLError):
            return str(node.value)
        return _builtin(value)


def _builtin(value: object) -> object:
    """Without the YAML library's own subclasses of int, float and bool."""
    if isinstance(value, bool) or value is None:
        return value
    return int(value) if isinstance(value, int) else float(str(value)) if isinstance(value, float) else str(value)


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _tag(node: Node) -> str:
    return str(node.tag)
