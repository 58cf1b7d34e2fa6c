"""Load coefficients: the seconds of work that a row brings to an operator and all below it.

    coefficient = cost + selectivity · Σ coefficients of the operators that it feeds

An operator that feeds several is counted once, and what it feeds once for each: this is equation 2
of Pham, Chrysanthis and Labrinidis, "Self-managing load shedding for data stream management
systems", 2013, on any network without a cycle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter


def coefficients(
    costs: Mapping[str, float],
    selectivities: Mapping[str, float],
    feeds: Mapping[str, Sequence[str]],
) -> dict[str, float]:
    """The load coefficient of every operator.

    Args:
        costs: seconds for a row that an operator takes in.
        selectivities: rows out for each row in; 1 for one that is not named.
        feeds: the operators that each one feeds; none for one that is not named.

    A filter whose rows two queries share:

    >>> coefficients({"f": 1.0, "a": 2.0, "b": 3.0}, {"f": 0.5}, {"f": ["a", "b"]})["f"]
    3.5
    """
    found: dict[str, float] = {}
    for name in TopologicalSorter({name: feeds.get(name, ()) for name in costs}).static_order():
        below = sum(found[child] for child in feeds.get(name, ()))
        found[name] = costs[name] + selectivities.get(name, 1.0) * below
    return found


def queued_load(queues: Mapping[str, float], coefficient: Mapping[str, float]) -> float:
    """The seconds of work that wait, over every queue: qL of the paper's equation 4.

    Args:
        queues: rows that wait in front of each operator.
        coefficient: of each operator.
    """
    return sum(rows * coefficient[name] for name, rows in queues.items())
