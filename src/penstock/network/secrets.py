"""`${NAME}` in a setting stands for a variable of the environment, such as a password.

The setting keeps the name; the value is put in its place only where it is used, and is never shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from penstock.errors import complaint, did_you_mean
from penstock.network.tables import ConfigError

_VARIABLE = re.compile(r"\$?\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class Secret(str):
    """A text that is not shown by `repr`, and so not by a table or an error that it is part of.

    >>> {"password": Secret("swordfish")}, len(Secret("swordfish"))
    ({'password': '***'}, 9)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


def filled(value: Any, environ: Mapping[str, str], place: str) -> Any:  # noqa: ANN401 - TOML
    """The value with variables in the place of their names, in tables and lists as well.

    Args:
        value: of a TOML file.
        environ: the variables.
        place: what a message calls the value.

    >>> filled({"url": "kafka://${USER}@host", "n": 1}, {"USER": "me"}, "options")["url"] + ""
    'kafka://me@host'
    >>> filled("costs $${n}", {}, "note")
    'costs ${n}'
    """
    if isinstance(value, dict):
        return {key: filled(one, environ, f"{place} {key}") for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, environ, place) for one in value]
    if not isinstance(value, str):
        return value

    def of(found: re.Match[str]) -> str:
        if found[0].startswith("$$"):
            return found[0][1:]
        if found[1] not in environ:
            hint = did_you_mean(found[1], environ)
            rule = "needs a variable of the environment that is set"
            close = hint if hint.startswith("did you mean") else ""
            raise ConfigError(complaint(place, rule, found[1], close))
        return environ[found[1]]

    text = _VARIABLE.sub(of, value)
    secret = any(not found[0].startswith("$$") for found in _VARIABLE.finditer(value))
    return Secret(text) if secret else text
