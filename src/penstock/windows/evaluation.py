"""Four ways to compute the same windows, and the price of each: the cheapest is taken.

    direct        row ─► its windows                        one operator with state, as in Spark
    panes         row ─► its pane ─► windows                two; a row costs the same at any overlap
    ladder        row ─► a block per rung ─► windows        two; a pane goes into few windows
    tall ladder   row ─► its pane ─► blocks ─► windows      three; so it does where RANGE is a day

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

EXPLODED = 1.5
"""Price of a fold where a row is exploded into several."""

HELD = 48.0
"""Price of a block that is held in state until its windows are over: more groups to pass over."""

_TALL = 256
"""Overlap from which on a third operator, which costs each batch a tenth of a second, may pay."""

_MOST_FOLDS = 4
"""Rungs of a ladder on rows: each row is folded into a block on every one."""


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
        tall: whether the ladder stands on panes, and not on rows.
    """

    rungs: tuple[int, ...]
    reason: str
    way: str = ""
    tall: bool = False

    @property
    def name(self) -> str:
        """The way in a word or two."""
        if self.tall:
            return "tall ladder"
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
    >>> print(choose(sliding("1 day", "10 s", on="ts"), Density(rows=100, panes=100)).name)
    tall ladder
    """
    at = density or ASSUMED
    known = f"{at.rows:.3g} rows per pane and key" + ("" if density else " assumed")
    if spec.kind is Kind.TUMBLING or overlap(spec) == 1:
        return Evaluation((), "a row is in one window only, so there is nothing to share")
    prices = {way: price(spec, way, at) for way in _candidates(spec)}
    best = min(prices, key=lambda way: (prices[way], way))
    text = ", ".join(f"{_label(*way)} {p:.3g}" for way, p in _shown(prices, best))
    reason = f"overlap {overlap(spec)}, {known}: folds per pane and key: {text}"
    return Evaluation(best[0], reason, tall=best[1])


Way = tuple[tuple[int, ...], bool]
"""The rungs, and whether the ladder is a tall one."""


def price(spec: WindowSpec, way: Way, density: Density) -> float:
    """What the rows of one pane and key cost, in folds.

    Args:
        spec: a sliding or cumulative window.
        way: no rungs for direct.
        density: how full the panes are.
    """
    k, (rungs, tall) = overlap(spec), way
    if not rungs:
        # Every batch touches all open windows of a key, and those that began in it.
        touched = (k + density.panes - 1) / density.panes
        return density.rows * k + STATE * max(touched, 1.0)
    # A block is written once a batch until it closes; those of a tall ladder when panes close.
    batches, closing = max(1.0, 1.0 / density.panes), max(1.0, density.panes)
    spread = _spread(k, rungs)
    # Windows are touched only when panes close, and only those that take one of them.
    touched = min(spread, (k + closing - 1) / closing)
    if tall:
        folds = density.rows + len(rungs)
        blocks = STATE * batches + HELD * sum(1 / min(length, closing) for length in rungs)
        # A window takes the longest blocks, and long ones at its right edge, as they close; all
        # others when it is over.
        early = k / max(rungs[-1], closing) + sum(length > closing for length in rungs)
        touched = min(touched, 1.0 + early)
    else:
        folds = density.rows * (len(rungs) if len(rungs) == 1 else EXPLODED * len(rungs))
        blocks = STATE * batches * sum(1 / length for length in rungs)
    return folds + blocks + spread + STATE * max(touched, 1.0)


def _spread(k: int, rungs: tuple[int, ...]) -> float:
    """Windows that take a pane or, for its share of them, the blocks above it."""
    inner = sum(above / length - 1 for length, above in pairwise(rungs))
    return inner + (k - rungs[-1] + 1) / rungs[-1]


def _candidates(spec: WindowSpec) -> Iterator[Way]:
    yield (), False
    yield (1,), False
    longest = longest_rung(spec)
    k = overlap(spec)
    for factor in {max(2, round(k ** (1 / n))) for n in range(2, _MOST_FOLDS + 1)}:
        rungs: tuple[int, ...] = (1,)
        while rungs[-1] * factor <= longest and len(rungs) < _MOST_FOLDS:
            rungs = (*rungs, rungs[-1] * factor)
            yield rungs, False
    if k < _TALL:
        return
    # Twice as long from rung to rung: a block is then at one edge of its windows only, the left or
    # the right, so it stays in state as one block until it is needed.
    rungs = (1,)
    while rungs[-1] * 2 <= longest and len(rungs) < MOST_RUNGS:
        rungs = (*rungs, rungs[-1] * 2)
        yield rungs, True


def _label(rungs: tuple[int, ...], tall: bool) -> str:
    if tall:
        return f"{len(rungs)} rungs on panes"
    return "direct" if not rungs else "panes" if rungs == (1,) else f"rungs {rungs}"


def _shown(prices: dict[Way, float], best: Way) -> list[tuple[Way, float]]:
    """The best, and the two plain ways beside it."""
    shown = {best, ((), False), ((1,), False)}
    return sorted(((r, p) for r, p in prices.items() if r in shown), key=lambda item: item[1])
