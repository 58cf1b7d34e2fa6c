"""Three ways to compute the same windows, and the price of each: the cheapest is taken.

    direct     row ─► its windows                       one operator with state, as in Spark
    panes      row ─► its pane ─► windows               two; a row costs the same at any overlap
    ladder     row ─► a block per rung ─► windows       two; a pane goes into few windows

Prices are in units of one fold: one row into one group of a hash table. What is paid for a group
that is kept in state, written and removed again, was measured to be about twelve folds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from penstock.windows.kinds import Kind
from penstock.windows.ladder import MOST_RUNGS, longest_rung, overlap
from penstock.windows.spec import WindowSpec

STATE = 12.0
"""Price of a group in state: its shuffle, its look-up, its writing and its removal, in folds."""


@dataclass(frozen=True, slots=True)
class Density:
    """How full the panes are; it decides whether it pays to fold rows into them first.

    Args:
        rows: rows per pane and key.
        panes: panes per batch; below 1 where a batch is shorter than a slide.
    """

    rows: float
    panes: float = 1.0


ASSUMED = Density(rows=10.0, panes=1.0)
"""What is assumed of a stream that nobody has looked at."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A way to compute windows: the rungs of its ladder (none: direct), and why it was taken.

    Args:
        rungs: of the ladder; none if there is no ladder.
        reason: why.
        way: its name, if it is another one than those above.
    """

    rungs: tuple[int, ...]
    reason: str
    way: str = ""

    @property
    def name(self) -> str:
        """The way in one word."""
        return self.way or ("direct", "panes", "ladder")[min(len(self.rungs), 2)]


def choose(spec: WindowSpec, density: Density | None = None) -> Evaluation:
    """The cheapest way to compute the windows of a stream of this density.

    Args:
        spec: a sliding, tumbling or cumulative window.
        density: what is known of the stream; None to assume a middling one.

    >>> from penstock.windows import sliding
    >>> print(choose(sliding("60 s", "1 s", on="ts"), Density(rows=100, panes=60)).name)
    panes
    >>> print(choose(sliding("6 s", "1 s", on="ts"), Density(rows=2, panes=60)).name)
    direct
    >>> choose(sliding("10 min", "1 s", on="ts"), Density(rows=100, panes=100)).rungs
    (1, 24)
    """
    at = density or ASSUMED
    known = f"{at.rows:.3g} rows per pane and key" + ("" if density else " assumed")
    if spec.kind is Kind.TUMBLING or overlap(spec) == 1:
        return Evaluation((), "a row is in one window only, so there is nothing to share")
    prices = {rungs: price(spec, rungs, at) for rungs in _candidates(spec)}
    best = min(prices, key=lambda rungs: (prices[rungs], rungs))
    text = ", ".join(f"{_label(r)} {p:.3g}" for r, p in _shown(prices, best))
    return Evaluation(best, f"overlap {overlap(spec)}, {known}: folds per pane and key: {text}")


def price(spec: WindowSpec, rungs: tuple[int, ...], density: Density) -> float:
    """What the rows of one pane and key cost, in folds.

    Args:
        spec: a sliding or cumulative window.
        rungs: those of the ladder; none for direct.
        density: how full the panes are.
    """
    k = overlap(spec)
    if not rungs:
        # Every batch touches all open windows of a key, and those that began in it.
        touched = (k + density.panes - 1) / density.panes
        return density.rows * k + STATE * max(touched, 1.0)
    folds = density.rows * len(rungs)
    batches = max(1.0, 1.0 / density.panes)  # a pane is written once a batch until it closes
    blocks = STATE * batches * sum(1 / length for length in rungs)
    spread = _spread(k, rungs)
    # Windows are touched only when panes close, and only those that take one of them.
    closing = max(density.panes, 1.0)
    touched = min(spread, (k + closing - 1) / closing)
    return folds + blocks + spread + STATE * max(touched, 1.0)


def _spread(k: int, rungs: tuple[int, ...]) -> float:
    """Windows that take a pane or, for its share of them, the blocks above it."""
    inner = sum(above / length - 1 for length, above in pairwise(rungs))
    return inner + (k - rungs[-1] + 1) / rungs[-1]


def _candidates(spec: WindowSpec) -> Iterator[tuple[int, ...]]:
    yield ()
    yield (1,)
    longest = longest_rung(spec)
    k = overlap(spec)
    for factor in {max(2, round(k ** (1 / n))) for n in range(2, MOST_RUNGS + 1)}:
        rungs: tuple[int, ...] = (1,)
        while rungs[-1] * factor <= longest and len(rungs) < MOST_RUNGS:
            rungs = (*rungs, rungs[-1] * factor)
            yield rungs


def _label(rungs: tuple[int, ...]) -> str:
    return "direct" if not rungs else "panes" if rungs == (1,) else f"rungs {rungs}"


def _shown(
    prices: dict[tuple[int, ...], float], best: tuple[int, ...]
) -> list[tuple[tuple[int, ...], float]]:
    """The best, and the two plain ways beside it."""
    shown = {best, (), (1,)}
    return sorted(((r, p) for r, p in prices.items() if r in shown), key=lambda item: item[1])
