"""All that is shown of a run at one moment; every view draws this, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.control.snapshot import Snapshot
from penstock.control.status import Status
from penstock.view.parts import together


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A run up to now. Nothing in it is a secret.

    Args:
        title: of the network, such as the name of its file.
        picture: of the network with its drops, as SVG.
        statuses: of the batches so far, oldest first; a long run keeps the last few thousand.
        answers: query → its latest answers, newest window first; each has the query's columns, and
            for approximate answers of `x` also `x_low`, `x_high`, `keep`, `sample`, `exact`.
        accounts: query → what became of its rows since the start: rows_in, shed_at_stream,
            shed_on_the_way, taken, and late ones and those without a time.
        gaps: query → windows that were not delivered, the latest first, as (end, fate).
        statistics: what was learnt of operators and streams, of each part.
    """

    title: str
    picture: str = ""
    statuses: tuple[Status, ...] = ()
    answers: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    accounts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    gaps: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    statistics: tuple[Snapshot, ...] = ()

    @property
    def now(self) -> Status | None:
        """The last batch, that of each part as one; None before the first."""
        return together(self.statuses)
