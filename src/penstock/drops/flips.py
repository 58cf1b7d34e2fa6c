"""One window drop at one moment: coins fall for the units of windows that rows still come for."""

from __future__ import annotations

from dataclasses import replace

from penstock.drops.coins import coin
from penstock.drops.decisions import Decisions, Frontier, ordered
from penstock.drops.marks import Marks
from penstock.drops.plan import WindowDrop
from penstock.drops.targets import Target, Units, last_of
from penstock.windows import first_wid

_DEBT = 4
"""Batches' worth of opened windows that are made up for later: p may have fallen since."""


class Flips:
    """One window drop at one moment: the units that rows are still to come for."""

    def __init__(
        self, state: Decisions, drop: WindowDrop, targets: list[Target], newest: int, until: int
    ) -> None:
        self._before, self._targets, self._drop, self._newest = state, targets, drop, newest
        self._units = [Units(target.window, drop.slide) for target in targets]
        pairs = list(zip(targets, self._units, strict=True))
        # Windows that end by `newest` have most of their rows: giving them up would save nothing.
        self.low = min(units.unit(first_wid(newest, one.window)) for one, units in pairs)
        high = max(units.unit(last_of(until, one)) for one, units in pairs)
        # No further than rows can come: what begins later has lost none, and can still be decided
        # otherwise, though the coin of its batch has fallen.
        self.stop = max(self.low, high + 1)
        self._marks = [
            Marks(
                units.windows(self.low).start - one.max_gap - 1,
                units.windows(self.stop).start + one.max_gap + 1,
                state.runs(one.name),
            )
            for one, units in pairs
        ]
        self._open = [state.first_open(one.window) for one in targets]

    def flip(self, seed: int, key: str, frontier: Frontier) -> Frontier:
        """Applies the coins; those of units that were decided before may have turned to drop."""
        batch, debt = self._drop.batch, frontier.debt
        for number in range(self.low // batch, -(-self.stop // batch)):
            falls = coin(seed, key, number) < self._drop.p
            first, stop = max(self.low, number * batch), min(self.stop, (number + 1) * batch)
            if not falls:
                first = max(first, frontier.decided)
            for unit in range(first, stop):
                if falls:
                    opened = not self._try(unit) and unit >= frontier.decided
                    debt = min(debt + opened, _DEBT * batch)
                elif debt and self._try(unit):
                    debt -= 1
        return Frontier(max(frontier.decided, self.stop), debt)

    def _try(self, unit: int) -> bool:
        """Drops the unit for all queries, unless that would make a gap too long for one."""
        wanted = []
        rows = zip(self._targets, self._units, self._marks, self._open, strict=True)
        for target, units, marks, first_open in rows:
            windows = units.windows(unit)
            if first_open is not None and windows.start < first_open:
                windows = range(min(first_open, windows.stop), windows.stop)
            if windows and not marks.all(windows):
                if marks.gap(windows) > target.max_gap:
                    return False
                wanted.append((marks, windows))
        for marks, windows in wanted:
            marks.drop(windows)
        return True

    def state(self, by: int) -> Decisions:
        """The decisions with those of this step."""
        dropped = dict(self._before.dropped)
        for target, marks in zip(self._targets, self._marks, strict=True):
            added = marks.added(by, last_of(self._newest, target))
            if added:
                dropped[target.name] = ordered([*self._before.runs(target.name), *added])
        return replace(self._before, dropped=dropped)
