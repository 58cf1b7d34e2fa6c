"""Which queries are kept now: they fit, nobody waits longer than tolerated, and few change."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control.prior import taking
from penstock.drops.standing import Standing
from penstock.planning.asked import Asked, Node, Window
from penstock.planning.keeping import Moment, chosen, due
from penstock.planning.planner import plan
from penstock.planning.taken import Work, conjuncts, covered
from penstock.planning.trying import Keeping
from penstock.planning.workload import Workload

FAR = Standing(1000, False, 10.0, 60.0)


def network(costs, shares=None, *, max_gap=50, capacity=1.0):
    """One aggregate for each cost, behind a filter of its own; a row in a second."""
    shares = shares or [1.0] * len(costs)
    nodes = [Node("packets", cost=0.0, rate=1.0), Node(taking("packets"), (0,), 0.1)]
    queries = []
    for i, (cost, share) in enumerate(zip(costs, shares, strict=True)):
        nodes.append(Node(f"filter {i}", (1,), 0.0, share))
        window = Window(60, 10, i)
        nodes.append(Node(f"q{i}", (len(nodes) - 1,), cost, aggregate=True, window=window))
        queries.append(Asked(f"q{i}", len(nodes) - 1, answers="subset", max_gap=max_gap))
    return Workload(tuple(nodes), tuple(queries), capacity=capacity)


def standings(load, **some):
    return {query.name: some.get(query.name, FAR) for query in load.queries}


def kept(load, moment, capacity):
    numbers = range(len(load.queries))
    return {load.queries[n].name for n in chosen(Work(load), list(numbers), capacity, moment)}


costs = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6)


@given(costs, st.floats(0.05, 4.0))
def test_what_is_kept_fits_and_no_other_of_as_many_queries_would_take_less(some, capacity):
    load = network(some)
    found = kept(load, Moment(standings=standings(load)), capacity)
    work = Work(load)
    numbers = [n for n in range(len(some)) if load.queries[n].name in found]
    everything = work.of(range(len(some)))
    # While nothing was dropped before, a little more than fits is let be.
    assert not numbers or work.of(numbers) <= capacity or everything <= 1.25 * capacity
    if len(numbers) < len(some):
        of_as_many = (work.of(those) for those in combinations(range(len(some)), len(numbers)))
        assert work.of(numbers) <= min(of_as_many) + 1e-9
        more = combinations(range(len(some)), len(numbers) + 1)
        assert min(map(work.of, more)) > 0.89 * capacity


@given(costs, st.floats(0.05, 4.0), st.data())
def test_those_that_are_kept_stay_as_long_as_they_fit(some, capacity, data):
    load = network(some)
    names = [query.name for query in load.queries]
    dropped = frozenset(data.draw(st.sets(st.sampled_from(names))))
    now = [n for n, name in enumerate(names) if name not in dropped]
    found = kept(load, Moment(standings=standings(load), dropped=dropped), capacity)
    if Work(load).of(now) <= 1.25 * capacity:
        assert set(names) - dropped <= found


def test_one_that_has_waited_long_comes_first():
    load = network([0.3, 0.5])
    moment = Moment(standings=standings(load), dropped=frozenset({"q1"}))
    assert kept(load, moment, 0.65) == {"q0"}
    late = standings(load, q1=Standing(0, False, 10.0, 60.0))
    assert kept(load, Moment(standings=late, dropped=frozenset({"q1"})), 0.65) == {"q1"}
    # One that does not fit waits, until the tolerance itself keeps a window.
    assert kept(load, Moment(standings=late, dropped=frozenset({"q1"})), 0.55) == {"q0"}
    held = standings(load, q1=Standing(0, True, 10.0, 60.0))
    assert kept(load, Moment(standings=held, dropped=frozenset({"q1"})), 0.55) == {"q1"}


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), min_size=1, max_size=6))
def test_those_that_are_due_can_still_come_one_after_the_other(some):
    """The naive twin: seconds one by one; nobody else need begin now if none is due."""
    every = {f"q{i}": Standing(left, False, 1.0, float(n)) for i, (left, n) in enumerate(some)}
    order = sorted(some)
    # Begun in the order of their deadlines from one second on, each is in time.
    at, in_time = 1, True
    for left, length in order:
        in_time &= at <= left
        at += length
    if not due(every):
        assert in_time or any(left < 1 for left, _ in some)


def test_a_query_that_had_to_go_waits_and_each_time_longer():
    keeping = Keeping()
    waits = []
    for _ in range(3):
        keeping.note(frozenset({"a"}), over=False)
        waited = 0
        while "a" in keeping.barred:
            keeping.note(frozenset({"a"}), over=False)
            waited += 1
        waits.append(waited)
        keeping.note(frozenset(), over=False)
    assert waits[0] < waits[1] < waits[2]
    keeping.note(frozenset({"a", "b"}), over=True)
    assert keeping.pressed
    keeping.note(frozenset({"a"}), over=False)
    assert keeping.barred == {"a"}  # the work of b has to be seen first


def test_no_other_is_opened_before_the_rows_of_the_last_one_have_come():
    keeping = Keeping(dropped=frozenset({"a", "b"}))
    keeping.look(0.5, ["a", "b"], flows=())
    keeping.note(frozenset({"b"}), over=False)  # a is opened, and its next window is not yet here
    for _ in range(30):
        keeping.look(0.5, ["a", "b"], flows=())
        keeping.note(frozenset({"b"}), over=False)
        assert keeping.barred == {"b"}
        assert keeping.new == {"a"}
        assert not keeping.too_much(2.0, late=True)  # it is not for a, whose rows have not come
    waited = 0
    while "b" in keeping.barred:
        keeping.look(0.9, ["a", "b"], flows={"a"})
        keeping.note(frozenset({"b"}), over=False)
        waited += 1
        assert keeping.tested
    assert 5 < waited < 20  # its work has to be seen
    for _ in range(30):
        keeping.look(0.9, ["a", "b"], flows={"a"})
        keeping.note(frozenset({"b"}), over=False)
    assert not keeping.new  # from now on it is one of those that are there


def test_what_is_too_much_goes_for_the_one_that_was_opened_last():
    load = network([0.3, 0.5, 0.4])
    moment = Moment(standings=standings(load), dropped=frozenset({"q1"}))
    closing = replace(moment, closing=frozenset({"q0"}))
    assert kept(load, moment, 2.0) == {"q0", "q1", "q2"}
    assert kept(load, closing, 2.0) == {"q2"}
    # One that is due stays.
    late = standings(load, q0=Standing(0, False, 10.0, 60.0))
    assert kept(load, replace(closing, standings=late), 2.0) == {"q0", "q2"}


def test_where_nobody_knows_how_many_rows_are_taken_in_the_work_decides():
    nodes = [Node("packets", cost=0.0, rate=1.0)]
    nodes += [Node(f"q{i}", (0,), 0.5, aggregate=True, window=Window(60, 10, i)) for i in range(3)]
    asked = tuple(Asked(f"q{i}", i + 1, answers="subset", max_gap=50) for i in range(3))
    load = Workload(tuple(nodes), asked)
    assert Work(load).rows([0]) == 0
    gone = frozenset({"q0", "q1", "q2"})
    assert kept(load, Moment(standings=standings(load), dropped=gone), 0.6) == {"q0"}


def test_as_many_rows_as_were_too_much_are_not_tried_again_soon():
    def tried(keeping, rows):
        """Opens q, which is too much when its rows come; how long no other of so many is opened."""
        for flows in ((), (), {"a"}, {"a"}):
            keeping.look(0.9, ["a", "b"], flows=flows)
            keeping.note(frozenset({"b", "c"}), over=False, taken=100.0)
        assert keeping.too_much(0.9, late=False) == frozenset()
        assert keeping.too_much(1.3, late=False) == {"a"}
        keeping.note(frozenset({"a", "b", "c"}), over=False, taken=100.0)
        waits = 0
        while waits < 500:
            keeping.look(0.9, ["a", "b"], flows=(), adds={"a": 50.0, "b": rows, "c": 50.0})
            if "b" not in keeping.barred:
                return waits
            keeping.note(frozenset({"a", "b", "c"}), over=False)
            waits += 1
        return waits

    keeping = Keeping(dropped=frozenset({"a", "b", "c"}))
    few = tried(keeping, 60.0)
    keeping = Keeping(dropped=frozenset({"a", "b", "c"}))
    many = [tried(keeping, 100.0) for _ in range(2)]
    assert few < 10 < many[0] < many[1]


def test_one_batch_that_is_late_may_be_an_accident():
    keeping = Keeping()
    assert [keeping.foreseen(x) for x in (1.1, 1.0, 1.1, 1.1)] == [False, False, False, True]
    assert Keeping().foreseen(1.3)


def test_filters_that_ask_for_more_pass_no_others():
    tcp, web = conjuncts(["protocol = 'TCP'"]), conjuncts(["protocol  = 'TCP' AND port = 80"])
    assert covered([(tcp, 0.6), (web, 0.2)]) == pytest.approx(0.6)
    assert covered([(web, 0.2)]) == pytest.approx(0.2)
    assert covered([(tcp, 0.6), (conjuncts(["protocol = 'UDP'"]), 0.6)]) == 1.0
    assert covered([(frozenset(), 1.0), (web, 0.2)]) == 1.0
    assert (
        len(conjuncts(["name = 'this and that'", "a BETWEEN 1 AND 2", "a = 1 OR b = 2 AND c"])) == 3
    )


def test_rows_are_taken_in_for_those_that_are_kept():
    load = network([0.0, 0.0], [0.5, 0.25])
    asked = {"q0": ("a",), "q1": ("a", "b")}
    assert Work(load, filters=asked).of([0, 1]) == pytest.approx(0.05)
    assert Work(load, filters=asked).of([1]) == pytest.approx(0.025)
    assert Work(load, (0,), asked).of([1]) == pytest.approx(0.05)
    assert Work(load, filters=asked).of([]) == 0
    assert Work(load).of([1]) == pytest.approx(0.1)  # nobody asks: all are


def test_rows_are_asked_what_is_in_them_where_some_are_kept_and_some_are_not():
    load = network([0.0, 0.0], [0.5, 1.0])
    asked, costs = {"q0": ("a",), "q1": ()}, {taking("packets"): 0.03}
    assert Work(load, (), asked, costs).of([0]) == pytest.approx(0.05 + 0.03)
    assert Work(load, (), asked, costs).of([]) == 0  # none is looked at
    # One that wants every row leaves nothing to ask.
    assert Work(load, (), asked, costs).of([1]) == Work(load, (), asked, costs).of([0, 1])
    assert Work(load, (), asked, costs).of([1]) == pytest.approx(0.1)


def test_the_cheapest_take_in_the_fewest_rows_for_their_weight():
    load = network([0.1, 0.0, 0.3], [1.0, 0.5, 0.25])
    asked = {"q0": (), "q1": ("a",), "q2": ("a", "b")}
    work = Work(load, filters=asked)
    assert [work.rows([n]) for n in range(3)] == pytest.approx([1.0, 0.5, 0.25])
    assert work.rows([1, 2]) == pytest.approx(0.5)
    assert work.cheapest(range(3)) == [2, 1, 0]
    heavy = replace(load.queries[0], weight=8.0)
    assert Work(replace(load, queries=(heavy, *load.queries[1:])), filters=asked).cheapest(
        range(3)
    ) == [0, 2, 1]
    assert Work(load).cheapest(range(3)) == [1, 2, 0]  # all are taken in: what they cost decides


def test_what_was_in_time_for_some_batches_is_not_dropped_for_what_it_is_believed_to_cost():
    load, keeping = network([0.3, 0.5]), Keeping(dropped=frozenset({"q1"}))
    for _ in range(3):
        assert not keeping.settled
        keeping.look(0.9, ["q0", "q1"])
        keeping.note(frozenset({"q1"}), over=False)
    assert keeping.settled
    moment = Moment(standings=standings(load), dropped=frozenset({"q1"}))
    assert kept(load, moment, 0.3) == set()  # 0.4 are 1.33 times as much
    assert kept(load, replace(moment, settled=True), 0.3) == {"q0"}
    keeping.look(1.1, ["q0", "q1"])
    assert not keeping.settled


def test_a_plan_at_a_moment_drops_a_query_or_keeps_it():
    load = network([0.3, 0.5, 0.9], capacity=0.65)
    found = plan(load, Moment(standings=standings(load)))
    assert {drop.queries: drop.p for drop in found.plan.windows} == {("q1",): 1.0, ("q2",): 1.0}
    assert (found.plan.closed, found.enough) == ((), True)
    assert found.after == pytest.approx(0.4)
    assert all("more work than fits" in why for why in found.reasons.values())
    dropped = frozenset({"q1", "q2"})
    room = plan(network([0.3, 0.5, 0.9], capacity=2.0), Moment(standings={}, dropped=dropped))
    assert not room.plan.windows


def test_a_query_that_tolerates_no_gap_worth_dropping_for_is_closed_if_nothing_else_helps():
    load = network([0.3, 0.9], max_gap=3, capacity=0.5)  # each row is in six windows
    found = plan(load, Moment(standings=standings(load)))
    assert (found.plan.windows, found.plan.closed) == ((), ("q1",))


def test_one_is_tried_when_there_is_room_by_the_clock_and_given_up_when_it_is_late():
    load = network([0.3, 0.5])
    keeping = Keeping()
    keeping.note(frozenset({"q0", "q1"}), over=False)
    for _ in range(30):
        keeping.look(0.5, ["q0", "q1"])
        if keeping.trial:
            break
        keeping.note(keeping.dropped, over=False)
    assert keeping.trial == "q0"
    moment = Moment(standings=standings(load), dropped=keeping.dropped, trial="q0")
    assert kept(load, moment, 0.1) == {"q0"}  # though it is not believed to fit
    keeping.look(0.99, ["q0", "q1"])
    assert keeping.trial == "q0"
    keeping.look(1.2, ["q0", "q1"])
    assert keeping.trial is None
    keeping.look(None, ["q0", "q1"])
    assert keeping.trial is None


def tried_after(keeping: Keeping, dropped: set[str]) -> int | None:
    """After how many calm batches one is tried that is believed to take far more than there is."""
    keeping.note(frozenset(dropped), over=False)
    for batch in range(400):
        keeping.look(0.5, ["q0", "q1"], beyond={"q0", "q1"})
        if keeping.trial:
            return batch
        keeping.note(keeping.dropped, over=False)
    return None


@pytest.mark.parametrize("timed", ["q0", "q1"])
def test_one_that_takes_far_more_than_there_is_is_not_tried_beside_one_that_is_kept(timed):
    seen = Keeping()
    seen.note(frozenset(), over=False)
    seen.look(None, [timed])  # it is kept, and timed
    assert tried_after(seen, {"q0"}) is None


def test_where_none_is_kept_it_is_tried_and_if_some_were_seen_after_a_long_while():
    seen, unseen = Keeping(), Keeping()
    seen.note(frozenset(), over=False)
    seen.look(None, ["q0", "q1"])
    few, many = (tried_after(one, {"q0", "q1"}) for one in (unseen, seen))
    assert few is not None
    assert many is not None
    assert few < 50
    assert many > 150
