"""From a workload to a plan: who sheds, how much, and where.

levels       priorities: higher ones whole, lower ones closed, one of them sheds     (S8)
admission    if even the most that the queries tolerate is too little, some close     (D4)
split        what is too much is split between windows and samples, by weight
subset       window drops, for the queries that want whole windows                    (D6, D9)
placement    random drops, for all others                                             (S6, S7, S10)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.planning.keeping import Moment
from penstock.planning.kept import Kept
from penstock.planning.levels import Roles, costliest, levels
from penstock.planning.outcome import planned
from penstock.planning.placement import Placement, sampled
from penstock.planning.result import Planned
from penstock.planning.sampling import least_rates
from penstock.planning.subset import Choices, Dropped, Possible
from penstock.planning.workload import Floats, Workload

TOLERABLE = 0.1
"""Before a query that wants windows is closed, samples go down to an error bound of 100 %, or to a
tenth of the rows where even that many have a greater one."""


def plan(load: Workload, moment: Moment | None = None) -> Planned:
    """The plan that keeps the load within the capacity with the smallest loss.

    Args:
        load: the network with its statistics.
        moment: of a running network: then queries are chosen whose windows are kept now. Without
            it, a plan says which share of the windows of each is dropped in the long run.

    >>> from penstock.planning.asked import Asked, Node
    >>> nodes = (Node("packets", cost=0.0, rate=100.0), Node("web", (0,), cost=0.02))
    >>> found = plan(Workload(nodes, (Asked("web", 1, hardness=0.0001),)))
    >>> found.plan.random, found.before, found.after
    ((RandomDrop(arc=Arc(after='packets', before='web'), keep=0.5),), 2.0, 1.0)
    """
    if moment is not None:
        return _at_moment(load, moment)
    roles, choices = levels(load), _choosing(load)
    situation = _Situation.of(load, roles, choices(load, roles))
    if situation.excess <= 0:
        return planned(load, roles, _nothing(load), Dropped())
    if situation.excess > situation.most:
        roles = _admitted(load, roles, choices)
        situation = _Situation.of(load, roles, choices(load, roles))
    windows = situation.choices.for_load(situation.for_windows)
    capacity = load.capacity - situation.streams + windows.saved
    return planned(
        load, roles, sampled(load, situation.demand, capacity, situation.strict), windows
    )


def _at_moment(load: Workload, moment: Moment) -> Planned:
    lasting = replace(load, capacity=load.capacity * moment.ratio)
    roles = levels(lasting)

    def choices(of: Workload, some: Roles) -> Kept:
        return Kept(of, some.windows, (*some.sampled, *some.whole), moment)

    if not roles.sampled and not roles.windows:
        return planned(load, roles, _nothing(load), Dropped())
    at_best = replace(load, capacity=load.capacity * max(moment.ratio, moment.admits))
    situation = _Situation.of(at_best, roles, choices(at_best, roles))
    if situation.excess > situation.most:
        roles = _admitted(at_best, roles, choices)
    situation = _Situation.of(lasting, roles, choices(lasting, roles))
    windows = situation.choices.for_load(situation.for_windows)
    capacity = load.capacity - situation.streams + windows.saved
    if not roles.sampled:
        capacity = float(load.total)  # nothing is left to be sampled
    return planned(
        load, roles, sampled(load, situation.demand, capacity, situation.strict), windows
    )


class _Windows(Protocol):
    """The window drops that there are."""

    def most(self) -> Dropped:
        """Those that save the most."""

    def for_load(self, needed: float) -> Dropped:
        """Those that save so many seconds per second."""


def _choosing(load: Workload) -> Callable[[Workload, Roles], Choices]:
    possible = Possible(load)

    def choices(_: Workload, roles: Roles) -> Choices:
        windows = load.standing(roles.windows)
        others = load.standing((*roles.sampled, *roles.whole))
        only = [one and not other for one, other in zip(windows, others, strict=True)]
        return possible.choices(roles.windows, only)

    return choices


@dataclass(frozen=True)
class _Situation:
    """What there is to shed.

    Args:
        demand: of each node, for random drops.
        strict: the same if no query has a weight below 1.
        choices: the window drops that there are.
        streams: seconds per second that the streams cost.
        excess: seconds per second above the capacity.
        by_samples: what random drops save before other queries are closed for it.
        by_windows: the most that window drops save.
        weights: the mean weight of the queries that are sampled, and that lose windows.
    """

    demand: Floats
    strict: Floats
    choices: _Windows = field(repr=False)
    streams: float
    excess: float
    by_samples: float
    by_windows: float
    weights: tuple[float, float]

    @classmethod
    def of(cls, load: Workload, roles: Roles, choices: _Windows) -> _Situation:
        demand = load.spread(roles.wanted(load))
        some: NDArray[np.bool_] = np.isfinite(demand) & (demand > 0)
        weight = [
            float(np.mean([load.queries[n].weight for n in numbers] or [1.0]))
            for numbers in (roles.sampled, roles.windows)
        ]
        return cls(
            demand,
            load.spread(roles.wanted(load, least=1.0)) if load.enough else demand,
            choices,
            streams=float(load.work[load.streams].sum()),
            excess=float(load.work[(demand > 0) | load.streams].sum()) - load.capacity,
            by_samples=float((load.by_rows * (1 - _tolerable(load, demand)))[some].sum()),
            by_windows=choices.most().saved,
            weights=(weight[0], weight[1]),
        )

    @property
    def most(self) -> float:
        """Seconds per second that can be shed."""
        return self.by_samples + self.by_windows

    @property
    def for_windows(self) -> float:
        """What window drops are to save: with equal weights, each kind the same share of its most.

        A kind whose queries weigh twice as much sheds half as large a share.
        """
        samples, windows = self.by_samples / self.weights[0], self.by_windows / self.weights[1]
        if not windows:
            return 0.0
        share = self.excess * windows / (samples + windows)
        return min(self.by_windows, max(share, self.excess - self.by_samples))


def _admitted(
    load: Workload, roles: Roles, choices: Callable[[Workload, Roles], _Windows]
) -> Roles:
    """As few queries as possible are closed, the costliest first, of those that want windows."""
    order = costliest(load, roles)
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        left = roles.without(order[:middle])
        situation = _Situation.of(load, left, choices(load, left))
        if situation.excess <= situation.most:
            high = middle
        else:
            low = middle + 1
    return replace(roles.without(order[:low]), not_admitted=tuple(order[:low]))


def _tolerable(load: Workload, demand: Floats) -> Floats:
    """The least share of rows with which answers are still worth something."""
    return np.minimum(least_rates(demand, 1.0, load.errors), TOLERABLE)


def _nothing(load: Workload) -> Placement:
    spent = float(load.work[~load.streams].sum())
    return Placement(np.ones(len(load.nodes)), (), spent, float("inf"))
