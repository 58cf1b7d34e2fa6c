"""A sink by its format and its settings, as a file of settings has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.errors import SpecificationError, complaint, did_you_mean
from penstock.sinks.console import console
from penstock.sinks.kafka import kafka
from penstock.sinks.memory import memory
from penstock.sinks.parquet import parquet
from penstock.sinks.sink import Sink

_FORMATS: dict[str, Callable[..., Sink]] = {
    "parquet": parquet,
    "kafka": kafka,
    "console": console,
    "memory": memory,
}


def named(settings: Mapping[str, Any]) -> Sink:
    """The sink that a file of settings names.

    Args:
        settings: `format`, and the arguments of the function of that name.

    >>> named({"format": "parquet", "path": "answers"}).describe()
    'parquet files in answers'
    """
    given = dict(settings)
    form = given.pop("format", None)
    if form not in _FORMATS:
        rule, hint = "must be one that is known", did_you_mean(str(form), _FORMATS)
        raise SpecificationError(complaint("sink format", rule, form, hint))
    try:
        return _FORMATS[form](**given)
    except TypeError as error:
        reason = str(error).replace(f"{form}()", "it")
        raise SpecificationError(complaint(f"sink {form}", "must be complete", reason)) from error
