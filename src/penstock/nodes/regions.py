"""Solver and Solver-W (§5.1): the rate space cut into regions, with a plan for each.

    ┌─────────┬────┬────┐      Every point of a region uses the plan of its lowest corner, its rates
    │         │    │    │      scaled down to it. The score there is at most that much lower than
    │         ├────┼────┤      the score of the highest corner: this is the region's error. The
    │         │    │    │      region with the largest is halved next, so it can be stopped at any
    ├────┬────┴────┴────┤      time. Where the highest corner is feasible nothing is dropped.
    │free│              │
    └────┴──────────────┘

A quarter is cut by one halving after the other, in the dimension in which the score may grow most.
So eight inputs do not cost 2^8 programs at a time, and a half that is good enough stays whole.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from penstock.control.checks import positive
from penstock.errors import SpecificationError, complaint
from penstock.nodes.optimum import Best, Planner
from penstock.nodes.program import Vector
from penstock.nodes.workload import Workload

NO_CUT = -1
_STEP = 64


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is.

    Args:
        regions: that the space is cut into.
        solved: linear programs.
        error: the largest error of a region, the ε reached so far, as a share.
        expected: the errors of all regions, each times its probability; without a workload, as
            many times the volume. Of several networks that are planned together, the largest.
    """

    regions: int
    solved: int
    error: float
    expected: float


@dataclass(slots=True)
class Region:
    """A part of the rate space.

    Args:
        low: its lowest corner, in rows per second of each input.
        high: its highest corner.
        error: of its plan, as a share of the best score.
        share: its probability.
        axis: the dimension in which it is cut; -1 if it is not.
        lower: its half below the cut.
        upper: its half above the cut.
        free: whether nothing need be dropped in it.
    """

    low: Vector
    high: Vector
    error: float
    share: float
    axis: int = NO_CUT
    lower: Region | None = None
    upper: Region | None = None
    free: bool = False


@dataclass
class Division:
    """The rate space as it is being cut.

    Args:
        planner: plans of the network.
        workload: where rates are likely; None if all regions count alike.
    """

    planner: Planner
    workload: Workload | None = None
    regions: int = 1
    _corners: dict[bytes, Best] = field(default_factory=dict)
    _queue: list[tuple[float, int, Region]] = field(default_factory=list)
    _number: int = 0

    def __post_init__(self) -> None:
        program = self.planner.program
        self._most = program.rates(self.planner.network.most)
        # An input that brings nothing is not let in while anything is overloaded: no dimension.
        self._counts = program.score @ program.spread > 0
        if not (self._most[self._counts] > 0).all():
            rule, hint = "must be above 0 to plan in advance", "give the input a rate or a most"
            got = self._most.tolist()
            raise SpecificationError(complaint("the most of an input", rule, got, hint))
        self._volume = float(np.prod(self._most[self._counts]))
        high = np.where(self._counts, self._most, 0.0)
        self.root = self._region(np.zeros(len(high)), high)
        self._error = self.root.error * self.root.share

    def corner(self, point: Vector) -> Best:
        """The optimum at a point; each is solved once."""
        key = point.tobytes()
        if key not in self._corners:
            self._corners[key] = self.planner.best(point)
        return self._corners[key]

    def _region(self, low: Vector, high: Vector) -> Region:
        program = self.planner.program
        free = not program.overloaded(program.spread @ high)
        error = 0.0
        if not free:
            best = self.corner(high).score
            error = 1.0 - self.corner(low).score / best if best > 0 else 0.0
        if self.workload is None:
            share = float(np.prod((high - low)[self._counts])) / self._volume
        else:
            whole = np.where(self._counts, high, np.maximum(self._most, 1e300))
            share = self.workload.probability(low, whole)
        region = Region(low, high, max(0.0, error), share, free=free)
        urgency = region.error * (1.0 if self.workload is None else share)
        self._number += 1
        heapq.heappush(self._queue, (-urgency, self._number, region))
        return region

    def halve(self) -> None:
        """Cuts the worst region in two."""
        _, _, region = heapq.heappop(self._queue)
        sides = region.high - region.low
        gain = self.corner(region.low).worth * sides
        # Cut where the score can grow; if prices do not say, along the longest side.
        if not (gain > 0).any():
            gain = np.divide(sides, self._most, out=np.zeros_like(sides), where=sides > 0)
        region.axis = int(np.argmax(gain))
        low, high = region.low.copy(), region.high.copy()
        low[region.axis] = high[region.axis] = (
            region.low[region.axis] + region.high[region.axis]
        ) / 2
        region.lower = self._region(region.low, high)
        region.upper = self._region(low, region.high)
        self.regions += 1
        self._error += (
            sum(part.error * part.share for part in (region.lower, region.upper))
            - region.error * region.share
        )

    @property
    def worst(self) -> float:
        """The largest error of a region, ε."""
        if self.workload is None:
            return self._queue[0][2].error
        return max(region.error for _, _, region in self._queue)

    @property
    def expected(self) -> float:
        """The errors of all regions, each times its probability."""
        return max(0.0, self._error)

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return Progress(self.regions, len(self._corners), self.worst, self.expected)


def divide(
    planner: Planner,
    *,
    error: float | None = None,
    expected: float | None = None,
    workload: Workload | None = None,
    stop: Callable[[Progress], bool | None] | None = None,
) -> Division:
    """Cuts the rate space until its plans are good enough, or until it is stopped.

    Args:
        planner: plans of the network.
        error: ε, the largest share of the best score that a plan may lose (Solver).
        expected: the same, times the probability of its region and summed (Solver-W).
        workload: where rates are likely; needed for `expected`.
        stop: is told of the progress now and then; it stops when it returns True.
    """
    (found,) = divide_all([(planner, workload)], error=error, expected=expected, stop=stop)
    return found


def divide_all(
    parts: Sequence[tuple[Planner, Workload | None]],
    *,
    error: float | None = None,
    expected: float | None = None,
    stop: Callable[[Progress], bool | None] | None = None,
) -> list[Division]:
    """Cuts the rate spaces of several networks, the worst of all regions first.

    So whenever it is stopped all of them have plans, and none is much worse than the others.

    Args:
        parts: plans of each network, and where its rates are likely.
        error: as for `divide`.
        expected: as for `divide`; of each network by itself.
        stop: as for `divide`; it is told of all of them together.
    """
    weighted = expected is not None
    unknown = weighted and any(workload is None for _, workload in parts)
    if (error is None) == (expected is None) or unknown:
        rule = "must be given as `error`, or as `expected` with a `workload`"
        raise SpecificationError(complaint("how good plans are", rule, (error, expected)))
    wanted = expected if expected is not None else error
    positive("an error", wanted)
    found = [Division(planner, workload if weighted else None) for planner, workload in parts]
    for step in count():
        if not found or (step % _STEP == 0 and stop is not None and stop(_together(found))):
            return found
        worst = max(found, key=lambda one: one.expected if weighted else one.worst)
        if (worst.expected if weighted else worst.worst) <= (wanted or 0.0):
            break
        worst.halve()
    if stop is not None:
        stop(_together(found))
    return found


def _together(divisions: Sequence[Division]) -> Progress:
    told = [one.progress for one in divisions]
    return Progress(
        sum(one.regions for one in told),
        sum(one.solved for one in told),
        max(one.error for one in told),
        max(one.expected for one in told),
    )
