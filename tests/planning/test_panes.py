"""Aggregates that share panes cost once, and are kept alike."""

from dataclasses import replace

import pytest

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
    together = share_panes(apart, {"p": "host", "q": "host", "r": "port"})
    assert together.total == pytest.approx(apart.total)
    found = plan(together)
    keep = {str(drop.arc): drop.keep for drop in found.plan.random}
    # The drop before the panes stands on the arcs to both, and is that of the one that needs more.
    assert found.outcomes["p"].keep == found.outcomes["q"].keep
    assert keep.keys() == {"S ─► f", "f ─► r"}
    hungry = replace(apart, queries=(*QUERIES[:2], replace(QUERIES[2], hardness=0.1)))
    found = plan(share_panes(hungry, {"p": "host", "q": "host", "r": "port"}))
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
    assert [node.name for node in load.nodes] == ["s", "panes of p", "p", "q", "r"]
    assert [node.cost for node in load.nodes] == [0.0, 2.0, 0.0, 0.0, 1.0]
    assert load.total == apart.total


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
