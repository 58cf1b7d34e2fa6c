"""Options of a connection, shown without their secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from penstock.errors import SpecificationError, complaint
from penstock.network.secrets import Secret

HIDDEN = "***"

_SECRET = re.compile(r"pass|pwd|secret|token|jaas|key|credential|sasl|auth", re.IGNORECASE)
_IN_ADDRESS = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_SHORTEST = 4
"""Characters of a variable's value that is taken out of texts, whatever the option is: a port or a
"1" would be found everywhere."""
_QUOTED = re.compile(r"""=\s*["']([^"']+)["']""")


class Options(Mapping[str, str]):
    """Names and values that a connector takes; printing them hides what may be secret.

    Args:
        values: by name. Numbers and booleans become text, as Spark's options are.

    >>> Options({"kafka.sasl.jaas.config": "user and password", "subscribe": "packets"})
    Options(kafka.sasl.jaas.config=***, subscribe=packets)
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        if values is not None and not isinstance(values, Mapping):
            rule = "must be a mapping of names to values"
            # The value may be a secret in the wrong place: its type is enough.
            raise SpecificationError(complaint("options", rule, type(values).__name__))
        self._values = {str(name): _text(value) for name, value in (values or {}).items()}

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={self.shown(name)}" for name in sorted(self._values))
        return f"Options({shown})"

    def shown(self, name: str) -> str:
        """The value of an option as it may be printed."""
        if _SECRET.search(name) or isinstance(self._values[name], Secret):
            return HIDDEN
        return without_login(self._values[name])

    def hide(self, text: str) -> str:
        """A text, such as an error of the connector's, with every secret value taken out.

        >>> Options({"kafka.ssl.key.password": "hunter2"}).hide("cannot decrypt with hunter2")
        'cannot decrypt with ***'
        """
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return without_login(text)

    def _secrets(self) -> Iterator[str]:
        for name, value in self._values.items():
            if value and _SECRET.search(name):
                yield value
                # A login module's settings hold the password among other things.
                yield from _QUOTED.findall(value)
            elif isinstance(value, Secret) and len(value) >= _SHORTEST:
                yield value


def without_login(text: str) -> str:
    """A text with the user and password of every address in it hidden.

    >>> without_login("read from https://me:mine@registry:8081/x")
    'read from https://***@registry:8081/x'
    """
    return _IN_ADDRESS.sub(HIDDEN, text)


def _text(value: object) -> str:
    if isinstance(value, Secret):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)
