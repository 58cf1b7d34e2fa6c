"""The network as a linear program (§3): what is kept at each drop location is a variable.

maximise  Σ score · v           v: rows per second that pass a drop location, the paper's
so that   loads · v ≤ ζ         prefix variable times the rate. A variable behind a split is
          v ≤ what arrives      bounded by what the variables before it let through.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from penstock.nodes.splits import Location

Vector = NDArray[np.float64]
Sum = dict[int, float]
"""A sum over variables: which, and how many times."""


@dataclass(frozen=True)
class Program:
    """The program of a network, or of some of its boxes.

    Args:
        locations: the variables, those first that others depend on.
        entering: names of the streams that enter.
        entry: of each variable, the stream that it drops from; -1 behind a split.
        supply: of each variable behind a split, the rows that arrive there, as a sum over others.
        limits: names of nodes and links.
        capacity: of these: seconds per second, or rows per second.
        loads: of these, as sums.
        targets: streams that leave, as sums: outputs, and boxes that feed others elsewhere.
        weights: of the targets; 0 where they are no outputs.
    """

    locations: tuple[Location, ...]
    entering: tuple[str, ...]
    entry: tuple[int, ...]
    supply: Mapping[int, Sum]
    limits: tuple[str, ...]
    capacity: Vector
    loads: tuple[Sum, ...]
    targets: Mapping[str, Sum]
    weights: Mapping[str, float]

    @cached_property
    def score(self) -> Vector:
        """What a row per second at each variable counts at the outputs that it goes to directly."""
        total = np.zeros(len(self.locations))
        for name, those in self.targets.items():
            for variable, gain in those.items():
                total[variable] += self.weights[name] * gain
        return total

    @cached_property
    def load(self) -> Vector:
        """The loads as a matrix: a row for each limit."""
        matrix = np.zeros((len(self.limits), len(self.locations)))
        for row, those in enumerate(self.loads):
            for variable, amount in those.items():
                matrix[row, variable] = amount
        return matrix

    @cached_property
    def spread(self) -> Vector:
        """Rows per second at each variable for a row per second of each stream, nothing dropped."""
        matrix = np.zeros((len(self.locations), len(self.entering)))
        for variable, stream in enumerate(self.entry):
            if stream >= 0:
                matrix[variable, stream] = 1.0
            else:
                for other, gain in self.supply[variable].items():
                    matrix[variable] += gain * matrix[other]
        return matrix

    def rates(self, named: Mapping[str, float]) -> Vector:
        """Rates in the order of the streams that enter, in rows per second."""
        return np.array([named[name] for name in self.entering], dtype=float)

    @cached_property
    def _entries(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Vector]:
        """The loads as row, variable and amount: most of the matrix is 0."""
        rows = [row for row, those in enumerate(self.loads) for _ in those]
        variables = [variable for those in self.loads for variable in those]
        amounts = [amount for those in self.loads for amount in those.values()]
        return np.array(rows, dtype=int), np.array(variables, dtype=int), np.array(amounts)

    def loaded(self, flows: Vector) -> Vector:
        """The load of each node and link.

        Args:
            flows: what passes each location, in rows per second.
        """
        rows, variables, amounts = self._entries
        found: Vector = np.bincount(
            rows, amounts * flows[variables], minlength=len(self.limits)
        ).astype(float)
        return found

    def overloaded(self, flows: Vector, slack: float = 1e-9) -> bool:
        """Whether a node or link has more to do than it can."""
        return bool((self.loaded(flows) > self.capacity * (1 + slack)).any())

    def keeps(self, flows: Vector, rates: Vector) -> Vector:
        """The share of what arrives that is kept at each location; 1 where nothing arrives."""
        arrives = np.empty(len(self.locations))
        for variable, stream in enumerate(self.entry):
            arrives[variable] = (
                rates[stream] if stream >= 0 else _total(self.supply[variable], flows)
            )
        share = np.divide(flows, arrives, out=np.ones_like(flows), where=arrives > 0)
        return np.clip(share, 0.0, 1.0)

    def flows(self, keeps: Vector, rates: Vector) -> Vector:
        """What passes each location, in rows per second.

        Args:
            keeps: the share that is kept at each.
            rates: of the streams that enter.
        """
        passed = np.zeros(len(self.locations))
        for variable, stream in enumerate(self.entry):
            arrives = rates[stream] if stream >= 0 else _total(self.supply[variable], passed)
            passed[variable] = keeps[variable] * arrives
        return passed


def _total(those: Sum, values: Vector) -> float:
    return float(sum(gain * values[variable] for variable, gain in those.items()))
