"""What a network of nodes is made of; each is checked when it is made."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.control.checks import amount, positive
from penstock.errors import SpecificationError, complaint

_TWO = 2


@dataclass(frozen=True, slots=True)
class Node:
    """A machine, or an application of its own.

    Args:
        name: of the node.
        capacity: seconds of work that it can do in a second, ζ of the paper.
    """

    name: str
    capacity: float = 1.0

    def __post_init__(self) -> None:
        positive(f"the capacity of node {self.name!r}", self.capacity)


@dataclass(frozen=True, slots=True)
class Link:
    """The way from one node to another, where it is narrow; other ways are as wide as needed.

    Args:
        after: the node that sends.
        before: the node that receives.
        bandwidth: rows per second.
    """

    after: str
    before: str
    bandwidth: float

    def __post_init__(self) -> None:
        positive(f"the bandwidth of link {self}", self.bandwidth)

    def __str__(self) -> str:
        return f"{self.after} ─► {self.before}"


@dataclass(frozen=True, slots=True)
class Input:
    """A stream that comes from outside.

    Args:
        name: of the stream.
        rate: rows per second that arrive now.
        most: rows per second for which plans are made in advance; None for ten times the rate.
    """

    name: str
    rate: float
    most: float | None = None

    def __post_init__(self) -> None:
        amount(f"the rate of input {self.name!r}", self.rate)
        if self.most is not None:
            positive(f"the most of input {self.name!r}", self.most)


@dataclass(frozen=True, slots=True)
class Box:
    """A part of a query on a node.

    Args:
        name: of the box.
        node: where it runs.
        inputs: the inputs and boxes that feed it; several make a union, or with windows a join.
        cost: seconds of the node for each row in.
        selectivity: rows out for each row in; of a join, for each pair of rows that meet.
        windows: of a join, the rows that each side's window holds on average.
    """

    name: str
    node: str
    inputs: tuple[str, ...]
    cost: float
    selectivity: float = 1.0
    windows: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        amount(f"the cost of box {self.name!r}", self.cost)
        amount(f"the selectivity of box {self.name!r}", self.selectivity)
        for rows in self.windows:
            positive(f"a window of box {self.name!r}", rows)
        if not self.inputs:
            raise SpecificationError(complaint(f"box {self.name!r}", "needs an input", self.inputs))
        if self.windows and not len(self.windows) == len(self.inputs) == _TWO:
            rule = "must have two inputs and a window for each, as a join has"
            got = (self.inputs, self.windows)
            raise SpecificationError(complaint(f"box {self.name!r}", rule, got))

    @property
    def gains(self) -> tuple[float, ...]:
        """Rows out for each row that comes in from each of its inputs.

        A row of one side of a join meets the window of the other.
        """
        if self.windows:
            first, second = self.windows
            return (second * self.selectivity, first * self.selectivity)
        return (self.selectivity,) * len(self.inputs)


@dataclass(frozen=True, slots=True)
class Output:
    """Where answers leave.

    Args:
        name: of the output.
        after: the box or input whose rows they are.
        weight: how much a row counts beside those of other outputs.
    """

    name: str
    after: str
    weight: float = 1.0

    def __post_init__(self) -> None:
        amount(f"the weight of output {self.name!r}", self.weight)
