"""Whole runs of windows over windows: no answer above is wrong, and no gap is too long.

Every batch goes as `windows.replay` says, level by level: answers of the level below count above in
the batch that emits them. Beside it runs the same stream with drops, which go by what the engine
writes down (`engine_runs`). Rows are dropped below, by what was decided above; answers below that
have lost rows are handed on all the same, as the engine does it, and must reach no window that is
delivered.
"""

import math
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.drops.kinds import Subset
from penstock.drops.plan import Arc, Plan, WindowDrop
from penstock.network.operators import Aggregate
from penstock.network.query import Query
from penstock.windows import last_closed, sliding, tumbling, wids_at, window_end
from penstock.windows.durations import MILLISECOND
from tests.drops.engine_runs import BEGIN, NEVER_SMALL, SLACK, SOURCE, Batches
from tests.drops.naive_decisions import longest_gap
from tests.drops.test_subset_runs import deaths, rows, windows


class Nested:
    """Queries over the answers of others, down to one aggregate of the rows.

    rows ─► a0 ─┬─► a1 ─► a3            each is a query if nothing stands on it, or if it is asked
                └─► a2
    """

    def __init__(self, lowest, above):
        self.below: dict[str, str | None] = {"a0": None}
        self.by_group, gaps, asked = {"a0": True}, {"a0": lowest[1]}, {"a0": lowest[2]}
        self.nodes = {"a0": Aggregate(SOURCE, Query(lowest[0], ("k",), {"a0": ps.count()}))}
        for i, (at, window, gap, is_asked, by_group) in enumerate(above, 1):
            name, parent = f"a{i}", f"a{at % i}"
            query = Query(window, ("k",) if by_group else (), {name: ps.count()})
            self.nodes[name] = Aggregate(self.nodes[parent], query)
            self.below[name], gaps[name] = parent, gap
            asked[name], self.by_group[name] = is_asked, by_group
        leaves = set(self.nodes) - set(self.below.values())
        self.queries = {
            name: node for name, node in self.nodes.items() if name in leaves or asked[name]
        }
        self.gaps = {name: max(gaps[name], 1) for name in self.queries}

    def batches(self, folder):
        """A checkpoint of theirs."""
        kinds = {name: Subset(gap) for name, gap in self.gaps.items()}
        return Batches(Path(folder), self.queries, kinds)

    def spec(self, name):
        """The windows of a query."""
        return self.nodes[name].query.spec

    def plan(self, step, together):
        """A window drop for each query, or one for all of them."""
        names = tuple(self.queries)
        units = [names] if together else [(name,) for name in names]
        drops = []
        for some in units:
            slide = math.lcm(*(self.spec(name).slide for name in some))
            gap = min(self.gaps[name] for name in some)
            drops.append(WindowDrop(Arc("s", "a0"), slide, slide, step["p"], gap, some))
        return Plan(windows=tuple(drops), closed=names[:1] if step["closed"] else ())


class Answers:
    """All answers of one stream, as the rows of the next level: time, group, since when, value."""

    def __init__(self, nested):
        self.nested = nested
        self.rows: dict[str | None, list] = {name: [] for name in (None, *nested.nodes)}

    def run(self, rows, before, after):
        """The windows that a batch closes: query → window and group → answer."""
        self.rows[None] += rows
        found = {}
        for name, node in self.nested.nodes.items():
            spec = node.query.spec
            mine: dict[tuple[int, str], int] = {}
            for t, group, since, value in self.rows[self.nested.below[name]]:
                for w in wids_at(t, spec):
                    end = window_end(w, spec)
                    if end > since and before < end <= after:
                        at = w, group if self.nested.by_group[name] else ""
                        # It tells both a row that is missing and one that is wrong.
                        mine[at] = mine.get(at, 0) + 1 + value
            ended = [(window_end(w, spec) - 1, g, 0, value) for (w, g), value in mine.items()]
            self.rows[name] += ended
            found[name] = mine
        return found


gaps = st.integers(1, 9)
above = st.tuples(st.integers(0, 5), windows, gaps, st.booleans(), st.booleans())
nested = st.builds(
    Nested, st.tuples(windows, gaps, st.booleans()), st.lists(above, min_size=1, max_size=3)
)


def step(rows=(), moves=0, p=0.0, ahead=40, *, closed=False, loses=0, dies=""):
    return {**locals(), "ahead": ahead * MILLISECOND}


# Rows go only if many windows in a row do: so most plans drop all that they may.
batches = st.lists(
    st.builds(
        step,
        rows,
        st.integers(0, 25),
        st.sampled_from([0.0, 0.5, 1.0, 1.0]),
        st.integers(0, 60),
        closed=st.sampled_from([False] * 5 + [True]),
        loses=st.sampled_from([0] * 6 + [1, 2, 3]),
        dies=deaths,
    ),
    min_size=1,
    max_size=10,
)


def run(nested, script, together):
    """Runs the script; yields of each batch what was wanted, what came, and what is suppressed."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _run(nested, nested.batches(folder), script, together)


def _run(nested, engine, script, together):
    newest, before, after, clock = 0, 0, 0, BEGIN
    exact, kept, number_of = Answers(nested), Answers(nested), engine.part.shared.number
    for number, step in enumerate(script):
        plan = nested.plan(step, together)
        orders = engine.run(number, after, step, plan)
        clock += step["moves"] * MILLISECOND
        rows = [(clock + at * MILLISECOND, group, before, 0) for at, group in step["rows"]]
        places = orders.streams[0], orders.folds[0]
        staying = [row for row in rows if all(one.stays(NEVER_SMALL, row[0]) for one in places)]
        wanted, came = exact.run(rows, before, after), kept.run(staying, before, after)
        flags = {name: orders.windows[number_of[node]] for name, node in nested.queries.items()}
        yield wanted, came, flags, (before, after)
        engine.end(number, plan, step["ahead"])
        newest = max([newest, *(row[0] for row in rows)])
        before, after = after, max(after, newest - SLACK)


@given(nested, batches, st.booleans())
def test_every_answer_above_that_is_delivered_is_the_exact_one(nested, script, together):
    for wanted, came, flags, _ in run(nested, script, together):
        for name in nested.queries:
            whole, mine = (
                _delivered(some[name], nested.spec(name), flags[name]) for some in (wanted, came)
            )
            assert mine == whole


def test_of_lost_records_windows_are_not_delivered_that_begin_later_than_their_rows():
    """A window above begins at 25, but its answers from below are over rows from 10 on.

    below     |-------------------|     10 .. 30, every 5, of rows that the lost record has dropped
    above                    |----|     25 .. 30
    """
    lowest = sliding("20 ms", "5 ms", on="ts"), 9, False
    nested = Nested(lowest, [(0, tumbling("5 ms", on="ts"), 9, False, True)])
    script = [
        step([(0, "a")]),
        step([(t, "a") for t in range(1, 20)], p=1.0),
        step([(19, "a")], p=1.0),
        step([(19, "a")], loses=2, dies="idle"),
        *(step([(0, "a")], moves=20) for _ in range(8)),
    ]
    seen = []
    for wanted, came, flags, _ in run(nested, script, together=False):
        spec, missing = nested.spec("a1"), flags["a1"]
        mine = _delivered(came["a1"], spec, missing)
        assert mine == _delivered(wanted["a1"], spec, missing)
        seen += [window_end(w, spec) // MILLISECOND for w, _ in mine]
    assert seen
    # The last row that may be gone is that of 19: it is in windows below that begin by then.
    first = BEGIN // MILLISECOND
    assert min(end for end in seen if end > first + 20) >= first + 45


def _delivered(answers, spec, missing):
    ends = {(w, group): window_end(w, spec) for w, group in answers}
    return {at: answers[at] for at, end in ends.items() if not missing.at(end)}


@given(nested, batches, st.booleans())
def test_no_gap_above_is_longer_than_asked_for(nested, script, together):
    whole = [{**step, "closed": False, "loses": 0} for step in script]
    missing: dict[str, set[int]] = {name: set() for name in nested.queries}
    for _, _, flags, closed in run(nested, whole, together):
        for name in nested.queries:
            spec = nested.spec(name)
            first, last = (last_closed(mark, spec) for mark in closed)
            first = max(first, last_closed(BEGIN - 200 * MILLISECOND, spec))
            ends = {w: window_end(w, spec) for w in range(first + 1, last + 1)}
            missing[name] |= {w for w, end in ends.items() if flags[name].at(end)}
    for name, gap in nested.gaps.items():
        assert longest_gap(missing[name]) <= gap
