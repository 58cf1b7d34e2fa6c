"""A ladder of panes: each window is put together from a few long panes and some short ones.

The first rung holds the panes; a block on a higher rung is that many slides long. A row is folded
into one block on every rung. A window takes a block if it contains the block but not the block
above it, so its blocks cover it once, and there are few of them.

    RANGE 10, SLIDE 1, rungs (1, 4)

    rung 1   |   |   |   |---|---|   |   |        blocks of 4 that the window contains
    rung 0    . . . . . -         - - - . .       and single panes at both of its edges
    window              |----------|

With one rung a pane goes into all RANGE / SLIDE windows; with two it goes into about twice the
square root of that, for one more fold of the row. A day by ten seconds needs three.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from penstock.errors import SpecificationError, complaint
from penstock.windows.arithmetic import first_wid, last_wid, window_end
from penstock.windows.panes import pane_start
from penstock.windows.spec import WindowSpec

MOST_RUNGS = 16


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of the domain: `rung` counts from 0 (panes), `start` is in the window's unit."""

    rung: int
    start: int


@dataclass(frozen=True, slots=True)
class Ladder:
    """The rungs of a window: how long the blocks on each of them are.

    Args:
        spec: a sliding, tumbling or cumulative window.
        rungs: length of the blocks on each rung in slides, from 1 upwards, each a multiple of the
            one before; the longest is at most RANGE - SLIDE, or a period.

    >>> from penstock.windows import sliding
    >>> ladder = Ladder(sliding(10, 1, on="ts"), rungs=(1, 4))
    >>> list(ladder.blocks(6))
    [Block(rung=0, start=6), Block(rung=1, start=4)]
    >>> [list(ladder.ends(block)) for block in ladder.blocks(6)]
    [[7, 15, 16], [8, 9, 10, 11, 12, 13, 14]]
    """

    spec: WindowSpec
    rungs: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        if not self.rungs or self.rungs[0] != 1 or len(self.rungs) > MOST_RUNGS:
            rule = f"must be 1 and at most {MOST_RUNGS - 1} longer ones"
            raise SpecificationError(complaint("rungs", rule, self.rungs))
        if any(above <= length or above % length for length, above in pairwise(self.rungs)):
            rule = "must each be longer than the one before, and a multiple of it"
            raise SpecificationError(complaint("rungs", rule, self.rungs))
        if len(self.rungs) > 1 and self.rungs[-1] > longest_rung(self.spec):
            rule = f"must be at most {longest_rung(self.spec)} slides for {self.spec}"
            raise SpecificationError(complaint("rungs", rule, self.rungs))

    def blocks(self, t: int) -> Iterator[Block]:
        """The block that holds `t` on every rung.

        Args:
            t: a value of WATTR in the unit of the specification.
        """
        yield Block(0, pane_start(t, self.spec))
        for rung, length in enumerate(self.rungs[1:], start=1):
            yield Block(rung, self._start(t, length))

    def ends(self, block: Block) -> Iterator[int]:
        """The ends of the windows that take the block, in the unit of the specification.

        Args:
            block: one that `blocks` gives.
        """
        first, last = self.span(block)
        if block.rung + 1 == len(self.rungs):
            yield from range(first, last + 1, self.spec.slide)
            return
        # Windows that contain the block above take that one; they lie between the two parts.
        above = Block(block.rung + 1, self._start(block.start, self.rungs[block.rung + 1]))
        above_first, above_last = self.span(above)
        yield from range(first, above_first, self.spec.slide)
        yield from range(above_last + self.spec.slide, last + 1, self.spec.slide)

    def span(self, block: Block) -> tuple[int, int]:
        """The ends of the first and the last window that contain the block."""
        spec = self.spec
        last = last_wid(block.start, spec)
        assert last is not None  # noqa: S101 - a landmark window has no ladder
        if block.rung == 0:
            return window_end(first_wid(block.start, spec), spec), window_end(last, spec)
        end = block.start + self.rungs[block.rung] * spec.slide
        if spec.period is not None:
            end = min(end, window_end(last, spec))  # a period may end in the middle of a block
        return end, window_end(last, spec)

    def _start(self, t: int, length: int) -> int:
        spec = self.spec
        begin = spec.origin
        if spec.period is not None:
            begin += (t - spec.origin) // spec.period * spec.period
        return t - (t - begin) % (length * spec.slide)


def overlap(spec: WindowSpec) -> int:
    """How many windows a row is in, at most: RANGE / SLIDE, rounded up.

    >>> from penstock.windows import cumulative, sliding
    >>> overlap(sliding(5, 2, on="ts")), overlap(cumulative(period=20, every=5, on="ts"))
    (3, 4)
    """
    length = spec.range if spec.period is None else spec.period
    assert length is not None  # noqa: S101 - landmark windows have no bound, and are not asked
    return -(-length // spec.slide)


def longest_rung(spec: WindowSpec) -> int:
    """The longest block, in slides, that every window of which it is a part can contain.

    >>> from penstock.windows import sliding
    >>> longest_rung(sliding(10, 1, on="ts"))
    9
    """
    if spec.period is not None:
        return spec.period // spec.slide
    assert spec.range is not None  # noqa: S101 - as above
    return max(1, spec.range // spec.slide - 1)
