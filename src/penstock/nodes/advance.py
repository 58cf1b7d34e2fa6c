"""Solver and Solver-W: plans for all rates, made before they are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.nodes.fragments import fragments
from penstock.nodes.lookup import LISTS, Part, Plans
from penstock.nodes.model import Network
from penstock.nodes.optimum import Planner
from penstock.nodes.program import Program, Vector
from penstock.nodes.regions import NO_CUT, Division, Progress, Region, divide_all
from penstock.nodes.workload import Workload

_DIGITS = 12


def plans_in_advance(
    network: Network,
    *,
    error: float | None = None,
    expected: float | None = None,
    workload: Callable[[tuple[str, ...]], Workload] | None = None,
    stop: Callable[[Progress], bool | None] | None = None,
) -> Plans:
    """Plans for all rates up to the most of each input (Solver, Solver-W).

    Args:
        network: costs, selectivities and places.
        error: ε, the largest share of the best score that a plan may lose.
        expected: the same, times the probability of its region and summed.
        workload: where the rates of some inputs are likely, given their names; for `expected`.
        stop: is told of the progress now and then; it stops when it returns True, and all parts
            of the network have plans that are about as good.
    """
    planners = [Planner(fragment) for fragment in fragments(network)]
    likely = [workload(one.program.entering) if workload is not None else None for one in planners]
    parts = list(zip(planners, likely, strict=True))
    divisions = divide_all(parts, error=error, expected=expected, stop=stop)
    return Plans(tuple(_kept(one.planner.program, one) for one in divisions))


def _kept(program: Program, division: Division) -> Part:
    """The tree as lists, in which equal plans are one."""
    columns: dict[str, list[Any]] = {name: [] for name in LISTS}
    columns["counts"] = (program.score @ program.spread > 0).astype(float).tolist()
    keeps: list[Vector] = [np.ones(len(program.locations))]
    plans: dict[bytes, int] = {keeps[0].tobytes(): 0}

    def visit(region: Region) -> int:
        place = len(columns["axis"])
        cut = region.upper.low[region.axis] if region.upper is not None else 0.0
        for name, value in (("lower", -1), ("upper", -1), ("plan", 0)):
            columns[name].append(value)
        columns["axis"].append(region.axis)
        columns["cut"].append(cut)
        columns["corner"].append(region.low.tolist())
        if region.axis == NO_CUT and not region.free:
            shares = np.round(program.keeps(division.corner(region.low).flows, region.low), _DIGITS)
            number = plans.setdefault(shares.tobytes(), len(keeps))
            if number == len(keeps):
                keeps.append(shares)
            columns["plan"][place] = number
        return place

    # Without recursion: a tree may be deeper than Python's stack.
    waiting = [(division.root, visit(division.root))]
    while waiting:
        region, place = waiting.pop()
        for name, half in (("lower", region.lower), ("upper", region.upper)):
            if half is not None:
                columns[name][place] = visit(half)
                waiting.append((half, columns[name][place]))
    return Part(
        program.entering,
        program.locations,
        program.entry,
        keeps=np.array(keeps).reshape(len(keeps), len(program.locations)),
        loads=program.load @ program.spread,
        capacity=program.capacity * (1 + 1e-9),
        error=division.worst,
        **columns,
    )
