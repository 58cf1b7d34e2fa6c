"""Plans in a file: written where they are made, read where they are used."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from penstock.errors import SpecificationError, complaint
from penstock.nodes.lookup import LISTS, Part, Plans
from penstock.nodes.splits import Location

FORMAT = "penstock plans 1"
_ARRAYS = ("keeps", "loads", "capacity")
_DAMAGED = (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)
"""What a file that is not whole may lead to while it is read."""


def save_plans(plans: Plans, path: str | Path) -> None:
    """Writes plans to a file.

    Args:
        plans: all of them.
        path: of the file.
    """
    head = [
        {
            "inputs": part.inputs,
            "locations": [[one.after, *one.before] for one in part.locations],
            "entry": part.entry,
            "error": part.error,
        }
        for part in plans.parts
    ]
    arrays: dict[str, Any] = {"head": np.array(json.dumps([FORMAT, head]))}
    for number, part in enumerate(plans.parts):
        for name in (*LISTS, *_ARRAYS):
            arrays[f"{name}{number}"] = np.asarray(getattr(part, name))
    with Path(path).open("wb") as file:
        np.savez_compressed(file, **arrays)


def load_plans(path: str | Path) -> Plans:
    """Reads plans from a file.

    Args:
        path: of a file that `save_plans` wrote.
    """
    try:
        with Path(path).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            written, head = json.loads(str(file["head"]))
            parts = tuple(_part(one, number, file) for number, one in enumerate(head))
    except (*_DAMAGED, OSError) as error:
        rule = "must be a file of plans that is whole"
        raise SpecificationError(complaint(str(path), rule, str(error))) from error
    if written != FORMAT:
        rule = f"must be plans in the format {FORMAT!r}"
        raise SpecificationError(complaint(str(path), rule, written))
    return Plans(parts)


def _part(head: Mapping[str, Any], number: int, file: Mapping[str, Any]) -> Part:
    return Part(
        inputs=tuple(head["inputs"]),
        locations=tuple(Location(after, tuple(before)) for after, *before in head["locations"]),
        entry=tuple(head["entry"]),
        error=head["error"],
        **{name: file[f"{name}{number}"].tolist() for name in LISTS},
        **{name: file[f"{name}{number}"] for name in _ARRAYS},
    )
