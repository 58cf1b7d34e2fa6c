"""Aggregates that share panes cost once, and are kept alike."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.network.cql import parse_network
from penstock.network.outline import outline
from penstock.planning import Asked, Known, Node, Workload, plan, workload
from penstock.planning.panes import share_panes

NODES = (
    Node("S", rate=1.0, cost=0.0),
    Node("f", (0,), cost=0.5),
    Node("p", (1,), cost=0.2, aggregate=True),
    Node("q", (1,), cost=0.3, aggregate=True),
    Node("r", (1,), cost=1.0, aggregate=True),
)
QUERIES = (
    Asked("p", 2, hardness=1e-4),
    Asked("q", 3, hardness=1e-2),
    Asked("r", 4, hardness=1e-3),
)


def test_what_saves_nothing_is_not_dropped():
    apart = Workload(NODES, QUERIES, capacity=1.0)
    together = share_panes(apart, [("p", "q")])
    assert together.total == pytest.approx(apart.total)
    found = plan(together)
    keep = {str(drop.arc): drop.keep for drop in found.plan.random}
    # The drop before the panes stands on the arcs to both, and is that of the one that needs more.
    assert found.outcomes["p"].keep == found.outcomes["q"].keep
    assert keep.keys() == {"S ─► f", "f ─► r"}
    hungry = replace(apart, queries=(*QUERIES[:2], replace(QUERIES[2], hardness=0.1)))
    found = plan(share_panes(hungry, [("p", "q")]))
    keep = {str(drop.arc): drop.keep for drop in found.plan.random}
    assert keep.keys() == {"S ─► f", "f ─► p", "f ─► q"}
    assert keep["f ─► p"] == keep["f ─► q"] < keep["S ─► f"]
    assert found.reasons.keys() == {drop.arc for drop in found.plan.random}
    assert found.after == pytest.approx(1.0)


def test_a_network_says_which_aggregates_are_alike():
    text = """
CREATE QUERY p AS SELECT host, count(*) AS n FROM s [RANGE 60 s SLIDE 10 s WATTR ts] GROUP BY host;
CREATE QUERY q AS SELECT host, sum(x) AS n FROM s [RANGE 30 s SLIDE 5 s WATTR ts] GROUP BY host;
CREATE QUERY r AS SELECT port, sum(x) AS n FROM s [RANGE 30 s SLIDE 5 s WATTR ts] GROUP BY port"""
    graph = outline(parse_network(text))
    apart, _ = workload(graph, Known())
    load, _ = workload(graph, Known(), shared_panes=True)
    costs = {node.name: node.cost for node in load.nodes}
    assert costs == {"s": 0.0, "panes of p": 2.0, "p": 0.0, "q": 0.0, "r": 1.0}
    assert load.total == apart.total


#   S ─┬─► tcp ─┬─► p              p, q, r are computed together, from the rows of S;
#      │        └─► web ─► w         w is computed by itself
#      ├─► udp ─► q
#      └─► r
BEHIND_FILTERS = (
    Node("S", rate=1.0, cost=0.0),
    Node("tcp", (0,), cost=0.1, selectivity=0.5),
    Node("p", (1,), cost=1.0, aggregate=True),
    Node("web", (1,), cost=0.1, selectivity=0.5),
    Node("w", (3,), cost=1.0, aggregate=True),
    Node("udp", (0,), cost=0.1, selectivity=0.25),
    Node("q", (5,), cost=1.0, aggregate=True),
    Node("r", (0,), cost=1.0, aggregate=True),
)


HARD = st.sampled_from([1e-5, 1e-4, 1e-3, 1e-2])


@given(st.tuples(HARD, HARD, HARD, HARD), st.floats(0.05, 0.95), st.booleans())
def test_panes_behind_different_filters(hardness, share, dear):
    at = zip("pwqr", (2, 4, 6, 7), hardness, strict=True)
    apart = Workload(BEHIND_FILTERS, tuple(Asked(n, i, hardness=h) for n, i, h in at))
    load = share_panes(apart, [("p", "q", "r")])
    assert load.total == pytest.approx(apart.total)
    load = replace(load, capacity=share * load.total, drop_cost=0.01 if dear else 0.0)
    found = plan(load)
    keep = {name: one.keep for name, one in found.outcomes.items()}
    assert keep["p"] == keep["q"] == keep["r"]
    # As the drops are executed: the least on the way to a query, the greatest in the panes.
    ways = {"p": "S tcp p", "w": "S tcp web w", "q": "S udp q", "r": "S r"}
    arcs = {name: {f"{a} ─► {b}" for a, b in pairwise(way.split())} for name, way in ways.items()}
    drops = {str(drop.arc): drop.keep for drop in found.plan.random}
    assert drops.keys() <= set().union(*arcs.values())
    done = {
        name: min((keep for arc, keep in drops.items() if arc in mine), default=1.0)
        for name, mine in arcs.items()
    }
    assert done["w"] == pytest.approx(keep["w"])
    assert max(done[name] for name in "pqr") == pytest.approx(keep["p"])
    assert found.after <= load.capacity * (1 + 1e-9)
    assert found.reasons.keys() == {drop.arc for drop in found.plan.random}


def test_answers_are_as_many_whatever_is_sampled():
    #  S ─► A ─► select: what works on answers is not less for a sample of the rows
    nodes = (
        Node("S", rate=1.0, cost=0.0),
        Node("A", (0,), cost=1.0, aggregate=True),
        Node("select", (1,), cost=1.0),
    )
    for drop_cost in (0.0, 0.1):
        load = Workload(nodes, (Asked("q", 2),), capacity=1.5, drop_cost=drop_cost)
        found = plan(load)
        assert [str(drop.arc) for drop in found.plan.random] == ["S ─► A"]
        assert found.outcomes["q"].keep == pytest.approx(0.5 - drop_cost)
        assert found.after == pytest.approx(1.5)
