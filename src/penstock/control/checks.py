"""Numbers are checked where they come in, so that a sum kept for hours is never spoilt."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from penstock.errors import SpecificationError, UsageError, complaint, did_you_mean

Value = TypeVar("Value")


def amount(name: str, value: object) -> None:
    """A finite number, 0 or more."""
    if not _number(value) or value < 0:  # type: ignore[operator]
        raise SpecificationError(complaint(name, "must be a finite number, 0 or more", value))


def positive(name: str, value: object) -> None:
    """A finite number greater than 0."""
    if not _number(value) or value <= 0:  # type: ignore[operator]
        raise SpecificationError(complaint(name, "must be a finite number above 0", value))


def finite(name: str, value: object) -> None:
    """A finite number."""
    if not _number(value):
        raise SpecificationError(complaint(name, "must be a finite number", value))


def known(what: str, names: Iterable[str], among: Collection[str]) -> None:
    """Every name is one of those that were named at the start."""
    for name in names:
        if name not in among:
            raise UsageError(complaint(what, "is not known", name, did_you_mean(name, among)))


def frozen(values: Mapping[str, Value]) -> Mapping[str, Value]:
    """A copy that nobody can change."""
    return MappingProxyType(dict(values))


def _number(value: object) -> bool:
    # numpy's numbers are welcome, but a bool is a slip.
    if isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)  # type: ignore[arg-type]
    except TypeError:
        return False
