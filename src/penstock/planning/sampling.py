"""How much each query is sampled: the same error for all, and as little of it as the load allows.

A query kept with probability P has the error C/P. For all weighted errors to be 1/λ at most,

    P = min(1, λ·C·w)                    of a query, and of an operator the greatest P above it,

and the load Σ work·P grows with λ. It is a straight line between the points where a P reaches 1:
the greatest λ that the capacity allows is found by sorting those points, and one division.

A query with P = 1 has no error at all, not C. Nothing more needs to be tried because of it: for a
given error each query has one least P, and the sum above is the least load (see the tests).

C/P is Hoeffding's bound, which holds for any values and is far above the errors that there are: a
sample has the deviation √(h (1 - P)/P), h the hardness. Where plans are made for the quantile of
that (`Workload.errors`), an error is D √((1 - P)/P), and

    P = x² / (1 + x²), x = λ·D·w         never 1 by itself; λ is found by halving

The errors of a stream of millions of rows are tiny, and what makes the greatest of them tinier
costs more than it is worth: of queries that see all rows next to nothing is kept, and each row is
asked whether it is one of the few for which the others need it. So where an error is said to be
small enough, each query gets what it needs for that, and all of them the same share at least:

    P   1 ┤        ░░░ web_large          ███ what each needs for an error that is small enough
          ├──────────────────────         ░░░ the share that what is left suffices for: of rows
          │ ░░░    ███    ░░░                 that all queries keep or drop alike, nothing is asked
          │ ███    ███    ███

Babcock, Datar and Motwani, ICDE 2004, §3.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from penstock.planning.asked import Errors
from penstock.planning.workload import Floats, Workload

LEAST = 0.001
"""The least share of rows that is kept: with fewer there is next to nothing left to save, and
nothing left to answer with."""

LITTLE = 0.1
"""How much greater the greatest error may be if queries are whole instead of nearly so."""

_MOST = 1e6  # x at which all but a millionth of a millionth is kept
_HALVINGS = 60


def least_rates(demand: Floats, scale: float, errors: Errors = "bound") -> Floats:
    """The keep probability of each node, and 0 where nothing is demanded.

    Args:
        demand: the greatest C·w of the queries that stand on it; infinite for 1, 0 for none.
        scale: λ.
        errors: which are to be the same for all.
    """
    with np.errstate(invalid="ignore"):  # 0 · ∞: nothing is demanded, or all of it
        share = np.where(np.isinf(demand), 1.0, demand * scale)
        if errors == "quantile":
            share = np.where(np.isinf(demand + scale), 1.0, share**2 / (1 + share**2))
    share = np.where(np.isnan(share), 1.0, share)
    return np.where(demand > 0, np.clip(share, LEAST, 1.0), 0.0)


def solve(work: Floats, demand: Floats, capacity: float, errors: Errors = "bound") -> float:
    """λ: the greatest for which the load is within the capacity; infinite if nothing is dropped.

    Args:
        work: seconds per second, of each node or of several that are kept alike.
        demand: of each, as in `least_rates`.
        capacity: seconds per second for all of them.
        errors: as in `least_rates`.

    >>> round(solve(np.array([1.0, 1.0]), np.array([0.1, 0.2]), 0.6), 9)
    2.0
    >>> round(solve(np.array([1.0, 1.0]), np.array([0.1, 0.2]), 1.9), 9)  # the second is whole
    9.0
    """
    whole = np.isinf(demand)
    some = (demand > 0) & ~whole & (work > 0)
    left = capacity - work[whole].sum()
    work, demand = work[some], demand[some]
    if work.sum() <= left:
        return math.inf
    if LEAST * work.sum() >= left:
        return 0.0
    return _interpolated(work, demand, left) if errors == "bound" else _halved(work, demand, left)


def with_whole(work: Floats, demand: Floats, capacity: float) -> Floats:
    """The demand of quantiles, infinite for the hardest queries that may as well be whole.

    One that is nearly whole is off by next to nothing, and one that is whole by nothing at all: so
    many are whole as make the greatest error of the others a little greater at most.

    Args:
        work: of each node.
        demand: of each node.
        capacity: seconds per second for all of them.
    """
    each = np.unique(demand[np.isfinite(demand) & (demand > 0) & (work > 0)])
    least = solve(work, demand, capacity, "quantile") / (1 + LITTLE)
    if not least:
        return demand  # the least of each is too much already

    def held(whole: int) -> Floats:
        return np.where(demand >= each[each.size - whole], np.inf, demand) if whole else demand

    low, high = 0, each.size
    while high - low > 1:
        middle = (low + high) // 2
        if solve(work, held(middle), capacity, "quantile") >= least:
            low = middle
        else:
            high = middle
    return held(low)


def evenly(work: Floats, demand: Floats, capacity: float, needed: Floats) -> Floats | None:
    """What is needed, or the share that the capacity suffices for if all keep as much at least.

    Args:
        work: of each node.
        demand: of each node; 0 where nothing is.
        capacity: for all of them.
        needed: the keep probability of each that is needed.

    >>> evenly(np.array([1.0, 1.0]), np.array([0.1, 0.2]), 1.2, np.array([0.1, 0.8]))
    array([0.4, 0.8])
    >>> evenly(np.array([1.0, 1.0]), np.array([0.1, 0.2]), 0.8, np.array([0.1, 0.8])) is None
    True
    """
    each, which = np.unique(needed, return_inverse=True)
    total = np.bincount(which, np.where(demand > 0, work, 0.0), each.size).astype(float)
    least = float((total * each).sum())
    if least > capacity:
        return None
    # Those that need the least are raised to the need of the next, and so on, while there is room:
    # what it takes to raise them to a share is a straight line between two needs.
    raised, spent = 0.0, least
    for n, need in enumerate(each):
        to = float(each[n + 1]) if n + 1 < each.size else 1.0
        raised += float(total[n])
        room = max(0.0, capacity - spent)
        if raised * (to - need) > room:
            return np.where(demand > 0, np.maximum(needed, need + room / raised), 0.0)
        spent += raised * (to - need)
    return np.where(demand > 0, 1.0, 0.0)


def _halved(work: Floats, demand: Floats, capacity: float) -> float:
    # Queries are fewer than operators: those nodes that need the same are one.
    each, which = np.unique(demand, return_inverse=True)
    total: Floats = np.bincount(which, work, each.size).astype(float)
    low, high = math.log(math.sqrt(LEAST) / each[-1]), math.log(_MOST / each[0])
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # As `least_rates` says: all are finite, and this is asked for hundreds of times a batch.
        share = (each * math.exp(middle)) ** 2
        if total @ np.maximum(share / (1 + share), LEAST) <= capacity:
            low = middle
        else:
            high = middle
    return math.exp(low)


def _interpolated(work: Floats, demand: Floats, capacity: float) -> float:
    # Between two neighbouring points the load is a straight line.
    points = np.sort(np.concatenate([LEAST / demand, 1 / demand]))
    low, high = 0, points.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if _load(work, demand, points[middle]) <= capacity:
            low = middle
        else:
            high = middle
    inside = math.sqrt(points[low] * points[high])
    least, full = _fixed(demand, inside)
    sloped = ~(least | full)
    slope = float((work[sloped] * demand[sloped]).sum())
    fixed = LEAST * work[least].sum() + work[full].sum()
    return float((capacity - fixed) / slope) if slope else float(points[low])


def _load(work: Floats, demand: Floats, scale: float) -> float:
    return float((work * least_rates(demand, scale)).sum())


def _fixed(demand: Floats, scale: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    return demand * scale < LEAST, demand * scale > 1


def set_sampling_rates(load: Workload, rates: dict[str, float]) -> Floats:
    """SetSamplingRate (Algorithm 1): what each node keeps if queries keep what they are given.

    Each node keeps the greatest rate of the queries that stand on it: less would leave one of them
    short, more would be work for none (Theorem 3.6).

    Args:
        load: the network.
        rates: query → keep probability.
    """
    wanted = {n: rates[query.name] for n, query in enumerate(load.queries) if query.name in rates}
    return np.where(load.streams, 1.0, load.spread(wanted))
