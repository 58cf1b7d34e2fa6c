"""Where windows are dropped: where it saves the most work for each answer that is lost.

A window drop may stand before an operator if all that follows it is of one kind, and wants whole
windows. What it saves is the work on rows that belong to dropped windows only; a drop further up
saves more operators, but has more windows to keep together, and the smallest B of them all.

            ┌─► A1 ─► …         before A1 and A2 each, or once before both: for a price of a lost
    ── f ───┤                   answer in seconds of work, the better choice is found from the
            └─► A2 ─► …         queries upwards. Several prices are tried.

Tatbul and Zdonik, VLDB 2006, §2.3 and §3.5.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.planning.spans import Span
from penstock.planning.spread import Below, below
from penstock.planning.workload import Workload

LONG = 16
"""A query that tolerates any gap is dropped in batches of that many times its overlap: a sixteenth
of the rows of a dropped run is then needed by the windows beside it."""

_PRICES = 24
_EQUAL = 1e-9
_NOTHING = 0.0, 0.0


@dataclass(frozen=True, slots=True)
class Option:
    """A window drop that could be.

    Args:
        node: it stands before this one.
        span: ω, δ and B.
        saves: seconds per second if all windows were dropped.
        costs: seconds per second that the drop takes.
        weight: of the queries whose windows it drops, together.
        queries: their numbers; None for all that stand on the node.
    """

    node: int
    span: Span
    saves: float
    costs: float
    weight: float
    queries: tuple[int, ...] | None = None

    @property
    def batch(self) -> int:
        """B, also where any number of windows may be missing."""
        return self.span.batch or LONG * self.span.overlap

    @property
    def most(self) -> float:
        """The greatest share of windows that B allows to drop."""
        return self.batch / (self.batch + 1)


@dataclass(frozen=True, slots=True)
class Dropped:
    """Window drops with their shares.

    Args:
        drops: option, share of windows.
    """

    drops: tuple[tuple[Option, float], ...] = ()

    @property
    def saved(self) -> float:
        """Seconds per second."""
        return sum(p * one.saves - one.costs for one, p in self.drops)

    @property
    def lost(self) -> float:
        """Shares of answers, by weight."""
        return sum(p * one.weight for one, p in self.drops)


class Choices:
    """All window drops that a network allows.

    Args:
        load: the network.
        queries: the numbers of those whose windows may be dropped.
        only: of each node, whether these are all that stand on it.
    """

    def __init__(self, load: Workload, queries: Iterable[int], only: Sequence[bool]) -> None:
        self._below: dict[int, Below] = below(load, queries, only)
        self.options = {
            x: option for x, one in self._below.items() if (option := _option(load, x, one))
        }
        # At the most that it drops, what each saves and what it loses: looked up for every price.
        self._at_most = {
            x: ((most := one.most) * one.saves - one.costs, most * one.weight)
            for x, one in self.options.items()
        }

    def for_load(self, needed: float) -> Dropped:
        """The drops that save so much and lose the least; if none save enough, the most saving.

        Args:
            needed: seconds per second.
        """
        if needed <= 0 or not self.options:
            return Dropped()
        best: Dropped | None = None
        for price in self._prices():
            found = filled(self._chosen(price), needed)
            if best is None or _better(found, best, needed):
                best = found
        return best or Dropped()

    def most(self) -> Dropped:
        """The drops that save the most."""
        return Dropped(tuple((one, one.most) for one in self._chosen(math.inf)))

    def _prices(self) -> list[float]:
        ratios = sorted({one.weight / one.saves for one in self.options.values()})
        step = max(1, len(ratios) // _PRICES)
        # Just above a ratio, that option begins to pay.
        return [math.inf, *(ratio * (1 + _EQUAL) for ratio in ratios[::step])]

    def _chosen(self, price: float) -> list[Option]:
        """The drops with the greatest gain, none above another.

        Args:
            price: answers that may be lost for a second per second.
        """
        gain: dict[int, float] = {}
        taken: set[int] = set()
        at_any_price = math.isinf(price)
        for x, one in self._below.items():  # those that are fed first
            under = 0.0
            for child in one.children:
                under += gain[child]
            saved, lost = self._at_most.get(x, _NOTHING)
            own = saved if at_any_price else price * saved - lost
            if own > 0 and own > under * (1 + _EQUAL):
                taken.add(x)
            gain[x] = max(own, under)
        chosen: list[Option] = []
        waiting = [x for x, one in self._below.items() if one.root]
        while waiting:
            x = waiting.pop()
            if x in taken:
                chosen.append(self.options[x])
            else:
                waiting += self._below[x].children
        return chosen


def filled(options: Iterable[Option], needed: float) -> Dropped:
    """Shares of windows for drops that are apart: first those that save the most for their loss.

    Args:
        options: none above another.
        needed: seconds per second.
    """
    drops = []
    for one in sorted(options, key=lambda one: (one.weight / one.saves, one.node)):
        if needed <= 0:
            break
        share = min(one.most, (needed + one.costs) / one.saves)
        drops.append((one, share))
        needed -= share * one.saves - one.costs
    return Dropped(tuple(drops))


def _better(one: Dropped, other: Dropped, needed: float) -> bool:
    enough = needed * (1 - _EQUAL)
    if min(one.saved, other.saved) < enough:
        return one.saved > other.saved
    return one.lost < other.lost


def _option(load: Workload, x: int, one: Below) -> Option | None:
    if one.answers:
        return None
    batch = one.span.batch or LONG * one.span.overlap
    saves = one.saves(batch * one.span.slide)
    option = Option(x, one.span, saves, load.drop_cost * float(load.rows_in[x]), one.weight)
    return option if saves and batch / (batch + 1) * saves > option.costs else None
