"""What a network says of itself when it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from penstock.control.snapshot import Snapshot
from penstock.control.status import Status
from penstock.view.html import status_html


@dataclass(frozen=True)
class Reading:
    """The statistics of a network at one moment; `str()` is a table to look at.

    Args:
        parts: of each Spark stream of the network.
    """

    parts: tuple[Snapshot, ...]

    def table(self) -> list[dict[str, object]]:
        """Plain rows, streams first, then operators, then queries; `of` says which."""
        return [row for part in self.parts for row in part.table()]

    def to_json(self) -> list[dict[str, object]]:
        """The same as plain values."""
        return [part.to_json() for part in self.parts]

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.parts))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


class Seen(Status):
    """A status that a notebook shows as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return status_html(self)
