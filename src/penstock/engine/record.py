"""What a checkpoint was made with; its state fits no other way of computing the windows."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import version
from itertools import zip_longest
from typing import Any

from penstock.engine.files import Folder
from penstock.errors import UsageError, complaint
from penstock.network.query import Query
from penstock.windows import Evaluation

_FOLDER, _FILE, _NETWORK, _FOLDS = "penstock", "evaluation.json", "network.txt", "folds.json"

FORM = 3
"""Of the state and the records of a network; a change after which old ones do not fit raises it."""
_FORM = "form.json"


def recorded(checkpoint: str) -> Evaluation | None:
    """How the windows of this checkpoint are computed; None if it is new."""
    entry = _read(checkpoint)
    return None if entry is None else _evaluation(entry)


def remember(checkpoint: str, query: Query, evaluation: Evaluation) -> Evaluation:
    """The way in which this checkpoint began, which is `evaluation` if it is new.

    Args:
        checkpoint: the stream's checkpointLocation.
        query: what the stream computes; another one than before is refused.
        evaluation: the way to take if the checkpoint is new.
    """
    entry = _read(checkpoint)
    if entry is None:
        content = {
            "query": str(query),
            "late": query.terms,
            "rungs": evaluation.rungs,
            "reason": evaluation.reason,
            "way": evaluation.way,
            "tall": evaluation.tall,
        }
        Folder(checkpoint, _FOLDER).write(_FILE, json.dumps(content, indent=1).encode())
        return evaluation
    if (entry["query"], entry["late"]) != (str(query), query.terms):
        message = (
            f"checkpoint must belong to the same query, got {checkpoint!r}, which was made for "
            f"{entry['query']} ({entry['late']}); give the new query a checkpoint of its own"
        )
        raise UsageError(message)
    return _evaluation(entry)


def remember_network(checkpoint: str, network: str) -> bool:
    """Notes what network a checkpoint is of; True if it is new, and refuses another one.

    Args:
        checkpoint: the network's checkpointLocation.
        network: its text.
    """
    folder = Folder(checkpoint, _FOLDER)
    if _NETWORK not in folder.names():
        made_by = {"form": FORM, "penstock": version("penstock")}
        folder.write(_FORM, json.dumps(made_by).encode())
        folder.write(_NETWORK, network.encode())
        return True
    _check_form(folder, checkpoint)
    before, now = folder.read(_NETWORK).decode().splitlines(), network.splitlines()
    if before != now:
        raise _another(checkpoint, before, now)
    return False


def _another(checkpoint: str, before: list[str], now: list[str]) -> UsageError:
    apart = next((a or b for a, b in zip_longest(before, now) if a != b), "")
    # A long path would leave no room for it after "got".
    rule = f"must belong to the same network (they differ in '{apart}')"
    hint = "give the new network a checkpoint of its own"
    return UsageError(complaint("checkpoint", rule, checkpoint, hint))


def check_network(checkpoint: str, network: str) -> None:
    """Refuses a checkpoint of which no such network has run; its kinds of answers do not matter.

    Args:
        checkpoint: the network's checkpointLocation.
        network: its text.
    """
    folder = Folder(checkpoint, _FOLDER)
    if _NETWORK not in folder.names():
        rule, hint = "must be that of a network that has run", "it has a folder penstock"
        raise UsageError(complaint("checkpoint", rule, checkpoint, hint))
    before, now = (_asked(text) for text in (folder.read(_NETWORK).decode(), network))
    if before != now:
        raise _another(checkpoint, before, now)


def _asked(network: str) -> list[str]:
    kinds = (
        *(": approximate answers", ": approximate answers with a floor"),
        *(": subset answers", ": subset answers per group"),
    )
    return [line for line in network.splitlines() if not line.endswith(kinds)]


def _check_form(folder: Folder, checkpoint: str) -> None:
    """Refuses a checkpoint whose state another version of penstock has written in another form."""
    made_by: dict[str, Any] = {"form": 1, "penstock": "0.1"}  # which did not say so at first
    if _FORM in folder.names():
        made_by = json.loads(folder.read(_FORM))
    if made_by["form"] != FORM:
        rule = (
            f"must have state of form {FORM}, and is of form {made_by['form']}, "
            f"made by penstock {made_by['penstock']}"
        )
        hint = "go on with that version, or give the network a new checkpoint"
        raise UsageError(complaint("checkpoint", rule, checkpoint, hint))


def remembered_folds(checkpoint: str, look: Callable[[], list[list[int]]]) -> list[list[int]]:
    """Which groups of queries are folded together, as the checkpoint began.

    Args:
        checkpoint: the stream's checkpointLocation.
        look: finds out, for a stream that has not begun.
    """
    folder = Folder(checkpoint, _FOLDER)
    if not Folder(checkpoint, "offsets").names():
        found = look()
        folder.write(_FOLDS, json.dumps(found).encode())
        return found
    if _FOLDS not in folder.names():
        return []  # a checkpoint from before there were any
    known: list[list[int]] = json.loads(folder.read(_FOLDS))
    return known


def forget_network(checkpoint: str) -> None:
    """Takes back what was remembered of a network that could not start."""
    Folder(checkpoint, _FOLDER).remove(_NETWORK)


def forget(checkpoint: str) -> None:
    """Takes back what was remembered of a stream that could not start."""
    Folder(checkpoint, _FOLDER).remove(_FILE)


def _evaluation(entry: dict[str, Any]) -> Evaluation:
    return Evaluation(tuple(entry["rungs"]), entry["reason"], entry["way"], tall=entry["tall"])


def _read(checkpoint: str) -> dict[str, Any] | None:
    folder = Folder(checkpoint, _FOLDER)
    if _FILE not in folder.names():
        return None
    entry: dict[str, Any] = json.loads(folder.read(_FILE))
    if "tall" not in entry:
        message = (
            f"checkpoint must be of this version of penstock, got {checkpoint!r}, whose state has "
            f"an older form; start the stream with a new one"
        )
        raise UsageError(message)
    return entry
