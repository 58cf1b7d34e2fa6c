"""What a drop is told is checked where it comes in: a plan that cannot be never runs."""

from __future__ import annotations

import math

from penstock.errors import SpecificationError, complaint


def probability(name: str, value: object) -> None:
    """A number from 0 to 1."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:  # type: ignore[operator]
        raise SpecificationError(complaint(name, "must be a number from 0 to 1", value))


def whole(name: str, value: object, *, least: int = 0, most: float = math.inf) -> None:
    """A whole number that is not too small, nor too large."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        rule = f"must be a whole number, {least} or more"
        rule += "" if math.isinf(most) else f", at most {most}"
        raise SpecificationError(complaint(name, rule, value))


def named(name: str, value: object) -> None:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise SpecificationError(complaint(name, "must be a name", value))
