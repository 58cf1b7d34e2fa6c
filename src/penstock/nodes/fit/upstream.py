"""From the tables of the children to that of their parent (§6.3).

What must enter, so that each child gets what an entry of its table says? A selectivity is divided
by; a split takes the largest of what its branches need, and drops the rest behind it; a union or
join shares what is needed out among its streams, in all ways that stand a little apart; tables of
several children are combined, and scores added. What overloads the site is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from penstock.nodes.fit.leaf import levels
from penstock.nodes.fit.pruning import pruned
from penstock.nodes.fit.spacing import Spacing, most_in, target_gains
from penstock.nodes.fit.table import Numbers, Table, check_size
from penstock.nodes.program import Program, Sum, Vector

_SLACK = 1 + 1e-9


def parent_table(program: Program, spacing: Spacing, children: Mapping[str, Table]) -> Table:
    """The table of a site that feeds others.

    Args:
        program: of the site.
        spacing: as its own parent told it.
        children: their tables, by name.
    """
    bound = most_in(program, spacing)
    arrives = dict(zip(program.targets, target_gains(program) @ bound, strict=True))
    names = {name: place for place, name in enumerate(program.targets)}
    tables = [*children.values()]
    picked = len(tables)
    taken = {stream for table in tables for stream in table.streams}
    for name, weight in program.weights.items():
        if name not in taken:
            # An output of the site itself is as a child that can take any rate.
            rates = levels(arrives[name], weight, spacing, grows=True)[:, None]
            none = np.zeros((len(rates), 0))
            tables.append(Table((name,), rates, weight * rates[:, 0], none, none.astype(np.int64)))
    rows = _Rows(np.zeros((1, len(names))), np.zeros(1), np.zeros((1, 0), dtype=np.int64))
    for number, table in enumerate(tables):
        rows = rows.times(table, [names[stream] for stream in table.streams], keep=number < picked)
        # What is too much already is too much with any of the others.
        flows, kept = required(program, rows.targets, spacing)
        entering = entered(program, flows)
        fits = (flows @ program.load.T <= program.capacity * _SLACK).all(axis=1)
        fits &= (entering <= bound * _SLACK).all(axis=1)
        # Each row stays once, however its needs were shared out, until all children are in.
        if number + 1 < len(tables):
            rows = rows.only(np.unique(kept[fits]))
        else:
            rows, flows = rows.only(kept[fits]), flows[fits]
    found = Table(program.entering, entered(program, flows), rows.scores, flows, rows.picks)
    return pruned(found, spacing.near, program.load)


@dataclass(frozen=True)
class _Rows:
    """Combined entries: what each target is to get, the score, the entries they are made of."""

    targets: Vector
    scores: Vector
    picks: Numbers

    def times(self, table: Table, places: list[int], *, keep: bool) -> _Rows:
        check_size(len(self.scores) * len(table))
        left = np.repeat(np.arange(len(self.scores)), len(table))
        right = np.tile(np.arange(len(table)), len(self.scores))
        targets = self.targets[left]
        targets[:, places] = table.rates[right]
        picks = np.column_stack([self.picks[left], right]) if keep else self.picks[left]
        return _Rows(targets, self.scores[left] + table.scores[right], picks)

    def only(self, chosen: Numbers) -> _Rows:
        return _Rows(self.targets[chosen], self.scores[chosen], self.picks[chosen])


def entered(program: Program, flows: Vector) -> Vector:
    """What must enter of each stream, so that each of its branches has enough."""
    rates = np.zeros((len(flows), len(program.entering)))
    for variable, stream in enumerate(program.entry):
        if stream >= 0:
            rates[:, stream] = np.maximum(rates[:, stream], flows[:, variable])
    return rates


def required(program: Program, targets: Vector, spacing: Spacing) -> tuple[Vector, Numbers]:
    """What must pass each drop location, so that targets get what they need.

    Args:
        program: of the site.
        targets: rows per second that each is to get; a row for each case.
        spacing: says how finely a need is shared out.

    Returns:
        the flows, and the case of each: one that can be met in several ways has several.
    """
    flows = np.zeros((len(targets), len(program.locations)))
    case = np.arange(len(targets))
    for place, those in enumerate(program.targets.values()):
        flows, case = _met(flows, case, targets[case, place], those, spacing)
    # From the last split to the first: what its branches need is then known.
    for last in sorted(program.supply, reverse=True):
        source = program.locations[last].after
        branches = [v for v in program.supply if program.locations[v].after == source]
        if last == max(branches):
            need = flows[:, branches].max(axis=1)
            flows, case = _met(flows, case, need, program.supply[last], spacing)
    return flows, case


def _met(
    flows: Vector, case: Numbers, need: Vector, those: Sum, spacing: Spacing
) -> tuple[Vector, Numbers]:
    gains = {variable: gain for variable, gain in those.items() if gain > 0}
    if not gains:
        possible = need <= 0
        return flows[possible], case[possible]
    if len(gains) == 1:
        ((variable, gain),) = gains.items()
        flows = flows.copy()
        flows[:, variable] = need / gain
        return flows, case
    shares = compositions(len(gains), math.ceil(len(gains) / spacing.merge_error))
    check_size(len(flows) * len(shares))
    # A need of nothing is met in one way only.
    some = need > 0
    left = np.concatenate([np.flatnonzero(~some), np.repeat(np.flatnonzero(some), len(shares))])
    right = np.concatenate(
        [np.zeros((~some).sum(), dtype=np.int64), np.tile(np.arange(len(shares)), some.sum())]
    )
    flows = flows[left]
    for place, (variable, gain) in enumerate(gains.items()):
        flows[:, variable] = need[left] * shares[right, place] / gain
    return flows, case[left]


def compositions(parts: int, whole: int) -> Vector:
    """All ways to share a whole out among so many parts, in so many steps.

    >>> compositions(2, 2).tolist()
    [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    """
    check_size(math.comb(whole + parts - 1, parts - 1))
    found = []
    for bars in combinations(range(whole + parts - 1), parts - 1):
        edges = (-1, *bars, whole + parts - 1)
        found.append([(b - a - 1) / whole for a, b in pairwise(edges)])
    return np.array(found)
