"""YAML with the place of every value in the text. Pure."""

from __future__ import annotations

import json
import re

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from airflow_provider_mm2.mirror.recovery.repoint.documents.spans import Node

_PLAIN = re.compile(r"[A-Za-z_/][\w./\-]*(:\d+)?(,[A-Za-z_][\w./\-]*(:\d+)?)*")
"""Texts that YAML 1.1 and 1.2 take for text without quotes, as far as we dare to tell."""

_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"})


def parse_yaml(text: str) -> Node:
    """The document's nodes.

    :raises ValueError: it is not YAML, or there is not one document in it.
    """
    reader = YAML(typ="rt")
    try:
        node = reader.compose(text)
        if node is None:
            raise ValueError("it is empty")
        return _node(reader, node, text)
    except RecursionError:
        raise ValueError("an alias that contains itself") from None
    except YAMLError as error:
        raise ValueError(f"not YAML ({type(error).__name__})") from None


def yaml_scalar(value: object) -> str:
    """A value as it is written: in quotes wherever a reader might take it for something else."""
    if not isinstance(value, str):
        return json.dumps(value)
    is_plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
    return value if is_plain else json.dumps(value, ensure_ascii=False)


def yaml_entry(name: str, value: object) -> str:
    """An entry of a mapping as it is written."""
    return f"{yaml_scalar(name)}: {yaml_scalar(value)}"


def _node(reader: YAML, node: object, text: str) -> Node:
    if isinstance(node, ScalarNode):
        return _scalar(reader, node, text)
    if isinstance(node, SequenceNode):
        items = ((number, item.start_mark.index, _node(reader, item, text)) for number, item in enumerate(node.value))
        return Node(
            start=node.start_mark.index,
            end=node.end_mark.index,
            entries=tuple(items),
            is_list=True,
            flow=bool(node.flow_style),
        )
    if isinstance(node, MappingNode):
        entries = tuple((str(key.value), key.start_mark.index, _node(reader, below, text)) for key, below in node.value)
        if len({name for name, _, _ in entries}) < len(entries):
            raise ValueError("a name is there twice")
        return Node(start=node.start_mark.index, end=node.end_mark.index, entries=entries, flow=bool(node.flow_style))
    raise ValueError("a kind of node that is not known")


def _scalar(reader: YAML, node: ScalarNode, text: str) -> Node:
    value = reader.constructor.construct_object(node, deep=True)
    end = node.end_mark.index
    if node.style in ("|", ">"):  # its end is the beginning of what follows
        while end > node.start_mark.index and text[end - 1] in " \r\n":
            end -= 1
    plain: object = value
    if isinstance(value, bool) or node.tag == "tag:yaml.org,2002:bool":
        plain = bool(value)
    elif isinstance(value, int):
        plain = int(value)
    elif isinstance(value, float):
        plain = float(str(value))
    elif value is not None:
        plain = str(value)
    return Node(start=node.start_mark.index, end=end, value=plain)
