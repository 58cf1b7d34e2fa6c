"""What window drop and random drop cost and save, as the paper has it, to compare with.

    R ─► subnet 1 (cost1, sel1) ─► aggregate (cost2, sel2) ─► subnet 3 (cost3)
    └ window drop                                          └ random drop

The plans do not use `normal` and `fake`: the paper divides by all rows of a batch of windows and
counts those twice that two batches share. What a simulation gives is `Span.kept`.

Tatbul and Zdonik, VLDB 2006, §3.6.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.planning.spans import Span


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A query with one aggregate.

    Args:
        rate: R, rows per second.
        costs: seconds per row, of what is before the aggregate, of it, and of what is after it.
        selectivities: of what is before the aggregate, and of it.
    """

    rate: float
    costs: tuple[float, float, float]
    selectivities: tuple[float, float]

    @property
    def load(self) -> float:
        """Seconds per second when nothing is dropped."""
        (before, own, after), (sel1, sel2) = self.costs, self.selectivities
        return self.rate * (before + sel1 * (own + sel2 * after))

    def saved_by_random_drop(self, p: float, drop: float = 0.0) -> float:
        """S_RDrop: seconds per second, for a drop that stands behind the aggregate.

        Args:
            p: the share of answers that is dropped.
            drop: seconds for each row that it looks at.
        """
        sel1, sel2 = self.selectivities
        return self.rate * sel1 * sel2 * (p * self.costs[2] - drop)

    def saved_by_window_drop(self, p: float, span: Span, overhead: Overhead) -> float:
        """S_WinDrop: seconds per second, for a drop that stands before all.

        Args:
            p: the share of windows that is dropped.
            span: ω, δ and B; one row in each unit of time.
            overhead: what marks and fake rows cost.
        """
        (before, own, after), (sel1, sel2) = self.costs, self.selectivities
        rest, marks = normal(p, span), fake(p, span)
        saved = sel1 * sel2 * p * after + (1 - rest) * (before + sel1 * own)
        spent = overhead.drop + overhead.flag + marks * overhead.copy
        spent += (rest / span.slide + marks) * overhead.check
        return self.rate * (saved - spent)


@dataclass(frozen=True, slots=True)
class Overhead:
    """What a window drop costs, in seconds per row.

    Args:
        drop: cost_WinDrop, for each row that it looks at.
        flag: cost_fcheck: is the row a fake one?
        copy: cost_copy, for each fake row that is handed on.
        check: cost_wcheck, for each mark that the aggregate looks at.
    """

    drop: float = 0.0
    flag: float = 0.0
    copy: float = 0.0
    check: float = 0.0


def normal(p: float, span: Span) -> float:
    """sel_w1: the share of rows that a window drop hands on as they are.

    >>> normal(0.5, Span(10, 10, batch=4)), normal(0.5, Span(100, 1, batch=10))
    (0.5, 1.0)
    """
    if span.batch is None or not span.drops_early:
        return 1.0
    whole = (span.batch - 1) * span.slide + span.range
    return 1 - p * ((span.batch + 1) * span.slide - span.range) / whole


def fake(p: float, span: Span) -> float:
    """sel_w2: the share of rows that only carry the mark of a dropped window.

    >>> fake(0.5, Span(10, 10, batch=4))
    0.05
    """
    if span.batch is None or not span.drops_early:
        return 0.0
    early = (span.batch + 1) * span.slide - span.range
    return p * (span.batch + 1 - span.range // span.slide) / early
