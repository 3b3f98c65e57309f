"""``${NAME}`` in a setting of a flow, and what only looks like it. Pure."""

from __future__ import annotations

import re

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""``${NAME}`` in a setting. What is filled in is not looked at again, nor is what a connection has."""

_HALF_A_VARIABLE = re.compile(r"\$[A-Za-z_][A-Za-z0-9_]*\}")


def check_variables(value: str | int | float | bool) -> str | int | float | bool:
    """Refuse what was to be ``${NAME}`` and is not: it would be taken as it is, a password even, and refused later.

    :raises ValueError: says what is wrong, without the value.
    """
    if isinstance(value, str) and ("${" in VARIABLE.sub("", value) or _HALF_A_VARIABLE.fullmatch(value.strip())):
        raise ValueError(
            "it has the beginning or the end of ${NAME}, and is none: NAME has letters, digits and '_', and braces "
            "around it; what has a '${' in it and is meant so goes into a variable of the environment or a connection"
        )
    return value
