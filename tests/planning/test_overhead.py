"""Placement that counts what drops cost, against every other placement."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.planning import Asked, Node, Workload, plan
from penstock.planning.placement import _placed, place, sampled
from penstock.planning.sampling import least_rates, set_sampling_rates
from tests.planning.brute import least_load, network

seeds = st.integers(0, 2**32)


@given(seeds, st.sampled_from([0.0, 0.05, 0.3, 1.0]), st.integers(0, 2))
def test_no_other_placement_has_a_lower_load(seed, drop_cost, unions):
    rng = random.Random(seed)
    load = network(rng, drop_cost=drop_cost, unions=unions)
    wanted = [rng.choice([0.1, 0.4, 0.9, 1.0]) for _ in load.queries]
    rates = {query.name: rate for query, rate in zip(load.queries, wanted, strict=True)}
    found = place(load, set_sampling_rates(load, rates))
    streams = float(load.work[load.streams].sum())
    assert found.load + streams == pytest.approx(least_load(load, wanted))
    assert all(
        found.keep[q.node] >= rate - 1e-12 for q, rate in zip(load.queries, wanted, strict=True)
    )


def test_nor_on_hundreds_of_other_networks():
    rng = random.Random(20040401)
    for number in range(800):
        load = network(rng, drop_cost=rng.choice([0.01, 0.1, 0.5]), unions=number % 3)
        wanted = [rng.choice([0.2, 0.5, 1.0]) for _ in load.queries]
        rates = {query.name: rate for query, rate in zip(load.queries, wanted, strict=True)}
        found = place(load, set_sampling_rates(load, rates))
        streams = float(load.work[load.streams].sum())
        assert found.load + streams == pytest.approx(least_load(load, wanted))


@given(seeds, st.sampled_from([0.02, 0.2]), st.integers(0, 2))
def test_no_smaller_error_is_within_the_capacity(seed, drop_cost, unions):
    load = network(random.Random(seed), queries=2, drop_cost=drop_cost, unions=unions)
    demand = load.spread({n: load.c(q) * q.weight for n, q in enumerate(load.queries)})
    streams = float(load.work[load.streams].sum())
    found = sampled(load, demand, load.capacity - streams)
    if not 0 < found.scale < np.inf:
        return
    assert found.load + streams <= load.capacity * (1 + 1e-9)
    for better in (1.001, 1.1, 2.0):
        rates = least_rates(demand, found.scale * better)
        wanted = [float(rates[q.node]) for q in load.queries]
        if max(wanted) == 1 and wanted == [float(found.keep[q.node]) for q in load.queries]:
            continue
        assert least_load(load, wanted) >= load.capacity * (1 - 1e-9)


def test_a_drop_for_a_union_may_stand_behind_it():
    # S and T bring 100 rows/s each, and one in a hundred gets to the query.
    nodes = (
        Node("S", rate=100.0, cost=0.0),
        Node("T", rate=100.0, cost=0.0),
        Node("both", (0, 1), cost=0.0),
        Node("filter", (2,), cost=0.001, selectivity=0.01),
        Node("q", (3,), cost=1.0),
    )
    load = Workload(nodes, (Asked("q", 4),), capacity=1.0, drop_cost=0.01)
    assert [str(d.arc) for d in plan(load).plan.random] == ["filter ─► q"]
    free = plan(replace(load, drop_cost=0.0)).plan.random
    assert [str(d.arc) for d in free] == ["S ─► both", "T ─► both"]


def test_one_input_of_a_union_is_dropped_as_far_as_the_other():
    # a needs half of S; what comes by T is dropped to as much, for filter, and not to what q needs.
    nodes = (
        Node("S", rate=1.0, cost=0.0),
        Node("T", rate=1.0, cost=0.0),
        Node("f", (0,), cost=1.0),
        Node("a", (2,), cost=1.0),
        Node("u", (2, 1), cost=0.1),
        Node("filter", (4,), cost=0.0, selectivity=0.01),
        Node("q", (5,), cost=0.1),
    )
    load = Workload(nodes, (Asked("a", 3), Asked("q", 6)), drop_cost=0.06)
    found = place(load, set_sampling_rates(load, {"a": 0.5, "q": 0.4}))
    assert found.cuts == ((0, 2), (1, 4))
    assert found.keep.tolist() == [1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5]


def test_many_unions_are_tried_one_by_one_and_only_so_often():
    less = 0
    for seed in range(8):
        rng = random.Random(seed)
        load = network(rng, queries=30, drop_cost=0.1, unions=30)
        rates = {query.name: rng.uniform(0.1, 1.0) for query in load.queries}
        wanted = set_sampling_rates(load, rates)
        found = place(load, wanted)
        assert all(found.keep[q.node] >= rates[q.name] - 1e-12 for q in load.queries)
        unions = [u for u, fed in enumerate(load.parents) if len(fed) > 1 and wanted[u]]
        least = _placed(load, wanted.tolist(), {u: float(wanted[u]) for u in unions}, 1.0)
        assert found.load <= least.load
        less += found.load < least.load
    assert less


def chain(drop_cost: float) -> Workload:
    """A filter that lets one row in a hundred pass, then what is expensive."""
    nodes = (
        Node("S", rate=100.0, cost=0.0),
        Node("filter", (0,), cost=0.001, selectivity=0.01),
        Node("q", (1,), cost=1.0),
    )
    return Workload(nodes, (Asked("q", 2),), capacity=0.6, drop_cost=drop_cost)


def test_a_drop_stands_where_it_costs_less_than_it_saves():
    assert [str(d.arc) for d in plan(chain(0.0)).plan.random] == ["S ─► filter"]
    dear = plan(chain(0.01))
    assert [str(d.arc) for d in dear.plan.random] == ["filter ─► q"]
    # 0.1 for the filter, 0.01 for the drop: what is left is for the query.
    assert dear.outcomes["q"].keep == pytest.approx(0.6 - 0.1 - 0.01)
    assert dear.after == pytest.approx(0.6)


def test_a_drop_that_costs_more_than_it_saves_is_not_placed():
    # Before each of two cheap aggregates a drop would cost more than they do.
    nodes = (
        Node("S", rate=1.0, cost=0.0),
        Node("A", (0,), cost=1.0),
        Node("p", (1,), cost=0.01),
        Node("q", (1,), cost=0.01),
    )
    queries = (Asked("p", 2, hardness=1e-4), Asked("q", 3, hardness=1e-2))
    load = Workload(nodes, queries, capacity=0.5, drop_cost=0.02)
    found = plan(load)
    assert [str(d.arc) for d in found.plan.random] == ["S ─► A"]
    assert found.outcomes["p"].keep == found.outcomes["q"].keep
    free = plan(Workload(nodes, queries, capacity=0.5))
    assert len(free.plan.random) == 2
