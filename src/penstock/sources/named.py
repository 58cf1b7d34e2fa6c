"""A source by its name and options, as a file of settings has them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from penstock.errors import SpecificationError, complaint, did_you_mean
from penstock.network.right_values import such_as
from penstock.sources.files import files
from penstock.sources.kafka import kafka
from penstock.sources.packets import packets
from penstock.sources.parse import json
from penstock.sources.rate import rate
from penstock.sources.replay import replay
from penstock.sources.source import Source

_KINDS: dict[str, Callable[..., Source]] = {
    "kafka": kafka,
    "files": files,
    "rate": rate,
    "replay": replay,
    "packets": packets,
}
_NOT_IN_A_FILE = {"clock", "parse"}


def named(kind: str, options: Mapping[str, Any]) -> Source:
    """The source that a file of settings names.

    Args:
        kind: "kafka", "files", "rate", "replay" or "packets".
        options: the arguments of the function of that name. Kafka also has `schema`, by which its
            records are read as JSON, and takes options of the connector as they are.

    >>> named("rate", {"rows": 1000}).describe()
    "Spark's rate source, 1000 rows a second"
    """
    if kind not in _KINDS:
        raise SpecificationError(
            complaint("source", "must be one that is known", kind, did_you_mean(kind, _KINDS))
        )
    make = _KINDS[kind]
    known = [name for name in inspect.signature(make).parameters if name not in _NOT_IN_A_FILE]
    given = dict(options)
    if kind == "kafka":
        known.append("schema")
        others = {name: given.pop(name) for name in list(given) if "." in name}
        given["options"] = {**others, **given.get("options", {})}
        if "schema" in given:
            given["parse"] = json(given.pop("schema"))
    for name in given:
        if name not in (*known, "parse"):
            hint = did_you_mean(name, known)
            rule = f"must have options that are known for {kind}"
            raise SpecificationError(complaint("source", rule, name, hint))
    for name, one in inspect.signature(make).parameters.items():
        if one.default is one.empty and name not in given:
            rule = f"must be given for {kind}"
            raise SpecificationError(complaint(name, rule, None, such_as(name)))
    return make(**given)
