"""The ledger next to the answers: of each folder of files, the windows whose answers go there.

    answers/batch=7/part-….parquet
    answers/_ledger/0-7.json           of part 0 of the network; a line for each window

Spark and Arrow pass over names that begin with `_`, so that who reads the answers does not see it.
A batch that is entered again replaces its own file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.engine.deliver import Sink
from penstock.engine.files import Folder
from penstock.errors import UsageError
from penstock.sinks.parquet import Parquet

FOLDER = "_ledger"

_TIMES = ("window_start", "window_end")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Beside:
    """Folders of answers that a ledger is written to as well.

    Args:
        part: the number of the part of the network.
        folders: path → the queries whose answers go there.
    """

    part: int = 0
    folders: Mapping[str, frozenset[str]] = field(default_factory=dict)
    _failed: set[str] = field(default_factory=set)

    @classmethod
    def of(
        cls, part: int, names: Sequence[str], sink: Sink | None, sinks: Mapping[str, Sink]
    ) -> Beside:
        """The folders of a part.

        Args:
            part: its number.
            names: of its queries.
            sink: for all queries that have none of their own.
            sinks: of queries.
        """
        found: dict[str, set[str]] = {}
        for name in names:
            mine = sinks.get(name, sink)
            if isinstance(mine, Parquet):
                found.setdefault(mine.path, set()).add(name)
        return cls(part, {path: frozenset(some) for path, some in found.items()})

    def write(self, batch: int, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        """Writes the entries of a batch; yields what went wrong, of each folder once.

        The answers are there, and so is the ledger in the checkpoint: the stream goes on.

        Args:
            batch: its id.
            rows: all entries of the batch.
        """
        for path, names in self.folders.items():
            mine = [_readable(row) for row in rows if row["query"] in names]
            if not mine:
                continue
            try:
                lines = "\n".join(map(json.dumps, mine)).encode()
                Folder(path, FOLDER).write(f"{self.part}-{batch}.json", lines)
            except (UsageError, OSError) as error:
                if path not in self._failed:
                    self._failed.add(path)
                    yield f"the ledger cannot be written to {path}, only to the checkpoint: {error}"


def _readable(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, **{name: _time(row[name]) for name in _TIMES}}


def _time(micros: int | None) -> str | None:
    """As Spark casts it to a timestamp; beyond the years that Python knows, the number."""
    if micros is None:
        return None
    with suppress(OverflowError):
        return (_EPOCH + timedelta(microseconds=micros)).isoformat()
    return str(micros)
