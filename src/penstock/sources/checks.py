"""What the settings of a source must be is checked when it is made, before anything starts."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import SchemaError, SpecificationError, complaint


def text(name: str, value: object) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise SpecificationError(complaint(name, "must be a text that is not empty", value))
    return value


def whole(name: str, value: object, least: int = 1) -> int:
    """A whole number that is not too small."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        rule = f"must be a whole number of at least {least}"
        raise SpecificationError(complaint(name, rule, value))
    return value


def positive(name: str, value: object) -> float:
    """A number above 0."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < float(value) < float("inf"):  # type: ignore[arg-type]
        raise SpecificationError(complaint(name, "must be a number greater than 0", value))
    return float(value)  # type: ignore[arg-type]


def names(name: str, value: object) -> tuple[str, ...]:
    """One name, or several."""
    listed = (value,) if isinstance(value, str) else value
    if not isinstance(listed, tuple | list) or not all(isinstance(n, str) and n for n in listed):
        raise SpecificationError(complaint(name, "must be a name or a list of names", value))
    return tuple(listed)


def no_clash(what: str, given: Iterable[str], ours: Iterable[str]) -> None:
    """Columns that a source adds must not be there already."""
    taken = {name.lower() for name in ours}
    clash = sorted(name for name in given if name.lower() in taken)
    if clash:
        rule = "must have no column with a name that the source adds"
        raise SchemaError(complaint(what, rule, ", ".join(clash)))
