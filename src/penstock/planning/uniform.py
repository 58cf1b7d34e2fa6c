"""The baseline: every stream drops the same share of its rows, and nothing else is dropped.

Babcock, Datar and Motwani, ICDE 2004, §5.1.
"""

from __future__ import annotations

import numpy as np

from penstock.planning.levels import Roles
from penstock.planning.outcome import planned
from penstock.planning.placement import Placement
from penstock.planning.result import Planned
from penstock.planning.sampling import LEAST
from penstock.planning.subset import Dropped
from penstock.planning.workload import Workload


def uniform(load: Workload) -> Planned:
    """The plan that drops at the streams only; all queries are sampled alike, whatever they want.

    Args:
        load: the network with its statistics.
    """
    cuts = [(a, x) for x, several in enumerate(load.parents) for a in several if load.streams[a]]
    work = float(load.by_rows.sum())
    looking = load.drop_cost * sum(float(load.rows_out[a]) for a, _ in cuts)
    rest = float(load.work[load.answers].sum())
    left = load.capacity - float(load.work[load.streams].sum()) - rest
    numbers = tuple(range(len(load.queries)))
    keep = np.ones(len(load.nodes))
    if left >= work:
        return planned(
            load, Roles(numbers, (), ()), Placement(keep, (), work + rest, np.inf), Dropped()
        )
    share = min(1.0, max(LEAST, (left - looking) / work))
    keep[~load.streams] = share
    found = Placement(keep, tuple(cuts), share * work + looking + rest, np.nan)
    return planned(load, Roles((), numbers, ()), found, Dropped())
