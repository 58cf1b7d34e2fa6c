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
from penstock.planning.spread import Below, Spread
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


class Possible:
    """All window drops that a network allows, for any of its queries.

    Args:
        load: the network.
    """

    def __init__(self, load: Workload) -> None:
        self.load = load
        self._spread = Spread(load)
        self._options: dict[int, tuple[Below, Option | None]] = {}

    def choices(self, queries: Iterable[int], only: Sequence[bool]) -> Choices:
        """Those for some of the queries.

        Args:
            queries: the numbers of those whose windows may be dropped.
            only: of each node, whether these are all that stand on it.
        """
        found = self._spread.below(queries, only)
        parents = self.load.parents
        # Where no drop can stand further up.
        roots = [x for x in found if len(parents[x]) > 1 or parents[x][0] not in found]
        options = {x: option for x, one in found.items() if (option := self._option(x, one))}
        return Choices(found, roots, options)

    def _option(self, x: int, one: Below) -> Option | None:
        known = self._options.get(x)
        if known is None or known[0] is not one:
            self._options[x] = known = one, _option(self.load, x, one)
        return known[1]


class Choices:
    """Window drops, of which some are chosen.

    Args:
        below: each operator before which one may stand, those that are fed first.
        roots: those above which none can stand.
        options: the drops that save something.
    """

    def __init__(
        self, below: dict[int, Below], roots: Sequence[int], options: dict[int, Option]
    ) -> None:
        self._below, self._roots, self.options = below, roots, options
        # At the most that it drops, what each saves and what it loses: looked up for every price.
        self._at_most = {
            x: ((most := one.most) * one.saves - one.costs, most * one.weight)
            for x, one in options.items()
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
        waiting = list(self._roots)
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
