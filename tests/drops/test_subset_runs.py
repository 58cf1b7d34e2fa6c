"""Whole runs: with late rows, changing plans, restarts and lost records, no answer is ever wrong.

Every batch goes as `windows.replay` says: rows count in the windows that end after L(N - 1), then
those that end by L(N) are emitted. Beside it runs the same stream with drops, which go by what the
engine writes down (`engine_runs`).
"""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.drops.coins import HASH_BITS, coin
from penstock.drops.kinds import Subset
from penstock.drops.plan import Arc, Plan, WindowDrop
from penstock.network.operators import Aggregate
from penstock.network.query import Query
from penstock.windows import Kind, wids_at, window_end
from penstock.windows.durations import MILLISECOND
from tests.drops.engine_runs import BEGIN, NEVER_SMALL, SLACK, SOURCE, Batches
from tests.strategies import time_specs

windows = time_specs(Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE)
queries = st.lists(
    st.tuples(windows, st.integers(1, 5), st.sampled_from(["window", "group"])),
    min_size=1,
    max_size=2,
)
rows = st.lists(st.tuples(st.integers(-12, 12), st.sampled_from("ab")), max_size=8)
deaths = st.sampled_from(["", "", "", "idle", "busy"])
batches = st.lists(
    st.fixed_dictionaries(
        {
            "rows": rows,
            "moves": st.integers(0, 25),
            "p": st.sampled_from([0.0, 0.5, 1.0]),
            "ahead": st.integers(0, 40).map(lambda ms: ms * MILLISECOND),
            "closed": st.sampled_from([False] * 5 + [True]),
            "loses": st.sampled_from([0] * 6 + [1, 2]),
            "dies": deaths,
        }
    ),
    min_size=1,
    max_size=10,
)


def hash_of(query, group, batch):
    return int(coin(5, query + group, batch) * 2**HASH_BITS)


class Drops:
    """What one batch drops and suppresses of one query."""

    def __init__(self, part, orders, name):
        node, shared = part.graph.queries[name], part.shared
        self.name, self.window = name, node.query.spec
        fold = next(i for i, one in enumerate(shared.folds) if node in one.aggregates)
        self.places = orders.streams[0], orders.folds[fold]
        self.ends = orders.windows[shared.number[node]]
        self.groups = next((one for one in orders.groups if one.query == name), None)

    def drops(self, t, group):
        gone = not all(order.stays(NEVER_SMALL, t) for order in self.places)
        return gone or self._below("panes", t, group)

    def suppresses(self, w, group):
        end = window_end(w, self.window)
        return self.ends.at(end) or self._below("ends", end, group)

    def _below(self, name, at, group):
        if self.groups is None:
            return False
        batch, threshold = getattr(self.groups, name).at(at)
        return hash_of(self.name, group, batch) < threshold


def emitted(counted, window, before, after):
    """Counts of the windows that a batch closes, by window and group."""
    found: dict[tuple[int, str], int] = {}
    for t, group, since in counted:
        for w in wids_at(t, window):
            end = window_end(w, window)
            if end > since and before < end <= after:
                found[w, group] = found.get((w, group), 0) + 1
    return found


def plan_of(asked, step):
    drops = [
        WindowDrop(Arc("s", f"q{i}"), window.slide, window.slide, step["p"], gap, (f"q{i}",))
        for i, (window, gap, _) in enumerate(asked)
    ]
    return Plan(windows=tuple(drops), closed=("q0",) if step["closed"] else ())


@given(queries, batches)
def test_every_answer_that_is_delivered_is_the_exact_one(asked, script):
    nodes = {
        f"q{i}": Aggregate(SOURCE, Query(window, ("k",), {f"q{i}": ps.count()}))
        for i, (window, _, _) in enumerate(asked)
    }
    kinds = {f"q{i}": Subset(gap, per=per) for i, (_, gap, per) in enumerate(asked)}
    with tempfile.TemporaryDirectory() as folder:
        run(Batches(Path(folder), nodes, kinds), asked, script)


def run(engine, asked, script):
    nodes = engine.part.graph.queries
    newest, before, after, clock = 0, 0, 0, BEGIN
    exact: list[tuple[int, str, int]] = []
    kept: dict[str, list[tuple[int, str, int]]] = {query: [] for query in nodes}
    for number, step in enumerate(script):
        plan = plan_of(asked, step)
        orders = engine.run(number, after, step, plan)
        clock += step["moves"] * MILLISECOND
        rows = [(clock + at * MILLISECOND, group, before) for at, group in step["rows"]]
        exact += rows
        for query, node in nodes.items():
            drops, window = Drops(engine.part, orders, query), node.query.spec
            kept[query] += [row for row in rows if not drops.drops(*row[:2])]
            wanted = emitted(exact, window, before, after)
            answers = emitted(kept[query], window, before, after)
            delivered = {at for at in wanted if not drops.suppresses(*at)}
            assert {at: answers.get(at) for at in delivered} == {at: wanted[at] for at in delivered}
            assert all(drops.suppresses(*at) for at in answers if at not in wanted)
        engine.end(number, plan, step["ahead"])
        newest = max([newest, *(t for t, _, _ in rows)])
        before, after = after, max(after, newest - SLACK)
