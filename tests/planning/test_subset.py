"""Window drops: where they stand, what they lose, and who is closed when that is not enough."""

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.planning import Asked, Node, Window, Workload, plan
from penstock.planning.subset import Possible, filled

S = Node("S", rate=1.0, cost=0.0)


def aggregate(name: str, fed: int, range: int, slide: int, **more) -> Node:
    kind = more.pop("kind", "")
    return Node(name, (fed,), aggregate=True, window=Window(range, slide, kind), **more)


def subset(name: str, node: int, max_gap: int | None, **more) -> Asked:
    return Asked(name, node, answers="subset", max_gap=max_gap, **more)


def planned(nodes, queries, capacity: float, **more):
    return plan(Workload(tuple(nodes), tuple(queries), capacity=capacity, **more))


def test_a_drop_stands_at_the_first_point_and_removes_the_excess():
    #  S ─► f ─► A(4, 1), B = 7: at most 7/8 of the windows, and half of the rows, can be dropped
    nodes = [S, Node("f", (0,)), aggregate("A", 1, 4, 1)]
    found = planned(nodes, [subset("A", 2, 7)], capacity=1.5)
    (drop,) = found.plan.windows
    assert (str(drop.arc), drop.range, drop.slide, drop.batch) == ("S ─► f", 4, 1, 7)
    # 2 · p · (1 - 3/7) = 0.5
    assert drop.p == pytest.approx(0.25 * 7 / 4)
    assert found.outcomes["A"].lost == drop.p
    assert found.after == pytest.approx(1.5)
    assert "saves 25 % of the load" in found.reasons[drop.arc]


def test_what_a_tolerance_leaves_is_said():
    # At overlap 4 and B = 7 half of the rows stay, whatever p; so a load of 2 cannot become 0.9.
    nodes = [S, Node("f", (0,)), aggregate("A", 1, 4, 1)]
    found = planned(nodes, [subset("A", 2, 7)], capacity=0.9)
    assert found.plan.closed == ("A",)
    assert found.after == 0
    assert "A is closed: with the gaps that queries tolerate" in found.notes[0]
    assert (
        "if at most 7 of its windows in a row are missing, at least 50 % of its rows stay"
        in (found.notes[0])
    )


def test_what_a_tolerance_leaves_is_said_when_samples_take_the_rest():
    nodes = [S, aggregate("A", 0, 4, 1), aggregate("q", 0, 2, 2)]
    queries = [subset("A", 1, 7, weight=0.1), Asked("q", 2, hardness=1e-6)]
    found = planned(nodes, queries, capacity=0.7)
    assert found.plan.windows[0].p == pytest.approx(7 / 8)
    (note,) = found.notes
    assert "the window drop before A drops as much as it can: each row is in 4 windows" in note
    assert "at most 7 in a row may be missing, so at least 50 % of the rows stay" in note
    assert note.endswith("that is not enough, and random drops take the rest from other queries")
    # As long as the windows could give more, there is nothing to say.
    assert planned(nodes, queries, capacity=1.6).notes == ()


def test_what_a_tolerance_leaves_of_nested_windows_is_that_of_both():
    #  S ─► A(4, 1) ─► B(3, 3): the drop before both is (6, 3), so with B = 5 a third stays, and not
    #  the sixth that the windows of B by themselves would leave
    nodes = [S, aggregate("A", 0, 4, 1), aggregate("B", 1, 3, 3, cost=0.0), Node("q", (0,))]
    queries = [subset("B", 2, 5, weight=0.1), Asked("q", 3, hardness=1e-6)]
    (note,) = planned(nodes, queries, capacity=0.5).notes
    assert "the window drop before A drops as much as it can: each row is in 2 windows" in note
    assert "so at least 33 % of the rows stay" in note
    (closed,) = planned(nodes[:3], queries[:1], capacity=0.3).notes
    assert "at least 33 % of its rows stay" in closed


def test_nested_windows_that_can_lose_nothing_are_named():
    #  S ─► A(10, 1) ─► B(3, 3): a row is in four of (12, 3), and two may be missing
    nodes = [S, aggregate("A", 0, 10, 1), aggregate("B", 1, 3, 3, cost=0.0), Node("q", (0,))]
    found = planned(nodes, [subset("B", 2, 2), Asked("q", 3)], capacity=1.5)
    assert found.plan.windows == ()
    assert "B loses no window: each row is in 4 windows" in found.notes[0]


def test_nothing_is_said_while_other_windows_can_make_up_for_it():
    nodes = [S, aggregate("A", 0, 2, 2, kind="host"), aggregate("B", 0, 2, 2, kind="port")]
    queries = [subset("A", 1, 3, weight=0.5), subset("B", 2, 3)]
    found = planned(nodes, queries, capacity=1.0)
    assert [drop.p for drop in found.plan.windows] == [0.75, pytest.approx(0.25)]
    assert found.notes == ()
    # All of them together are just enough.
    assert planned(nodes, queries, capacity=0.5).notes == ()


def test_what_stays_in_spite_of_any_gap_is_said():
    nodes = [S, aggregate("A", 0, 4, 1), Node("q", (0,))]
    queries = [subset("A", 1, None), Asked("q", 2, rows=True, answers="subset", max_gap=1)]
    notes = planned(nodes, queries, capacity=1.0).notes
    assert notes[0].startswith("A is closed")
    some = [subset("A", 1, None, weight=0.01), Asked("q", 2, hardness=1e-6)]
    (note,) = planned(nodes, some, capacity=0.3).notes
    assert "64 in a row are dropped, so at least 6.2 % of the rows stay" in note


@given(st.integers(0, 2**32), st.booleans())
def test_drops_at_their_most_are_named_whenever_more_is_dropped(seed, besides):
    load = tree(random.Random(seed))
    if besides:
        nodes = (*load.nodes, Node("q", (0,), cost=load.total / 2))
        queries = (*load.queries, Asked("q", len(nodes) - 1, hardness=1e-6, weight=5.0))
        load = replace(load, nodes=nodes, queries=queries)
    found = plan(load)
    drops = found.plan.windows
    full = all(drop.p > drop.batch / (drop.batch + 1) - 1e-9 for drop in drops)
    said = {
        node.name
        for node in load.nodes
        for note in found.notes
        if f"before {node.name} drops as much as it can" in note
    }
    more = found.plan.random or not found.enough
    assert said == ({drop.arc.before for drop in drops} if full and more else set())


def test_without_early_drops_only_what_follows_the_windows_is_saved():
    #  S ─► f ─► A(10, 1) ─► g: B = 4 is less than the overlap
    nodes = [
        S,
        Node("f", (0,)),
        aggregate("A", 1, 10, 1),
        Node("g", (2,), cost=1.0),
    ]
    found = planned(nodes, [subset("q", 3, 4)], capacity=2.5)
    (drop,) = found.plan.windows
    # No earlier point saves more than the arc before the aggregate.
    assert (str(drop.arc), drop.p) == ("f ─► A", pytest.approx(0.5))
    assert "B = 4 is less than the overlap 10" in found.reasons[drop.arc]


def test_a_query_that_can_lose_nothing_is_named():
    nodes = [S, aggregate("A", 0, 120, 10), Node("q", (0,))]
    found = planned(nodes, [subset("A", 1, 5), Asked("q", 2)], capacity=1.5)
    assert found.plan.windows == ()
    assert found.outcomes["q"].keep == pytest.approx(0.5)
    assert "A loses no window: each row is in 12 windows" in found.notes[0]


def test_nested_aggregates_are_dropped_as_one():
    #  S ─► A(4, 1) ─► B(3, 3): the drop before both is (6, 3)
    nodes = [S, aggregate("A", 0, 4, 1), aggregate("B", 1, 3, 3)]
    found = planned(nodes, [subset("B", 2, 5)], capacity=1.6)
    (drop,) = found.plan.windows
    assert (str(drop.arc), drop.range, drop.slide, drop.batch) == ("S ─► A", 6, 3, 5)
    # A works on 1 - p(1 - 3/15) of its rows, B on 1 - p of the answers of A: 2 - 1.8 p = 1.6
    assert drop.p == pytest.approx(0.4 / 1.8)


def test_branches_of_different_keys_are_dropped_each_by_itself():
    nodes = [
        S,
        Node("f", (0,)),
        aggregate("A", 1, 2, 2, kind="host"),
        aggregate("B", 1, 2, 2, kind="port"),
    ]
    queries = [subset("A", 2, 3), subset("B", 3, 3)]
    found = planned(nodes, queries, capacity=2.0)
    assert [str(drop.arc) for drop in found.plan.windows] == ["f ─► A", "f ─► B"]
    assert sum(drop.p for drop in found.plan.windows) == pytest.approx(1.0)
    same = [replace(node, window=Window(2, 2)) if node.window else node for node in nodes]
    (together,) = planned(same, queries, capacity=2.0).plan.windows
    assert str(together.arc) == "S ─► f"
    assert together.queries == ("A", "B")
    assert together.p == pytest.approx(1 / 3)


def test_no_windows_are_dropped_where_approximate_answers_need_the_rows():
    #  S ─► f ─┬─► A (subset)        f works for q too, and q is sampled behind it
    #          └─► q (approximate)
    nodes = [S, Node("f", (0,)), aggregate("A", 1, 2, 2), aggregate("q", 1, 2, 2)]
    found = planned(nodes, [subset("A", 2, 3), Asked("q", 3)], capacity=2.0)
    (windows,), (rows,) = found.plan.windows, found.plan.random
    assert (str(windows.arc), str(rows.arc)) == ("f ─► A", "f ─► q")
    assert found.after == pytest.approx(2.0)


@pytest.mark.parametrize(("weight", "times"), [(1.0, 1.0), (2.0, 2.0)])
def test_the_excess_is_split_by_weight(weight, times):
    nodes = [S, aggregate("A", 0, 2, 2), aggregate("q", 0, 2, 2)]
    queries = [subset("A", 1, 1000), Asked("q", 2, hardness=1e-6, weight=weight)]
    found = planned(nodes, queries, capacity=1.6)
    lost = found.outcomes["A"].lost
    assert lost == pytest.approx(times * (1 - found.outcomes["q"].keep), rel=0.01)
    assert found.after == pytest.approx(1.6)


def test_what_one_kind_cannot_give_the_other_does():
    nodes = [S, aggregate("A", 0, 2, 2), aggregate("q", 0, 2, 2)]
    queries = [subset("A", 1, 1, weight=0.1), Asked("q", 2, hardness=1e-6)]
    found = planned(nodes, queries, capacity=0.6)
    assert found.outcomes["A"].lost == pytest.approx(0.5)
    assert found.outcomes["q"].keep == pytest.approx(0.1)


def test_as_few_as_possible_are_closed_the_costliest_first():
    nodes = [S, *(aggregate(f"A{n}", 0, 4, 1, cost=float(n)) for n in (1, 2, 3))]
    queries = [subset(f"A{n}", n, 2) for n in (1, 2, 3)]  # no row can be dropped: B is too small
    assert planned(nodes, queries, capacity=6.0).plan.closed == ()
    assert planned(nodes, queries, capacity=5.9).plan.closed == ("A3",)
    found = planned(nodes, queries, capacity=2.9)
    assert found.plan.closed == ("A3", "A2")
    assert (found.before, found.after) == (6.0, 1.0)


def test_any_gap_is_dropped_in_long_batches():
    nodes = [S, aggregate("A", 0, 4, 1)]
    (drop,) = planned(nodes, [subset("A", 1, None)], capacity=0.5).plan.windows
    assert drop.batch == 64
    assert 1 - drop.p * (1 - 3 / 64) == pytest.approx(0.5)


def test_a_union_is_dropped_before_all_of_its_inputs():
    nodes = [
        S,
        Node("T", rate=1.0, cost=0.0),
        Node("f", (0,)),
        Node("U", (2, 1), cost=0.0),
        aggregate("A", 3, 2, 2),
    ]
    found = planned(nodes, [subset("A", 4, 9)], capacity=2.0)
    # Not before f: the rows of T would still be there.
    assert [str(drop.arc) for drop in found.plan.windows] == ["U ─► A"]


def test_windows_that_cannot_be_dropped_are_kept_whole():
    nodes = [S, Node("session", (0,), aggregate=True), aggregate("q", 0, 2, 2)]
    found = planned(nodes, [subset("session", 1, 3), Asked("q", 2)], capacity=1.5)
    assert found.outcomes["session"].whole
    assert found.outcomes["q"].keep == pytest.approx(0.5)
    assert "session loses no window: which rows are in a window of this kind" in found.notes[0]


def tree(rng: random.Random) -> Workload:
    """Filters and aggregates over one stream; every query wants windows."""
    nodes = [S]
    for n in range(rng.randint(0, 3)):
        nodes.append(Node(f"f{n}", (rng.randrange(len(nodes)),), cost=rng.random()))
    inner = len(nodes)
    queries = []
    for n in range(rng.randint(1, 4)):
        slide = rng.choice([1, 2, 3])
        fed = rng.randrange(inner) if rng.random() < 0.8 else len(nodes) - 1
        kind = rng.choice(["", "", "", "host"])
        nodes.append(
            aggregate(f"A{n}", fed, slide * rng.randint(1, 4), slide, kind=kind, cost=rng.random())
        )
        weight = rng.choice([1.0, 2.0])
        queries.append(subset(f"A{n}", len(nodes) - 1, rng.randint(1, 30), weight=weight))
    load = Workload(tuple(nodes), tuple(queries))
    return replace(load, capacity=load.total * rng.uniform(0.3, 1.0) + 1e-9)


def upstream(load: Workload, node: int) -> set[int]:
    return {node}.union(*(upstream(load, i) for i in load.nodes[node].inputs))


@given(st.integers(0, 2**32))
def test_every_gap_is_kept_and_every_query_has_one_drop_at_most(seed):
    load = tree(random.Random(seed))
    found = plan(load)
    number = {node.name: n for n, node in enumerate(load.nodes)}
    dropped: list[str] = []
    for drop in found.plan.windows:
        dropped += drop.queries
        assert 0 < drop.p <= drop.batch / (drop.batch + 1) + 1e-12
        kinds = set()
        for query in load.queries:
            if number[drop.arc.before] in upstream(load, query.node):
                if query.name in found.plan.closed:
                    continue
                assert query.name in drop.queries
                window = load.nodes[query.node].window
                assert window is not None
                assert query.max_gap is not None
                kinds.add(window.kind)
                assert drop.slide % window.slide == 0
                assert drop.batch * (drop.slide // window.slide) <= query.max_gap
        assert len(kinds) == 1
    assert len(dropped) == len(set(dropped))
    if found.plan.windows or found.plan.closed:
        assert found.after <= load.capacity * (1 + 1e-9)


def antichains(load: Workload, options):
    """All sets of drops of which none stands above another."""
    above = {x: upstream(load, x) - {x} for x in options}
    for size in range(1, len(options) + 1):
        for some in itertools.combinations(options, size):
            if not any(one in above[other] for one in some for other in some):
                yield some


def test_no_other_drops_lose_less_on_hundreds_of_networks():
    rng = random.Random(20060912)
    worse = tries = 0
    for _ in range(600):
        load = tree(rng)
        numbers = range(len(load.queries))
        choices = Possible(load).choices(numbers, [True] * len(load.nodes))
        most = choices.most().saved
        needed = most * rng.uniform(0.05, 0.95)
        if not needed:
            continue
        ours = choices.for_load(needed)
        assert ours.saved == pytest.approx(needed)
        all_others = [
            filled([choices.options[x] for x in some], needed)
            for some in antichains(load, choices.options)
        ]
        assert most == pytest.approx(
            max(
                sum(choices.options[x].most * choices.options[x].saves for x in some)
                for some in antichains(load, choices.options)
            )
        )
        enough = [other.lost for other in all_others if other.saved >= needed * (1 - 1e-9)]
        tries += 1
        assert ours.lost <= min(enough) * 1.25 + 1e-12
        worse += ours.lost > min(enough) * (1 + 1e-9)
    assert tries > 300
    assert worse <= 0.02 * tries, f"{worse} of {tries}"


def test_drops_for_other_queries_of_a_network_are_those_that_would_be_found_anew():
    rng = random.Random(20261118)
    for _ in range(100):
        load = tree(rng)
        possible = Possible(load)
        for _ in range(5):
            some = [n for n in range(len(load.queries)) if rng.random() < 0.6]
            only = load.standing(some)
            again, anew = possible.choices(some, only), Possible(load).choices(some, only)
            assert again.options == anew.options
            assert again.most() == anew.most()
