"""What goes between a browser and a site: an address, what is asked there, what is sent back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal

TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent back.

    Args:
        body: all of it.
        kind: its media type.
        status: of HTTP.
        headers: besides those that every reply has, or in their place.
    """

    body: bytes
    kind: str = TEXT
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


def line(text: str, status: HTTPStatus = HTTPStatus.OK, **headers: str) -> Reply:
    """One line of text.

    Args:
        text: without an end of line.
        status: of HTTP.
        headers: with `_` for `-`.
    """
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(f"{text}\n".encode(), status=status, headers=named)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was let in.

    Args:
        values: those in its address, by name.
        body: what its JSON says; None for GET.
    """

    values: Mapping[str, str]
    body: Any = None


@dataclass(frozen=True, slots=True)
class Route:
    """What answers at an address.

    Args:
        answer: makes the reply.
        method: of HTTP.
        public: whether it is for everybody, token or not.
        entrance: whether the token may be part of the address, to be kept as a cookie.
    """

    answer: Callable[[Asked], Reply]
    method: Literal["GET", "POST"] = "GET"
    public: bool = False
    entrance: bool = False
