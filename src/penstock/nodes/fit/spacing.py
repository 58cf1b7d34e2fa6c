"""How far apart the entries of tables may stand, so that no plan loses more than ε (§6.2.1).

An overloaded point has an optimum of at least `reference`: the least score at which any node is
just full. So a table may lose, in each of its `dimensions`, a part of ε times that, or of what the
stream itself brings. Every site tells its parent what it must know for this (`Profile`), the root
adds it up, and every site tells its children how to space (`Spacing`): only neighbours talk.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.nodes.program import Program, Vector

_WORN = 0.75


@dataclass(frozen=True, slots=True)
class Profile:
    """What a site tells its parent of itself and all below it.

    Args:
        worth: of each stream that enters, the score of a row per second, nothing dropped.
        loads: for each node and link that may be the first to be full, the share of it that a row
            per second of each stream takes.
        dimensions: in which tables below are spaced.
        merges: unions and joins one after the other above the tables that are spaced.
        depth: sites from here down.
    """

    worth: Mapping[str, float]
    loads: tuple[Mapping[str, float], ...]
    dimensions: int
    merges: int
    depth: int

    def overloaded(self, rates: Mapping[str, float]) -> bool:
        """Whether any node below is, if nothing is dropped.

        Args:
            rates: of the streams that enter, in rows per second.
        """
        return any(
            sum(share * rates[name] for name, share in one.items()) > 1 + 1e-9 for one in self.loads
        )

    def free(self, name: str) -> float:
        """Rows per second of a stream at which a node is just full, if it comes alone."""
        most = max((one[name] for one in self.loads), default=0.0)
        return 1 / most if most > 0 else math.inf


@dataclass(frozen=True, slots=True)
class Spacing:
    """What a site tells its child.

    Args:
        most: of each stream, the largest rate that can arrive, in rows per second.
        reference: the least optimum of an overloaded point.
        dimensions: in which tables of the whole tree are spaced.
        error: the share that the spacing may lose.
        merge_error: the share that each union or join may lose.
        near: the share by which an entry may be worse than another that it stands for.
    """

    most: Mapping[str, float]
    reference: float
    dimensions: int
    error: float
    merge_error: float
    near: float

    def serves(self, other: Spacing) -> bool:
        """Whether tables that are spaced so need not be spaced anew, as another says now."""
        mine = self.dimensions, self.error, self.merge_error, self.near
        its = other.dimensions, other.error, other.merge_error, other.near
        return mine == its and other.reference >= _WORN * self.reference

    def step(self, worth: float) -> float:
        """How far entries stand apart where the stream brings little, in rows per second."""
        return self.error * self.reference / (self.dimensions * worth)


def profile(program: Program, children: Mapping[str, Profile]) -> Profile:
    """Of a site, from its own program and what its children told.

    Args:
        program: of the site.
        children: by their streams; a child with several has several entries, all the same.
    """
    gains, names = target_gains(program), list(program.targets)
    worth = np.zeros(len(program.entering))
    rows = [*(program.load @ program.spread / program.capacity[:, None])]
    below = {id(child): child for child in children.values()}
    outputs = 0
    for place, name in enumerate(names):
        child = children.get(name)
        outputs += child is None
        worth += gains[place] * (program.weights[name] if child is None else child.worth[name])
    for child in below.values():
        taken = [name in child.worth for name in names]
        streams = [name for name in names if name in child.worth]
        rows.extend(np.array([one[n] for n in streams]) @ gains[taken] for one in child.loads)
    return Profile(
        dict(zip(program.entering, worth.tolist(), strict=True)),
        tuple(dict(zip(program.entering, row.tolist(), strict=True)) for row in _first_full(rows)),
        sum(c.dimensions for c in below.values()) + outputs if below else len(program.entering),
        max(c.merges for c in below.values()) + merges(program) if below else 0,
        1 + max((c.depth for c in below.values()), default=0),
    )


def _first_full(rows: list[Vector]) -> list[Vector]:
    """Without those nodes that are never full before another is."""
    left: list[Vector] = []
    for row in sorted(rows, key=lambda row: -float(row.sum())):
        if row.any() and not any((other >= row).all() for other in left):
            left.append(row)
    return left


def target_gains(program: Program) -> Vector:
    """Rows of each target for a row of each stream that enters, nothing dropped."""
    gains = np.zeros((len(program.targets), len(program.entering)))
    for place, those in enumerate(program.targets.values()):
        for variable, gain in those.items():
            gains[place] += gain * program.spread[variable]
    return gains


def merges(program: Program) -> int:
    """Sums over several drop locations, of which each may lose a little."""
    sums = [
        *program.targets.values(),
        *{program.locations[v].after: those for v, those in program.supply.items()}.values(),
    ]
    return sum(len(those) > 1 for those in sums)


def root_spacing(top: Profile, most: Mapping[str, float], error: float) -> Spacing:
    """How the root spaces, from the profile of the whole tree.

    Args:
        top: of the root.
        most: the largest rate of each input, in rows per second.
        error: ε, the share of the best score that a plan may lose.
    """
    counts = [
        top.worth[name] * top.free(name)
        for name in top.worth
        if top.worth[name] > 0 and math.isfinite(top.free(name))
    ]
    crossed = top.merges > 0 or top.dimensions > len(top.worth)
    near = error / 10 if crossed else 0.0
    spacing = (error - near) * (0.6 if top.merges else 1.0)
    merge_error = (error - near - spacing) / top.merges if top.merges else 0.0
    return Spacing(
        most, min(counts, default=0.0), top.dimensions, spacing, merge_error, near / top.depth
    )


def child_spacing(own: Spacing, program: Program, streams: tuple[str, ...]) -> Spacing:
    """What a site tells a child.

    Args:
        own: what it was told itself.
        program: of the site.
        streams: that the child takes.
    """
    gains = target_gains(program)
    bound = most_in(program, own)
    arrives = dict(zip(program.targets, (gains @ bound).tolist(), strict=True))
    most = {name: arrives[name] for name in streams}
    rest = own.reference, own.dimensions, own.error, own.merge_error, own.near
    return Spacing(most, *rest)


def most_in(program: Program, spacing: Spacing) -> Vector:
    """The largest rate of each stream that the site can take in, with all behind splits dropped."""
    bound = program.rates(spacing.most)
    for variable, stream in enumerate(program.entry):
        if stream >= 0:
            busy = float(np.max(program.load[:, variable] / program.capacity, initial=0.0))
            # Where a stream parts as it enters, one branch may be dropped for the other.
            if busy > 0 and program.entry.count(stream) == 1:
                bound[stream] = min(bound[stream], 1 / busy)
    return bound
