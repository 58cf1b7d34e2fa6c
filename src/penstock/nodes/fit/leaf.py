"""The table of a leaf: points spaced by ε, each with a complementary local plan (§6.2).

y │·                          x: the entries that the leaf can take as they are, or with drops
  │x·                         behind its splits; beyond them it would have to drop where rows
  │x x·                       enter, which its parent does better
  │x x x·
  └──────── x
"""

from __future__ import annotations

import numpy as np

from penstock.nodes.fit.local_plans import local_plans
from penstock.nodes.fit.pruning import pruned
from penstock.nodes.fit.spacing import Spacing, most_in
from penstock.nodes.fit.table import Table, check_size
from penstock.nodes.program import Program, Vector

_TINY = 1e-12


def leaf_table(program: Program, grid: list[Vector]) -> Table:
    """All entries of a leaf.

    Args:
        program: of the leaf.
        grid: the rates of each stream, from 0 up.
    """
    rates = points(program, grid)
    flows, possible = local_plans(program, rates)
    rates, flows = rates[possible], flows[possible]
    picks = np.zeros((len(rates), 0), dtype=np.int64)
    table = Table(program.entering, rates, flows @ program.score, flows, picks)
    # Taking in more of a stream than its branches can be given only costs.
    return pruned(table, 0.0, program.load) if program.supply else table


def leaf_grid(program: Program, spacing: Spacing) -> list[Vector]:
    """The rates of each stream that entries are made of.

    Args:
        program: of the leaf.
        spacing: as its parent told it.
    """
    bound, worth = most_in(program, spacing), program.score @ program.spread
    found = []
    for stream, top in enumerate(bound.tolist()):
        # What a stream brings is its rate times its worth only if nothing of it is dropped later.
        passed = np.flatnonzero(program.spread[:, stream])
        grows = len(passed) == 1 and int(passed[0]) not in program.supply
        found.append(levels(top, worth[stream], spacing, grows=grows))
    return found


def points(program: Program, grid: list[Vector]) -> Vector:
    """All combinations, without those that are infeasible whatever is dropped behind splits."""
    least = least_load(program) / program.capacity[:, None]
    rows = np.zeros((1, 0))
    used = np.zeros((1, len(program.capacity)))
    for stream, steps in enumerate(grid):
        check_size(len(rows) * len(steps))
        total = used[:, None, :] + np.outer(steps, least[:, stream])[None, :, :]
        fits = (total <= 1 + _TINY).all(axis=2)
        above, step = np.nonzero(fits)
        rows = np.column_stack([rows[above], steps[step]])
        used = total[above, step]
    return rows


def regrid(old: list[Vector], new: list[Vector]) -> list[Vector]:
    """After a change entries stay where they were, so that few need be told again.

    Args:
        old: the rates of each stream so far.
        new: as they would be chosen now.
    """
    return [
        np.concatenate([before[before <= now[-1]], now[now > before[-1]]])
        for before, now in zip(old, new, strict=True)
    ]


def least_load(program: Program) -> Vector:
    """The load of a row of each stream, if all that may be dropped behind a split is."""
    least = np.zeros((len(program.capacity), len(program.entering)))
    split = {stream for stream in program.entry if program.entry.count(stream) > 1}
    for variable, stream in enumerate(program.entry):
        if stream >= 0 and stream not in split:
            least[:, stream] += program.load[:, variable]
    return least


def levels(top: float, worth: float, spacing: Spacing, *, grows: bool) -> Vector:
    """Rates of one stream, from 0 to the largest.

    Args:
        top: the largest.
        worth: what a row per second adds to the score.
        spacing: how far they may stand apart.
        grows: whether steps may grow with what the stream brings.
    """
    if worth <= 0 or spacing.reference <= 0:
        return np.zeros(1)  # what brings nothing is not taken in
    step = spacing.step(worth)
    knee = spacing.reference / worth
    ratio = 1 + spacing.error / spacing.dimensions
    found = [top]
    while grows and found[-1] > knee * ratio:
        found.append(found[-1] / ratio)
        check_size(len(found))
    count = int(np.ceil(found[-1] / step - 1e-9))
    check_size(count)
    even = np.linspace(0.0, found[-1], count + 1)[:-1]
    return np.concatenate([even, found[::-1]])
