"""What became of rows since a stream was first started, kept in its checkpoint.

    batch 7 commits ─► Spark tells ─► totals, and reports that wait ─► batch 8 commits ─► …
                                      └ penstock/accounts/totals

A batch is told of after it is committed, and by then it is never run again: so it is counted once.
Of one that was committed when its driver was killed, and of which nothing is written down yet, the
offsets tell how many records it had. What became of them nobody knows: they are "untold".
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.drops.sealed import seal, unseal
from penstock.engine.backlog import rows_of_batch
from penstock.engine.files import Folder
from penstock.errors import PenstockError, RecordDamaged
from penstock.network.operators import Source

FOLDER, _NAME, _KIND, _VERSION = "penstock/accounts", "totals", "accounts", 1
_log = logging.getLogger(__name__)

UNTOLD = "untold"
"""The account of rows of which nobody can say what became of them."""


@dataclass(frozen=True)
class Kept:
    """What is written down.

    Args:
        newest: the last batch that Spark has told of; -1 before the first.
        totals: query → what became of its rows, in all batches that are entered.
        waiting: reports of batches that are not entered yet, oldest first.
        dropping: of these, batch → of each stream, whether rows were dropped there.
    """

    newest: int = -1
    totals: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    waiting: Sequence[Mapping[str, Any]] = ()
    dropping: Mapping[int, tuple[bool, ...]] = field(default_factory=dict)


class Totals:
    """The file of a checkpoint.

    Args:
        checkpoint: of a stream that is about to be started.
    """

    def __init__(self, checkpoint: str) -> None:
        self._checkpoint, self._folder = checkpoint, Folder(checkpoint, FOLDER)
        done = [int(n) for n in Folder(checkpoint, "commits").names() if n.isdigit()]
        self._done = max(done, default=-1)

    def read(self) -> Kept | None:
        """What was written last; None if there is nothing that can be read."""
        try:
            values = unseal(_KIND, _VERSION, self._folder.read(_NAME))
            return Kept(
                int(values["newest"]),
                {name: Counter(counts) for name, counts in values["totals"].items()},
                values["waiting"],
                {int(batch): tuple(streams) for batch, streams in values["dropping"].items()},
            )
        except FileNotFoundError:
            return None
        except (RecordDamaged, OSError, LookupError, TypeError, ValueError, AttributeError):
            _log.warning("the accounts of %s cannot be read: they begin anew", self._checkpoint)
            return None

    def write(self, kept: Kept) -> None:
        """Writes all of it, whole or not at all; a stream is not stopped by its books.

        Args:
            kept: what there is now.
        """
        values = {
            "newest": kept.newest,
            "totals": {name: dict(counts) for name, counts in kept.totals.items()},
            "waiting": [dict(report) for report in kept.waiting],
            "dropping": {str(batch): list(streams) for batch, streams in kept.dropping.items()},
        }
        try:
            self._folder.write(_NAME, seal(_KIND, _VERSION, values).encode())
        except (PenstockError, OSError):
            _log.exception("the accounts of %s are not written", self._checkpoint)

    def missed(self, newest: int, sources: Sequence[Source]) -> Counter[str]:
        """Stream → records of batches that were done before, and of which nothing is written down.

        Args:
            newest: the last batch that is written down.
            sources: of the stream.
        """
        found: Counter[str] = Counter()
        for batch in range(newest + 1, self._done + 1):
            rows = rows_of_batch(self._checkpoint, batch, sources) or {}
            found.update({name: round(count) for name, count in rows.items()})
        return found
