"""Whole runs: with late rows, changing plans, restarts and lost records, no answer is ever wrong.

Every batch goes as `windows.replay` says: rows count in the windows that end after L(N - 1), then
those that end by L(N) are emitted. Beside it runs the same stream with drops.
"""

from hypothesis import given
from hypothesis import strategies as st

from penstock.drops.advance import advance
from penstock.drops.arrays import early, suppressed
from penstock.drops.arrays_per_group import early_per_group, suppressed_per_group
from penstock.drops.coins import HASH_BITS, coin
from penstock.drops.log import PlanLog, Record
from penstock.drops.plan import Arc, Plan, WindowDrop
from penstock.drops.targets import Target
from penstock.windows import Kind, wids_at, window_end
from tests.drops.test_plan_log import InMemory
from tests.strategies import specs

SLACK = 6
windows = specs(Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE)
targets = st.lists(
    st.tuples(windows, st.integers(0, 5), st.booleans()), min_size=1, max_size=2
).map(lambda some: {f"q{i}": Target(f"q{i}", *one) for i, one in enumerate(some)})
batches = st.lists(
    st.fixed_dictionaries(
        {
            "rows": st.lists(st.tuples(st.integers(-12, 12), st.sampled_from("ab")), max_size=8),
            "moves": st.integers(0, 25),
            "p": st.sampled_from([0.0, 0.5, 1.0]),
            "ahead": st.integers(0, 40),
            "closed": st.sampled_from([False] * 5 + [True]),
            "loses": st.sampled_from([0] * 6 + [1, 2]),
        }
    ),
    min_size=1,
    max_size=10,
)


def hash_of(query, group, batch):
    return int(coin(5, query + group, batch) * 2**HASH_BITS)


class Drops:
    """What one batch drops and suppresses of one query."""

    def __init__(self, record, target):
        self.target, self.state = target, record.decisions
        self.panes, self.ends = early(self.state, [target]), suppressed(self.state, target)
        if target.per_group:
            self.by_group = early_per_group(self.state, target)
            self.ends_by_group = suppressed_per_group(self.state, target)

    def drops(self, t, group):
        return self.panes.at(t) or self._below("by_group", t, group)

    def suppresses(self, w, group):
        end = window_end(w, self.target.window)
        lost = self.state.is_lost(self.target.window, w)
        return lost or self.ends.at(end) or self._below("ends_by_group", end, group)

    def _below(self, name, at, group):
        if not self.target.per_group:
            return False
        batch, threshold = getattr(self, name).at(at)
        return hash_of(self.target.name, group, batch) < threshold


def emitted(counted, target, before, after):
    """Counts of the windows that a batch closes, by window and group."""
    found: dict[tuple[int, str], int] = {}
    for t, group, since in counted:
        for w in wids_at(t, target.window):
            end = window_end(w, target.window)
            if end > since and before < end <= after:
                found[w, group] = found.get((w, group), 0) + 1
    return found


def plan_of(queries, step):
    drops = [
        WindowDrop(Arc("s", q), 1, target.window.slide, step["p"], max(target.max_gap, 1), (q,))
        for q, target in queries.items()
    ]
    return Plan(windows=tuple(drops), closed=("q0",) if step["closed"] else ())


@given(targets, batches)
def test_every_answer_that_is_delivered_is_the_exact_one(queries, script):
    folder = InMemory()
    log = PlanLog(folder)
    log.write(Record(0))
    newest, before, after = None, -100, -100
    exact: list[tuple[int, str, int]] = []
    kept: dict[str, list[tuple[int, str, int]]] = {query: [] for query in queries}
    clock = 0
    for number, step in enumerate(script):
        for lost in range(step["loses"]):
            folder.remove(f"{number - lost}.json")
        found = log.at(number, newest)
        log.write(found.record)
        record = Record.from_json(folder[f"{number}.json"])  # as after a restart
        clock += step["moves"]
        rows = [(clock + offset, group, before) for offset, group in step["rows"]]
        exact += rows
        for query, target in queries.items():
            drops = Drops(record, target)
            kept[query] += [row for row in rows if not drops.drops(*row[:2])]
            wanted = emitted(exact, target, before, after)
            answers = emitted(kept[query], target, before, after)
            delivered = {at for at in wanted if not drops.suppresses(*at)}
            assert {at: answers.get(at) for at in delivered} == {at: wanted[at] for at in delivered}
            assert all(drops.suppresses(*at) for at in answers if at not in wanted)
        newest = max([t for t, _, _ in rows] + ([] if newest is None else [newest]), default=None)
        state = advance(
            record.decisions,
            plan_of(queries, step),
            queries,
            seed=2,
            watermark=after,
            newest=newest,
            ahead=step["ahead"],
            by=number + 1,
        )
        log.write(Record(number + 1, plan_of(queries, step), state))
        before, after = after, after if newest is None else max(after, newest - SLACK)
