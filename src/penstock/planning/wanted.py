"""What a query wants of its answers, and how hard they are to sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.drops.linear import is_linear
from penstock.network.operators import Aggregate, Operator
from penstock.network.settings import QuerySettings
from penstock.planning.asked import Asked, Node
from penstock.planning.guesses import GROUPS, Guesses
from penstock.planning.known import Known
from penstock.windows import DOMAIN_KINDS, WindowSpec
from penstock.windows.durations import SECOND

_SAMPLED = frozenset(
    {"count", "sum", "avg", "approx_percentile", "var_samp", "var_pop", "stddev_samp", "stddev_pop"}
)
"""Functions whose answers from a sample have a bound."""


@dataclass(frozen=True, slots=True)
class Network:
    """Operators by their numbers.

    Args:
        nodes: as the planner sees them.
        operators: as the user wrote them.
        rows: per second into each.
    """

    nodes: Sequence[Node]
    operators: Sequence[Operator]
    rows: Sequence[float]

    def answering(self, number: int) -> int | None:
        """The aggregate whose answers come from here; None if rows do, or answers of several."""
        while not self.nodes[number].aggregate:
            if len(self.nodes[number].inputs) != 1:
                return None
            (number,) = self.nodes[number].inputs
        return number

    def aggregates(self, number: int) -> dict[int, Aggregate]:
        """The aggregates among this one and what feeds it, by their numbers."""
        seen, waiting = {number}, [number]
        while waiting:
            more = set(self.nodes[waiting.pop()].inputs) - seen
            seen |= more
            waiting += more
        found = {one: self.operators[one] for one in sorted(seen) if self.nodes[one].aggregate}
        return {one: of for one, of in found.items() if isinstance(of, Aggregate)}

    def over_windows(self, numbers: Sequence[int]) -> bool:
        """Whether an aggregate is among these, or among what feeds them."""
        seen, waiting = set(numbers), list(numbers)
        while waiting:
            one = self.nodes[waiting.pop()]
            if one.aggregate:
                return True
            more = set(one.inputs) - seen
            seen |= more
            waiting += more
        return False


def asked(
    name: str,
    node: int,
    network: Network,
    wants: QuerySettings | None,
    *,
    known: Known,
    guesses: Guesses,
) -> Asked:
    """The query as the planner sees it.

    Args:
        name: of the query.
        node: the number of the operator whose rows are its answers.
        network: all operators.
        wants: what is wanted of its answers, if anything is said.
        known: what was measured.
        guesses: where guesses are noted.
    """
    at = network.answering(node)
    rows = at is None and not network.over_windows([node])
    one = Asked(name, node, rows=rows)
    if wants is not None:
        one = replace(
            one,
            weight=wants.weight,
            priority=wants.priority,
            answers=wants.answers,
            max_gap=wants.max_gap,
        )
    if rows or one.answers == "subset":
        return one
    if at is None or not _bounded(network, at):
        return replace(one, hardness=math.inf)
    hardness = known.hardness.get(name)
    if hardness is None:
        return replace(one, hardness=_guessed(name, network, at, guesses))
    return replace(one, hardness=hardness, groups=known.groups.get(name, 1.0))


def _bounded(network: Network, at: int) -> bool:
    """Whether a sample of the rows gives answers with a bound on their error."""
    aggregates = network.aggregates(at)
    for query in (one.query for one in aggregates.values()):
        named = all(one.function in _SAMPLED for one in query.aggregates.values())
        if not named or query.user_defined or query.window.kind not in DOMAIN_KINDS:
            return False
    return len(aggregates) == 1 or is_linear(aggregates[at])


def _guessed(name: str, network: Network, at: int, guesses: Guesses) -> float:
    operator = network.operators[at]
    assert isinstance(operator, Aggregate)  # noqa: S101 - it is where answers come from
    query, window = operator.query, operator.query.window
    assert isinstance(window, WindowSpec)  # noqa: S101 - a session has no bound
    length = window.range or window.period or window.slide
    # Windows over windows have the rows of those below.
    below = {
        number: one
        for number, one in network.aggregates(at).items()
        if not network.over_windows(network.nodes[number].inputs)
    }
    # A window over another attribute than time has an unknown number of rows: those of a second.
    seconds = length / SECOND if window.unit == "time" else 1.0
    rows = sum(network.rows[number] for number in below) * seconds
    if query.keys:
        guesses.note(f"the worst group has 1/{GROUPS} of the rows", name)
        rows /= GROUPS
    asked_for = [one for of in below.values() for one in of.query.aggregates.values()]
    counts = all(one.function == "count" for one in asked_for)
    if not counts:
        guesses.note("values deviate by as much as their mean", name)
    return (1.0 if counts else 2.0) / max(rows, 1.0)
