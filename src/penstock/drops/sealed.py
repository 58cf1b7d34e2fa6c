"""Records carry their kind, a version and a checksum: one that is damaged is never believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from penstock.errors import RecordDamaged, complaint


def seal(kind: str, version: int, values: Mapping[str, Any]) -> str:
    """The values as one line of JSON that says what it is.

    Args:
        kind: such as "plan".
        version: of the form of the values.
        values: what JSON can hold.

    >>> unseal("plan", 1, seal("plan", 1, {"keep": 0.5}))
    {'keep': 0.5}
    """
    head = {"penstock": kind, "version": version}
    return json.dumps({**head, "checksum": _checksum(head, values), "values": values})


def unseal(kind: str, version: int, text: str | bytes) -> dict[str, Any]:
    """The values of a record; `RecordDamaged` if it is not what was written.

    Args:
        kind: that it must be of.
        version: that it must have.
        text: what was read.
    """
    try:
        record = json.loads(text)
        head = {"penstock": record["penstock"], "version": record["version"]}
        values, found = record["values"], record["checksum"]
        wanted = _checksum(head, values)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise RecordDamaged(complaint(f"a {kind}", "must be whole", text)) from error
    if found != wanted or not isinstance(values, dict):
        rule = "must be as it was written (its checksum differs)"
        raise RecordDamaged(complaint(f"a {kind}", rule, text))
    if head != {"penstock": kind, "version": version}:
        rule = f"must be a {kind} of version {version}"
        raise RecordDamaged(complaint("a record", rule, head))
    return values


def _checksum(head: Mapping[str, Any], values: object) -> str:
    # Sorted: a file system or an editor that puts keys in another order has changed nothing.
    return sha256(json.dumps([head, values], sort_keys=True).encode()).hexdigest()
