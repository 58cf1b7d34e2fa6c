"""Complementary local plans (§6.2.2): behind splits the least quality for the most load goes first.

in ─► a ─┬─► b     2 of load saved by a row dropped here, for 1 of score
         └─► c     5 of load saved, for 1 of score: all of c goes before anything of b
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.nodes.highs import Highs
from penstock.nodes.program import Program, Vector

_SLACK = 1 + 1e-9


def local_plans(program: Program, rates: Vector) -> tuple[Vector, NDArray[np.bool_]]:
    """What passes each drop location, and for which rates there is such a plan at all.

    Args:
        program: of a site.
        rates: that enter and are all taken in, a row for each case.
    """
    flows = rates @ program.spread.T
    if is_greedy(program):
        flows = greedy(program, flows)
    else:
        over = ~_fits(program, flows)
        if over.any() and (program.supply or _parts(program)):
            flows = _solved(program, rates, flows, over)
    return flows, _fits(program, flows)


def _fits(program: Program, flows: Vector) -> NDArray[np.bool_]:
    fits: NDArray[np.bool_] = np.all(flows @ program.load.T <= program.capacity * _SLACK, axis=1)
    return fits


def is_greedy(program: Program) -> bool:
    """Whether one node is loaded, and what is behind a split comes from one place."""
    loaded = (program.load > 0).any(axis=1).sum()
    return bool(
        loaded == 1
        and all(len(those) == 1 for those in program.supply.values())
        and not _parts(program)
    )


def _parts(program: Program) -> bool:
    return len(set(program.entry) - {-1}) < sum(stream >= 0 for stream in program.entry)


def drop_order(program: Program) -> list[tuple[int, float, list[int]]]:
    """Split locations by quality for load, each as if those before it were dropped already.

    Returns:
        for each: its number, the load that a row per second dropped there saves, and all
        locations behind it.
    """
    load = program.load.sum(axis=0)
    above = {v: next(iter(those.items())) for v, those in program.supply.items()}
    saved, lost = load.astype(float).copy(), program.score.astype(float).copy()
    behind: dict[int, list[int]] = {v: [] for v in above}
    for variable in sorted(above, reverse=True):
        parent, gain = above[variable]
        saved[parent] += gain * saved[variable]
        lost[parent] += gain * lost[variable]
        if parent in behind:
            behind[parent] += [variable, *behind[variable]]
    order, left = [], set(above)
    while left:
        useful = [v for v in left if saved[v] > 0]
        if not useful:
            break
        first = min(useful, key=lambda v: (lost[v] / saved[v], v))
        order.append((first, float(saved[first]), behind[first]))
        # What is behind it is gone with it, and those above it have less to give.
        at, load_gone, score_gone = first, saved[first], lost[first]
        while at in above:
            at, gain = above[at]
            load_gone, score_gone = load_gone * gain, score_gone * gain
            saved[at] -= load_gone
            lost[at] -= score_gone
        left -= {first, *behind[first]}
    return order


def greedy(program: Program, flows: Vector) -> Vector:
    """Drops behind splits until the load fits, in the order of quality for load.

    Args:
        program: in which `is_greedy` holds.
        flows: a row for each case, nothing dropped.
    """
    flows = flows.copy()
    excess = (flows @ program.load.T - program.capacity).max(axis=1)
    for variable, saves, behind in drop_order(program):
        # What has been dropped behind it before saves nothing any more: `saves` knows.
        most = flows[:, variable] * saves
        share = np.divide(excess, most, out=np.zeros_like(most), where=(most > 0) & (excess > 0))
        share = np.minimum(share, 1.0)
        excess = excess - share * most
        flows[:, [variable, *behind]] *= (1 - share)[:, None]
    return flows


def _solved(program: Program, rates: Vector, flows: Vector, over: NDArray[np.bool_]) -> Vector:
    """The same where several nodes are loaded: by the linear program, with whole streams."""
    solver = Highs(program, flows.max(axis=0))
    flows = flows.copy()
    for row in np.flatnonzero(over):
        flows[row] = solver.within(rates[row])
    return flows
