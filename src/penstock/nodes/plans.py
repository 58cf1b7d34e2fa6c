"""Plans made in advance: found in microseconds, known by an id, saved to a file and loaded."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.errors import SpecificationError, complaint
from penstock.nodes.fragments import fragments
from penstock.nodes.model import Network
from penstock.nodes.optimum import Planner
from penstock.nodes.program import Program, Vector
from penstock.nodes.regions import NO_CUT, Division, Progress, Region, divide
from penstock.nodes.splits import Location
from penstock.nodes.workload import Workload

FORMAT = "penstock plans 1"
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Choice:
    """The plan to use: all that a node need be told.

    Args:
        id: of the plan.
        scaling: the share of each input that is let in before the plan applies.
    """

    id: str
    scaling: Mapping[str, float]


@dataclass(frozen=True)
class Part:
    """Plans of one fragment: a tree of cuts, and a plan for each region that is not cut.

    Args:
        inputs: their names, in the order of the dimensions.
        locations: of the drops.
        entry: of each location, the input that it drops from; -1 behind a split.
        axis: of each region, the dimension of its cut; -1 if it is not cut.
        cut: where it is cut, in rows per second.
        lower: the half below.
        upper: the half above.
        plan: of each region that is not cut; -1 if nothing need be dropped.
        corner: of each such region, the rates that inputs are scaled down to.
        keeps: of each plan, what is kept at each location.
        loads: seconds per second of each node, rows per second of each link, for a row per second.
        capacity: of these.
        error: the largest share of the best score that a plan may lose.
    """

    inputs: tuple[str, ...]
    locations: tuple[Location, ...]
    entry: tuple[int, ...]
    axis: list[int]
    cut: list[float]
    lower: list[int]
    upper: list[int]
    plan: list[int]
    corner: list[list[float]]
    keeps: Vector
    loads: Vector
    capacity: Vector
    error: float

    def select(self, rates: Sequence[float]) -> tuple[int, list[float]]:
        """The plan for some rates and the scaling of each input; -1 if nothing need be dropped."""
        if not (self.loads @ rates > self.capacity).any():
            return -1, [1.0] * len(rates)
        axes, cuts, lower, upper = self.axis, self.cut, self.lower, self.upper
        at = 0
        while (axis := axes[at]) >= 0:
            at = upper[at] if rates[axis] >= cuts[at] else lower[at]
        scaled = [low / rate if rate > low else 1.0
                  for low, rate in zip(self.corner[at], rates, strict=True)]
        return self.plan[at], scaled


@dataclass(frozen=True)
class Plans:
    """Plans for all rates that were planned for.

    Args:
        parts: a tree for each fragment of the network.
    """

    parts: tuple[Part, ...]

    @property
    def error(self) -> float:
        """The largest share of the best score that a plan may lose, ε."""
        return max(part.error for part in self.parts)

    def select(self, rates: Mapping[str, float]) -> Choice | None:
        """The plan to use; None if no node is overloaded.

        Args:
            rates: of all inputs, in rows per second.
        """
        ids, scaling, sheds = [], {}, False
        for part in self.parts:
            number, scaled = part.select([rates[name] for name in part.inputs])
            scaling |= zip(part.inputs, scaled, strict=True)
            ids.append(str(number) if number >= 0 else "-")
            sheds = sheds or number >= 0
        return Choice("/".join(ids), scaling) if sheds else None

    def keeps(self, choice: Choice) -> dict[Location, float]:
        """What is kept at each drop location, scaling included.

        Args:
            choice: as `select` gave it.
        """
        kept: dict[Location, float] = {}
        for part, number in zip(self.parts, choice.id.split("/"), strict=True):
            if number == "-":
                continue
            for place, location in enumerate(part.locations):
                entry = part.entry[place]
                scale = choice.scaling[part.inputs[entry]] if entry >= 0 else 1.0
                kept[location] = scale * float(part.keeps[int(number), place])
        return kept

    def save(self, path: str | Path) -> None:
        """Writes them to a file."""
        head = [
            {
                "inputs": part.inputs,
                "locations": [[one.after, *one.before] for one in part.locations],
                "entry": part.entry,
                "error": part.error,
            }
            for part in self.parts
        ]
        arrays: dict[str, Any] = {"head": np.array(json.dumps([FORMAT, head]))}
        for number, part in enumerate(self.parts):
            arrays |= {f"{name}{number}": np.asarray(getattr(part, name)) for name in _ARRAYS}
        with Path(path).open("wb") as file:
            np.savez_compressed(file, **arrays)

    @staticmethod
    def load(path: str | Path) -> Plans:
        """Reads them from a file.

        Args:
            path: of a file that `save` wrote.
        """
        try:
            with np.load(Path(path), allow_pickle=False) as file:
                written, head = json.loads(str(file["head"]))
                if written != FORMAT:
                    rule = f"must be plans in the format {FORMAT!r}"
                    raise SpecificationError(complaint(str(path), rule, written))
                return Plans(tuple(_part(one, number, file) for number, one in enumerate(head)))
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            if isinstance(error, SpecificationError):
                raise
            rule = "must be a file of plans that is whole"
            raise SpecificationError(complaint(str(path), rule, str(error))) from error


_LISTS = ("axis", "cut", "lower", "upper", "plan", "corner")
_ARRAYS = (*_LISTS, "keeps", "loads", "capacity")


def _part(head: Mapping[str, Any], number: int, file: Mapping[str, Any]) -> Part:
    return Part(
        tuple(head["inputs"]),
        tuple(Location(after, tuple(before)) for after, *before in head["locations"]),
        tuple(head["entry"]),
        *(file[f"{name}{number}"].tolist() for name in _LISTS),
        *(file[f"{name}{number}"] for name in ("keeps", "loads", "capacity")),
        head["error"],
    )


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
        stop: is told of the progress now and then; it stops when it returns True.
    """
    parts = []
    for fragment in fragments(network):
        planner = Planner(fragment)
        likely = workload(planner.program.entering) if workload is not None else None
        division = divide(planner, error=error, expected=expected, workload=likely, stop=stop)
        parts.append(_kept(planner.program, division))
    return Plans(tuple(parts))


def _kept(program: Program, division: Division) -> Part:
    """The tree as lists, in which equal plans are one."""
    columns: dict[str, list[Any]] = {name: [] for name in _LISTS}
    plans: dict[bytes, int] = {}
    keeps: list[Vector] = []

    def visit(region: Region) -> int:
        place = len(columns["axis"])
        cut = region.upper.low[region.axis] if region.upper is not None else 0.0
        for name, value in zip(_LISTS, (region.axis, cut, -1, -1, -1, []), strict=True):
            columns[name].append(value)
        columns["corner"][place] = region.low.tolist()
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
        *columns.values(),
        np.array(keeps).reshape(len(keeps), len(program.locations)),
        program.load @ program.spread,
        program.capacity * (1 + 1e-9),
        division.worst,
    )
