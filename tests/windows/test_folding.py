"""Groups are folded together where that costs less, and never otherwise."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.windows.folding import PANE, WINDOW, Rows, Sampled, cost, folds

SECOND = 1_000_000


def sample(rows: int, seed: int, protocols: int, hosts: int) -> Rows:
    of = np.random.default_rng(seed)
    times = np.arange(rows, dtype=np.int64) * 1000
    keys = {"protocol": of.integers(0, protocols, rows), "host": of.integers(0, hosts, rows)}
    return Rows(times, keys)


def naive_cost(groups: list[Sampled], rows: Rows, width: int) -> float:
    panes: dict[tuple, set[int]] = {}
    taken = 0
    for i, t in enumerate(rows.times):
        mine = [g for g, group in enumerate(groups) if group.passes[i]]
        if not mine:
            continue
        taken += 1
        names = sorted({key for group in groups for key in group.keys})
        used = {name for g in mine for name in groups[g].keys}
        values = (int(rows.keys[name][i]) if name in used else 0 for name in names)
        pane = (t // width, *values, tuple(mine))
        panes[pane] = set(mine)
    entries = sum(groups[g].overlap for mine in panes.values() for g in mine)
    return taken + PANE * len(panes) + WINDOW * entries


keys = st.sampled_from([(), ("protocol",), ("host",), ("host", "protocol")])


@given(st.data(), st.integers(1, 300), st.integers(0, 99), st.integers(1, 4), st.integers(1, 200))
def test_costs_and_folds(data: st.DataObject, n: int, seed: int, protocols: int, hosts: int):
    rows = sample(n, seed, protocols, hosts)
    of = np.random.default_rng(seed + 1)
    groups = [
        Sampled(of.random(n) < data.draw(st.sampled_from([0.1, 0.5, 1])), k, SECOND, 3)
        for k in data.draw(st.lists(keys, min_size=1, max_size=4))
    ]
    n_groups = len(groups)
    pairs = [frozenset((i, j)) for i in range(n_groups) for j in range(i)]
    allowed = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    found = folds(groups, rows, dict.fromkeys(allowed, SECOND // 2))
    assert sorted(i for fold in found for i in fold) == list(range(n_groups))
    width = lambda fold: SECOND if len(fold) == 1 else SECOND // 2  # noqa: E731
    of_fold = {f: naive_cost([groups[i] for i in f], rows, width(f)) for f in found}
    for fold, costs in of_fold.items():
        assert cost([groups[i] for i in fold], rows, width(fold)) == costs
        assert all(frozenset((i, j)) in allowed for i in fold for j in fold if i != j)
    apart = sum(naive_cost([group], rows, SECOND) for group in groups)
    assert sum(of_fold.values()) <= apart


def test_totals_come_from_the_panes_of_few_keys_but_not_from_those_of_many():
    rows = sample(20_000, 1, 3, 10_000)
    tcp = rows.keys["protocol"] == 0
    everything = np.ones(20_000, bool)
    groups = [
        Sampled(tcp, (), 5 * SECOND, 6),
        Sampled(everything, ("protocol",), 5 * SECOND, 6),
        Sampled(everything, ("host",), 5 * SECOND, 6),
    ]
    widths = {frozenset(pair): 5 * SECOND for pair in ((0, 1), (0, 2), (1, 2))}
    assert folds(groups, rows, widths) == [(0, 1), (2,)]
