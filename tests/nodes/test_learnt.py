"""What nodes have measured takes the place of what was believed."""

from __future__ import annotations

import pytest

from penstock.control import Costs, OperatorStatistics, Snapshot, StreamStatistics
from penstock.errors import UsageError
from penstock.nodes import Box, Network, learnt
from tests.nodes.networks import FIG1


def snapshot(operators: dict[str, tuple[float, float | None]], rates: dict[str, float | None]):
    costs = Costs(0.5, {name: cost for name, (cost, _) in operators.items()}, 0.0, {}, 0.0, 9)
    return Snapshot(
        9,
        costs,
        {
            name: OperatorStatistics(name, "filter", 10.0, 5.0, selectivity, cost, 0.0, 0.5)
            for name, (cost, selectivity) in operators.items()
        },
        {name: StreamStatistics(name, 10.0, rate, None) for name, rate in rates.items()},
        {},
        {},
        {},
        None,
    )


def test_costs_selectivities_and_rates_are_those_that_were_measured():
    seen = snapshot({"a0": (0.25, 0.5), "a1": (0.75, None)}, {"i0": 8.0, "i1": None})
    network = learnt(FIG1, {"A": seen})
    assert network.box["a0"] == Box("a0", "A", ("i0",), 0.25, 0.5)
    assert network.box["a1"] == Box("a1", "A", ("i1",), 0.75, 1.0)
    assert network.rates == {"i0": 8.0, "i1": 1.0}
    assert network.box["b0"] == FIG1.box["b0"]
    assert network.nodes == FIG1.nodes


def test_what_a_batch_costs_by_itself_is_taken_off_the_capacity():
    network = learnt(FIG1, {"B": snapshot({}, {})}, period=2.0)
    assert [node.capacity for node in network.nodes] == pytest.approx([1.0, 0.75])
    assert learnt(FIG1, {"B": snapshot({}, {})}, period=0.1).nodes[1].capacity > 0


def test_a_join_keeps_its_selectivity_and_an_unknown_node_is_refused():
    join = Box("a0", "A", ("i0", "i1"), 1.0, 0.01, (5.0, 5.0))
    network = Network(FIG1.nodes, FIG1.inputs, (join, *FIG1.boxes[1:]), FIG1.outputs)
    seen = snapshot({"a0": (0.25, 0.5)}, {})
    assert learnt(network, {"A": seen}).box["a0"].selectivity == 0.01
    with pytest.raises(UsageError, match="node is not known, got 'X'"):
        learnt(FIG1, {"X": seen})
