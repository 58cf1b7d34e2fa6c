"""What is assumed where nothing was measured; every guess is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

RATE = 1000.0
"""Rows per second of a stream of which no rate is known."""

GROUPS = 100
"""The worst group of a query has that part of its rows."""

SELECTIVITY: Mapping[str, float] = {"filter": 0.5, "semi-join": 0.5}
"""By the kind of the operator; 1 for others."""


@dataclass(frozen=True, slots=True)
class Guesses:
    """What was assumed, and of what."""

    of: dict[str, list[str]] = field(default_factory=dict)

    def note(self, what: str, name: str) -> None:
        """Remembers a guess.

        Args:
            what: was assumed.
            name: of the operator, stream or query.
        """
        self.of.setdefault(what, []).append(name)

    def said(self) -> tuple[str, ...]:
        """A line for each kind of guess."""
        return tuple(f"{what}: {', '.join(names)}" for what, names in self.of.items())
