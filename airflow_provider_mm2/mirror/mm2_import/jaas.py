"""``sasl.jaas.config``: which login module, with which options.

Source: Kafka, ``JaasConfig``, which reads it with Java's ``StreamTokenizer``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LOGIN = re.compile(r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(?P<options>.*)\Z", re.S)
_OPTION = re.compile(r"""\s*([\w.\-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""", re.S)
_REST = re.compile(r"\s*;\s*")
_ESCAPED = re.compile(r"\\(.)", re.S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """One login.

    :param module: the last part of its class's name.
    """

    module: str
    options: dict[str, str]

    def __repr__(self) -> str:
        """Without the options, which hold secrets."""
        return f"Login(module={self.module!r})"


def read_jaas(text: str) -> Login | None:
    """The login of a configuration; None where it cannot be read."""
    match = _LOGIN.match(text)
    if match is None:
        return None
    options: dict[str, str] = {}
    rest, at = match.group("options"), 0
    while (option := _OPTION.match(rest, at)) is not None:
        quoted = next((part for part in option.groups()[1:3] if part is not None), None)
        options[option.group(1)] = option.group(4) if quoted is None else _ESCAPED.sub(r"\1", quoted)
        at = option.end()
    if _REST.fullmatch(rest, at) is None:
        return None
    return Login(module=match.group("module").rpartition(".")[2], options=options)
