"""Feasible input tables: guaranteed, small, fast to ask; each step against a naive twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SpecificationError, UsageError
from penstock.nodes import (
    Box,
    Input,
    Network,
    Node,
    Output,
    Planner,
    Tree,
    fit,
    plans_in_advance,
)
from penstock.nodes.compiling import compiled
from penstock.nodes.fit.alike import alike
from penstock.nodes.fit.leaf import leaf_grid, leaf_table
from penstock.nodes.fit.local_plans import drop_order, greedy, is_greedy
from penstock.nodes.fit.pruning import pruned
from penstock.nodes.fit.quadtree import PointQuadtree
from penstock.nodes.fit.spacing import Spacing, profile, root_spacing
from penstock.nodes.fit.table import Table
from penstock.nodes.fit.upstream import compositions, required
from penstock.nodes.highs import Highs
from tests.nodes.naive import walk
from tests.nodes.networks import FIG1, FIG7, chains, random_network


def losses(network: Network, error: float, rng: np.random.Generator, times: int) -> list[float]:
    """How far plans are below the optimum at random rates that overload a node."""
    tables, planner, found = fit(network, error), Planner(network), []
    for _ in range(times):
        rates = {i.name: float(rng.uniform(0, network.most[i.name])) for i in network.inputs}
        choice, best = tables.select(rates), planner.plan(rates)
        assert (choice is None) == (not best.sheds)
        if choice is not None:
            walked = walk(network, tables.keeps(choice), rates)
            assert not walked.overloaded(network)
            found.append(1 - walked.score / best.score if best.score > 0 else 0.0)
    return found


@pytest.mark.parametrize("error", [0.2, 0.1, 0.05])
def test_no_plan_of_the_papers_networks_is_more_than_epsilon_below_the_optimum(error):
    rng = np.random.default_rng(1)
    for network in (FIG1, FIG7, chains((0.064, 0.032), (0.032, 0.064), rate=20.0, most=100.0)):
        found = losses(network, error, rng, 150)
        assert len(found) > 75
        assert max(found) <= error + 1e-6


@pytest.mark.parametrize("tree", [True, False], ids=["trees", "any graphs"])
def test_no_plan_of_random_networks_is_more_than_epsilon_below_the_optimum(tree):
    found, large = [], 0
    for seed in range(40):
        rng = np.random.default_rng(1000 + seed)
        network = random_network(rng, inputs=2, boxes=4, tree=tree)
        try:
            found += losses(network, 0.3, rng, 15)
        except UsageError:
            large += 1
    assert large < 8
    assert len(found) > 200
    assert max(found) <= 0.3 + 1e-6


TREE = Network(
    (Node("A"), Node("B"), Node("C"), Node("D")),
    (Input("l", 1.0, 3.0), Input("r", 1.0, 3.0)),
    (
        Box("a", "A", ("l",), 0.2, 0.8),
        Box("u", "A", ("a", "r"), 0.2),
        Box("b", "B", ("u",), 0.9, 0.5),
        Box("c", "C", ("u",), 0.8),
        Box("d1", "D", ("c",), 1.5),
        Box("d2", "D", ("c",), 0.3),
    ),
    (Output("b", "b", 2.0), Output("d1", "d1"), Output("d2", "d2"), Output("a", "a", 0.1)),
)
"""Two children, one of them with a child; a union, splits, and an output of the root itself.

          ┌─► out a
    l ─► a┴─► u ─┬─► b ─► out b
    r ───────────┘└─► c ─┬─► d1 ─► out d1
                         └─► d2 ─► out d2
"""


def test_tables_go_up_a_tree_through_a_union_splits_and_several_children():
    sites = Tree(TREE).sites
    assert {name: site.parent for name, site in sites.items()} == {
        "A": None,
        "B": "A",
        "C": "A",
        "D": "C",
    }
    found = losses(TREE, 0.3, np.random.default_rng(3), 60)
    assert len(found) > 30
    assert max(found) <= 0.3 + 1e-6


def test_nodes_that_are_no_tree_are_put_together_until_they_are():
    # C is fed by A and by B: the three are one site; D stays for itself.
    network = Network(
        (Node("A"), Node("B"), Node("C"), Node("D")),
        (Input("i", 1.0, 3.0),),
        (
            Box("a", "A", ("i",), 0.3),
            Box("b", "B", ("a",), 0.4),
            Box("c", "C", ("a", "b"), 0.5),
            Box("d", "D", ("c",), 0.6),
        ),
        (Output("o", "d"),),
    )
    assert list(Tree(network).sites) == ["A + B + C", "D"]
    assert max(losses(network, 0.1, np.random.default_rng(4), 40)) <= 0.1 + 1e-6


def test_inputs_that_are_alike_are_one_dimension():
    network = chains([0.016, 0.008] * 4, [0.008, 0.016] * 4, rate=20.0, most=100.0)
    kinds = alike(network)
    assert {name: list(those) for name, those in kinds.members.items()} == {
        "i0": ["i0", "i2", "i4", "i6"],
        "i1": ["i1", "i3", "i5", "i7"],
    }
    tables = fit(network, 0.1)
    assert tables.entries < 1000
    found = losses(network, 0.1, np.random.default_rng(5), 60)
    assert max(found) <= 0.1 + 1e-6


def test_inputs_that_differ_in_scale_only_count_by_their_scale():
    # A row of the second is worth half of one of the first, and costs half, on both nodes.
    network = Network(
        (Node("A"), Node("B")),
        (Input("i", 1.0), Input("j", 1.0)),
        (
            Box("a1", "A", ("i",), 1.0),
            Box("a2", "A", ("j",), 0.5, 0.25),
            Box("b1", "B", ("a1",), 1.0),
            Box("b2", "B", ("a2",), 2.0, 2.0),
        ),
        (Output("o1", "b1"), Output("o2", "b2")),
    )
    assert alike(network).members == {"i": {"i": 1.0, "j": 0.5}}
    assert alike(network).rates({"i": 3.0, "j": 4.0}) == {"i": 5.0}
    other = network.changed("b2", cost=2.1)
    assert alike(other).members == {"i": {"i": 1.0}, "j": {"j": 1.0}}


def test_inputs_that_are_nearly_alike_are_one_dimension_too():
    # Costs as they are measured: off by up to 1 % each, so that loads differ by 2 %.
    rng = np.random.default_rng(9)
    costs = np.array([[0.016, 0.008] * 4, [0.008, 0.016] * 4]) * rng.uniform(0.99, 1.01, (2, 8))
    network = chains(*costs.tolist(), rate=20.0, most=100.0)
    kinds = alike(network, 0.025)
    assert len(kinds.members) == 2
    assert 0.01 < kinds.loss < 0.025
    assert len(alike(network).members) == 8
    tables = fit(network, 0.1)
    assert tables.entries < 2000
    assert max(losses(network, 0.1, rng, 100)) <= 0.1 + 1e-6
    # Where no node is really overloaded nothing is dropped, though the dearest of a kind would be.
    full = 1 / costs.sum(axis=1).max() * 0.999
    assert tables.select(dict.fromkeys(network.rates, full)) is None


def test_the_feasible_triangle_is_left_out_of_the_roots_table():
    # Fig. 6: below the line from (1/3, 0) to (0, 1/2) no node of Fig. 1 is ever overloaded.
    part = fit(FIG1, 0.1).parts[0]
    rates = part.tables["A"].rates
    inside = 3 * rates[:, 0] + 2 * rates[:, 1] < 0.8
    assert inside.sum() == 1  # that of nothing
    below = part.tables["B"].rates
    assert (3 * below[:, 0] + 2 * below[:, 1] < 0.8).sum() > 20


@pytest.mark.parametrize("make", [lambda n: fit(n, 0.1), lambda n: plans_in_advance(n, error=0.1)])
def test_an_input_that_brings_nothing_is_the_first_to_go(make):
    # Nobody wants what comes of the second: whatever it overloads, all of the first stays.
    network = FIG1.changed("b1", selectivity=0.0)
    plans = make(network)
    for first in (0.001, 0.1, 0.3):
        choice = plans.select({"i0": first, "i1": 2.5})
        assert choice is not None
        assert choice.scaling == {"i0": 1.0, "i1": 0.0}
        walked = walk(network, plans.keeps(choice), {"i0": first, "i1": 2.5})
        assert walked.score == pytest.approx(first)
    assert plans.select({"i0": 0.1, "i1": 0.1}) is None
    both = plans.select({"i0": 2.0, "i1": 2.5})
    assert both is not None
    assert both.scaling["i1"] == 0.0
    score = walk(network, plans.keeps(both), {"i0": 2.0, "i1": 2.5}).score
    assert 0.9 / 3 <= score <= 1 / 3 + 1e-9


def test_a_smaller_epsilon_needs_more_entries():
    entries = [fit(FIG1, error).entries for error in (0.3, 0.2, 0.1, 0.05)]
    assert entries == sorted(entries)
    assert entries[-1] > 3 * entries[1]


def test_a_table_that_would_fill_the_memory_is_refused():
    costs = np.random.default_rng(6).uniform(0.01, 0.03, (2, 8)).tolist()
    with pytest.raises(UsageError, match=r"may have .* entries at most"):
        fit(chains(*costs, rate=20.0, most=200.0), 0.1)


@pytest.mark.parametrize("error", [0.0, 1.0, -0.1])
def test_an_error_is_a_share(error):
    with pytest.raises(SpecificationError, match="an error"):
        fit(FIG1, error)


def test_the_lower_branch_of_fig_7_goes_first_and_the_parent_sees_a_third():
    program = compiled(FIG7)
    top = profile(program, {})
    table = leaf_table(program, leaf_grid(program, root_spacing(top, {"in": 1.0}, 0.1)))
    # With all of the lower branch dropped three units of work are left for a row.
    assert table.rates.max() == pytest.approx(1 / 3, abs=0.02)
    assert table.scores.max() == pytest.approx(1 / 3, abs=0.02)
    names = [str(program.locations[place]) for place, _, _ in drop_order(program)]
    assert names == ["a ─► c", "a ─► b"]
    flows = greedy(program, np.array([[0.2]]) @ program.spread.T)
    assert program.keeps(flows[0], np.array([0.2])).tolist() == pytest.approx([1.0, 1.0, 0.4])


def test_greedy_local_plans_are_as_good_as_the_program():
    tried = 0
    for seed in range(600):
        rng = np.random.default_rng(seed)
        network = random_network(rng, inputs=2, boxes=7, nodes=1)
        program = compiled(network)
        if not program.supply or not is_greedy(program):
            continue
        rates = rng.uniform(0, 3, len(program.entering))
        free = program.spread @ rates
        flows = greedy(program, free[None])[0]
        fits = not program.overloaded(flows)
        least = program.load[:, : len(program.entering)] @ rates
        assert fits == bool((least <= program.capacity).all())
        if fits:
            best = Highs(program, free).within(rates)
            assert program.score @ flows == pytest.approx(float(program.score @ best), rel=1e-6)
            tried += program.overloaded(free)
    assert tried > 10


def test_what_must_enter_is_what_a_split_needs_most_and_a_union_shares_out():
    union = Network(
        (Node("A"), Node("B")),
        (Input("l", 1.0, 9.0), Input("r", 1.0, 9.0)),
        (
            Box("a", "A", ("l",), 0.1, 0.5),
            Box("u", "A", ("a", "r"), 0.1),
            Box("b", "B", ("u",), 0.1),
            Box("c", "B", ("u",), 0.1),
        ),
        (Output("b", "b"), Output("c", "c")),
    )
    program = Tree(union).sites["A"].program
    spacing = Spacing({"l": 9.0, "r": 9.0}, 1.0, 2, 0.1, 0.5, 0.0)
    flows, case = required(program, np.array([[2.0, 1.0]]), spacing)
    # Steps of a quarter: what comes from l is halved on its way, so twice as much must enter.
    assert case.tolist() == [0] * 5
    assert flows[:, :2].tolist() == [[0, 2], [1, 1.5], [2, 1], [3, 0.5], [4, 0]]
    assert (flows[:, 2:] == [2.0, 1.0]).all()


def test_a_join_shares_a_need_out_by_its_windows():
    join = Network(
        (Node("A"), Node("B")),
        (Input("l", 1.0, 9.0), Input("r", 1.0, 9.0)),
        (Box("j", "A", ("l", "r"), 0.1, 0.5, (4.0, 10.0)), Box("b", "B", ("j",), 0.1)),
        (Output("b", "b"),),
    )
    program = Tree(join).sites["A"].program
    flows, _ = required(program, np.array([[6.0]]), Spacing({}, 1.0, 2, 0.1, 0.5, 0.0))
    # r_i s w_j + r_j s w_i = r
    assert flows @ [0.5 * 10, 0.5 * 4] == pytest.approx([6.0] * len(flows))


def test_a_whole_is_shared_out_in_all_ways():
    ways = compositions(3, 4)
    assert len(ways) == math.comb(6, 2)
    assert np.allclose(ways.sum(axis=1), 1)
    assert len(np.unique(ways, axis=0)) == len(ways)


points = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6), st.integers(0, 20)),
    max_size=60,
)


@given(points, st.tuples(*[st.integers(0, 7)] * 3))
def test_the_quadtree_finds_the_best_entry_below_a_point(those, point):
    rows = np.array([(0, 0, 0, 0), *those], dtype=float)
    rates, scores = rows[:, :3], rows[:, 3]
    found = PointQuadtree(rates, scores).best(point)
    below = (rates <= point).all(axis=1)
    assert below[found]
    assert scores[found] == scores[below].max()


@given(points, st.sampled_from([0.0, 0.1, 0.5]))
def test_whatever_is_left_out_has_an_entry_that_stands_for_it(those, near):
    rows = np.array([(0, 0, 0, 0), *those], dtype=float)
    numbers = np.arange(len(rows))[:, None]
    whole = Table(("a", "b", "c"), rows[:, :3], rows[:, 3], np.zeros((len(rows), 0)), numbers)
    left = pruned(whole, near, np.zeros((1, 0)))
    for rates, score in zip(whole.rates, whole.scores, strict=True):
        stands = (left.rates <= rates).all(axis=1) & (left.scores >= (1 - near) * score - 1e-12)
        assert stands.any()
    for place, rates in enumerate(left.rates):
        others = np.arange(len(left)) != place
        better = (left.rates <= rates).all(axis=1) & (left.scores >= left.scores[place])
        assert not (better & others).any()
