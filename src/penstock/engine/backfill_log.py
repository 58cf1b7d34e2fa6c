"""What has been backfilled is written in the checkpoint, before it is done and when it is.

    penstock/backfill/1     windows of revision 1, all landed: they are not done again
    penstock/backfill/2     some have not landed: the next backfill begins with them

So a window is in one revision, and a revision that is written again has the same windows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.drops.gaps import Span
from penstock.drops.sealed import seal, unseal
from penstock.engine.files import Folder

FOLDER, KIND, VERSION = "penstock/backfill", "backfill", 1


@dataclass(frozen=True, slots=True)
class Revision:
    """Windows that are backfilled together.

    Args:
        number: from 1 on; 0 is what the stream delivered.
        windows: query → their starts and ends, in microseconds.
        landed: the queries whose answers are in their sinks.
    """

    number: int
    windows: Mapping[str, Sequence[Span]]
    landed: frozenset[str] = frozenset()

    @property
    def left(self) -> dict[str, Sequence[Span]]:
        """What has not landed."""
        return {name: spans for name, spans in self.windows.items() if name not in self.landed}

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        windows = {name: [list(span) for span in spans] for name, spans in self.windows.items()}
        return {"revision": self.number, "windows": windows, "landed": sorted(self.landed)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Revision:
        """What `to_json` gave."""
        windows = {n: [(a, b) for a, b in spans] for n, spans in values["windows"].items()}
        return cls(values["revision"], windows, frozenset(values["landed"]))


@dataclass(frozen=True, slots=True)
class Log:
    """The revisions of a checkpoint.

    Args:
        checkpoint: of the network.
    """

    checkpoint: str

    def revisions(self) -> list[Revision]:
        """All of them, in their order; a damaged record is an error, for it says what to do."""
        folder = Folder(self.checkpoint, FOLDER)
        numbers = sorted(int(name) for name in folder.names() if name.isdigit())
        return [
            Revision.from_json(unseal(KIND, VERSION, folder.read(str(number))))
            for number in numbers
        ]

    def write(self, revision: Revision) -> None:
        """Writes a revision, or writes it anew."""
        text = seal(KIND, VERSION, revision.to_json())
        Folder(self.checkpoint, FOLDER).write(str(revision.number), text.encode())


def revisions_to_do(
    known: Sequence[Revision],
    gaps: Mapping[str, Sequence[Span]],
    *,
    queries: Collection[str],
    again: bool = False,
) -> list[Revision]:
    """What is to be computed now: what was left undone, then what is new.

    Args:
        known: the revisions of the log.
        gaps: query → its windows that are missing, of those that are asked for.
        queries: the names of those that are asked for.
        again: whether revisions with such windows are computed again, though they have landed.

    >>> log = [Revision(1, {"n": [(0, 10)]}, frozenset({"n"})), Revision(2, {"n": [(10, 20)]})]
    >>> gaps = {"n": [(0, 10), (10, 20), (20, 30)]}
    >>> [(r.number, r.left) for r in revisions_to_do(log, gaps, queries=["n"])]
    [(2, {'n': [(10, 20)]}), (3, {'n': [(20, 30)]})]
    >>> [r.number for r in revisions_to_do(log, gaps, queries=["n"], again=True)]
    [1, 2, 3]
    """
    found = []
    for one in known:
        todo = set(one.left)
        if again:
            todo |= {n for n, spans in one.windows.items() if set(spans) & set(gaps.get(n, ()))}
        if todo & set(queries):  # what was left undone is done whole
            found.append(Revision(one.number, one.windows, frozenset(one.windows) - todo))
    taken = {(name, span) for one in known for name, spans in one.windows.items() for span in spans}
    new = {n: [s for s in spans if (n, s) not in taken] for n, spans in gaps.items()}
    new = {name: spans for name, spans in new.items() if spans}
    if new:
        found.append(Revision(max((r.number for r in known), default=0) + 1, new))
    return found
