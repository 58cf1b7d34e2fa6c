"""Seven subset queries in a loop with their regulator, windows and all: the target is held."""

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import pytest

from penstock.control.observation import Flow, Observation
from penstock.control.prior import asking, taking
from penstock.control.settings import Warmup
from penstock.control.statistics import Statistics
from penstock.drops.advance import advance
from penstock.drops.arrays import early
from penstock.drops.decisions import Decisions
from penstock.drops.plan import Plan
from penstock.drops.standing import standing
from penstock.drops.targets import Target
from penstock.network.config import parse_config
from penstock.network.operators import Aggregate, Filter, kind
from penstock.network.settings import QuerySettings
from penstock.planning.reach import Came, Reach
from penstock.planning.regulator import Ended, Regulator
from penstock.windows import sliding

SECOND = 1_000_000
FIXED, READ, TAKE = 1.0, 0.08e-6, 0.2e-6
"""Seconds of a batch, of a row that is read, and of one that is taken in."""

TCP, UDP = "protocol = 'TCP'", "protocol = 'UDP'"
WORKLOAD = {  # filter, share of rows, RANGE, SLIDE, seconds of a row
    "tcp_packets": (TCP, 0.667, 60, 10, 0.05e-6),
    "tcp_bytes": (TCP, 0.667, 60, 10, 0.12e-6),
    "web_bytes": (f"{TCP} AND port = 80", 0.25, 120, 10, 0.2e-6),
    "web_large": (f"{TCP} AND port = 80 AND size > 1000", 0.09, 120, 10, 0.2e-6),
    "udp_bytes": (UDP, 0.222, 30, 5, 0.05e-6),
    "dns": (f"{UDP} AND port = 53", 0.111, 60, 5, 0.15e-6),
    "traffic": ("", 1.0, 30, 5, 0.08e-6),
}
PASS = {
    "filter 1": (1.0, 0.667),
    "filter 2": (0.667, 0.25 / 0.667),
    "filter 3": (0.25, 0.09 / 0.25),
    "filter 4": (1.0, 0.222),
    "filter 5": (0.222, 0.5),
}
"""Filters as the query language makes them: rows that come to each, and the share that passes."""

TARGET = 4.4


def network(max_gap):
    lines = ['[stream.packets]\nsource = "x"\nevent_time = "ts"\n']
    for name, (where, _, length, slide, _) in WORKLOAD.items():
        asked = f"WHERE {where}" if where else ""
        summed = "sum(size)" if "bytes" in name else "count(*)"
        over = f"packets [RANGE {length} s SLIDE {slide} s WATTR ts]"
        cql = f"SELECT {summed} AS n FROM {over} {asked}"  # noqa: S608 - no SQL
        lines.append(
            f'[query.{name}]\ncql = """{cql}"""\nanswers = "subset"\nmax_gap = {max_gap}\n'
        )
    return parse_config("\n".join(lines), "a.toml").outline()


def covered(names):
    tcp = [WORKLOAD[n][1] for n in names if n.startswith(("tcp", "web"))]
    udp = [WORKLOAD[n][1] for n in names if n in ("udp_bytes", "dns")]
    return 1.0 if "traffic" in names else max(tcp, default=0.0) + max(udp, default=0.0)


def work(names):
    """Seconds for each row that comes, if these queries are kept."""
    return READ + TAKE * covered(names) + sum(WORKLOAD[n][1] * WORKLOAD[n][4] for n in names)


BEST = TARGET / 1.95
CAPACITY = (BEST - FIXED) / (BEST * work(list(WORKLOAD)))


def subsets(n):
    return combinations(WORKLOAD, n)


def most_kept(load, asks=0.0):
    """The greatest number of queries that fit all the time."""
    fits = (BEST - FIXED) / BEST / (load * CAPACITY)
    asked = {c: asks * (bool(c) and "traffic" not in c) for n in range(8) for c in subsets(n)}
    several = (c for c, more in asked.items() if work(c) + more <= fits)
    return max(map(len, several))


@dataclass
class Machine:
    """Batches follow each other at once; a row's event time is when it comes."""

    max_gap: int = 400
    seed: int = 0
    noise: float = 0.1
    slower: float = 1.0
    asks: float = 0.0  # seconds to look into a row, where some queries are kept and others not
    now: float = 0.0
    collected: float = 1.0
    batch: int = 0
    state: Decisions = field(default_factory=Decisions)
    newest: list[float] = field(default_factory=lambda: [0.0, 0.0])
    came: list[Came] = field(default_factory=lambda: [Came(1.0, 1.0)])
    reach: Reach = field(default_factory=Reach)
    span: float = 0.0
    late: list[Observation] = field(default_factory=list)
    responses: list[float] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)
    shed: list[bool] = field(default_factory=list)

    def __post_init__(self):
        self.graph = network(self.max_gap)
        names = self.graph.names
        self.targets = {
            n: Target(n, sliding(f"{w[2]} s", f"{w[3]} s", on="ts"), self.max_gap)
            for n, w in WORKLOAD.items()
        }
        self.kinds = {names[one]: kind(one) for one in self.graph.operators}
        self.kinds |= {taking("packets"): "taking", asking("packets"): "asking"}
        self.statistics = self.learns(Warmup(0.0, 3))
        wants = {n: QuerySettings(n, 1.0, "subset", self.max_gap, {}) for n in WORKLOAD}
        filters = {n: (w[0],) if w[0] else () for n, w in WORKLOAD.items()}
        self.regulator = Regulator(self.graph, wants, TARGET, filters=filters)
        self.random = np.random.default_rng(self.seed)
        self.history = [self.state]

    def learns(self, warmup):
        return Statistics(self.kinds, ["packets"], list(WORKLOAD), warmup=warmup)

    def run(self, rate, seconds):
        until = self.now + seconds
        while self.now < until:
            self.step(rate)

    def step(self, rate):
        begun, rows = self.now, rate * self.collected
        times = np.linspace(begun - self.collected, begun, 21)[:-1]
        flags = {n: early(self.state, [t]) for n, t in self.targets.items()}
        kept = {n: [not f.at(int(t * SECOND)) for t in times] for n, f in flags.items()}
        at = [[n for n in WORKLOAD if kept[n][i]] for i in range(len(times))]
        share = {n: float(np.mean(some)) for n, some in kept.items()}
        dropping = any(any(f.flags) for f in flags.values())
        per_row = float(np.mean([self.work(names) for names in at]))
        asked = float(np.mean([bool(names) and "traffic" not in names for names in at])) * dropping
        per_row += self.asks * asked
        took = (FIXED + rows * per_row) * self.slower
        took *= 1 + self.noise * self.random.uniform(-1, 1)
        taken = float(np.mean([covered(names) for names in at])) if dropping else 1.0
        self.kept.append(float(np.mean([len(names) for names in at])))
        response = 0.95 * self.collected + took
        self.responses.append(response)
        self.now += took
        self.late.append(self.observation(rows, share, (taken, asked), took))
        known = self.late[:-1][-1:]  # of the batch itself it is not yet told
        for seen in known:
            self.statistics.observe(seen)
        now = self.statistics.now
        pace = None
        if known and dropping:
            flows = {n: f.rows_in for n, f in known[0].operators.items()}
            pace = now.costs.predict(flows) / known[0].seconds
        newest, before = self.newest[-2], self.newest[-1]
        self.newest.append(begun)
        self.came.append(Came(rows, self.collected))
        self.span = max(before - newest, self.span / 2)
        newest, ahead = int(before * SECOND), int(4 * self.span * SECOND) or 1
        stands = {
            n: standing(self.state, t, newest=newest, until=newest + ahead)
            for n, t in self.targets.items()
        }
        ended = Ended(
            rows={"packets": rows},
            collected=self.collected,
            seconds=took,
            response=response,
            pace=pace,
            standings=stands,
        )
        decision = self.regulator.step(ended, now)
        self.reach.note(self.came[-2], self.newest[-2] - self.newest[-3])
        ahead = int((self.reach.ahead(ended.unknown) or 4 * self.span) * SECOND) or 1
        plan = decision.planned.plan if decision.planned else Plan()
        self.shed.append(bool(plan.windows))
        self.state = advance(
            self.state,
            plan,
            self.targets,
            seed=0,
            watermark=newest - SECOND,
            newest=newest,
            ahead=ahead,
            by=self.batch,
        )
        self.history.append(self.state)
        self.collected = took
        self.batch += 1

    def work(self, names):
        return work(names)

    def observation(self, rows, share, entered, took):
        taken, asked = entered
        flows = {"packets": Flow(rows, rows * taken), taking("packets"): Flow(rows * taken)}
        flows[asking("packets")] = Flow(rows * asked)
        for one, name in self.graph.names.items():
            if isinstance(one, Filter):
                inside, passing = PASS[name]
                flows[name] = Flow(rows * min(taken, inside), rows * min(taken, inside) * passing)
            elif isinstance(one, Aggregate):
                flows[name] = Flow(rows * WORKLOAD[name][1] * share[name])
        return Observation(
            batch=self.batch, seconds=took, at=self.now, rows={"packets": rows}, operators=flows
        )


def p95(responses):
    return float(np.quantile(responses, 0.95))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("load", [2.0, 3.0, 5.0])
def test_the_target_is_held_and_as_many_queries_are_kept_as_fit(load, seed):
    one = Machine(seed=seed)
    one.run(0.5 * CAPACITY, 30)
    one.run(load * CAPACITY, 60)
    begin = len(one.responses)
    one.run(load * CAPACITY, 240)
    assert p95(one.responses[begin:]) <= 1.1 * TARGET
    assert float(np.mean(one.kept[begin:])) >= most_kept(load) - 1.5
    one.run(0.5 * CAPACITY, 60)
    assert one.kept[-1] == 7
    assert not one.shed[-1]


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_shed_that_fits(seed):
    one = Machine(seed=seed)
    one.run(0.8 * CAPACITY, 200)
    assert not any(one.shed)
    assert p95(one.responses[10:]) <= TARGET


def longest_gaps(one):
    """Query → the most windows in a row that are missing, of those that are over."""
    found = {}
    for name, target in one.targets.items():
        dropped = set()
        for state in one.history:
            opens = state.first_open(target.window)
            for run in state.runs(name):
                first = run.first if opens is None else max(run.first, opens)
                dropped |= set(range(first, run.last + 1))
        longest = run_of = 0
        for w in range(min(dropped, default=0), max(dropped, default=0) + 1):
            run_of = run_of + 1 if w in dropped else 0
            longest = max(longest, run_of)
        found[name] = longest
    return found


@pytest.mark.parametrize(("max_gap", "late"), [(60, 0.2), (120, 0.05)])
def test_no_query_misses_more_windows_in_a_row_than_it_tolerates(max_gap, late):
    """They take turns; those that do not fit even alone are late, for as long as a window is."""
    one = Machine(max_gap=max_gap)
    one.run(0.5 * CAPACITY, 30)
    one.run(2.0 * CAPACITY, 60)
    begin = len(one.responses)
    one.run(2.0 * CAPACITY, 1800)
    gaps = longest_gaps(one)
    assert max(gaps.values()) <= max_gap
    assert gaps["traffic"] > max_gap / 2  # it did have to wait
    assert float(np.median(one.responses[begin:])) <= TARGET
    assert float(np.mean(np.array(one.responses[begin:]) > 1.1 * TARGET)) < late


@pytest.mark.parametrize("load", [2.0, 3.0])
def test_what_queries_cost_is_found_out_though_none_was_kept_when_it_was_timed(load):
    """Believed to be many times as dear as they are, all are dropped before a batch is timed."""
    one = Machine()
    one.statistics = one.learns(Warmup(30.0, 3))
    one.run(load * CAPACITY, 60)
    begin = len(one.responses)
    one.run(load * CAPACITY, 240)
    assert p95(one.responses[begin:]) <= 1.1 * TARGET
    assert float(np.mean(one.kept[begin:])) > 1.0


class Cold(Machine):
    """One that is five times as slow at first, and slow again when it first drops rows: Java."""

    dropped_at: float | None = None

    def step(self, rate):
        self.slower = 1 + 4 * np.exp(-self.now / 12)
        if self.dropped_at is not None:
            self.slower *= 1 + 1.5 * np.exp((self.dropped_at - self.now) / 6)
        super().step(rate)
        if self.dropped_at is None and self.shed[-1]:
            self.dropped_at = self.now


@pytest.mark.parametrize(("load", "least"), [(0.8, 6.5), (2.0, 2.5), (3.0, 1.0)])
def test_a_cold_start_into_an_overload_is_overcome(load, least):
    """
    rate  ┌─────── load     what is given up while Java is cold comes back: windows are
         /                  not decided further ahead than rows go
        / 40 s  │ 90 s: from here on it counts

    How many queries are kept in one run goes by single batches, and so by how a machine rounds.
    """
    kept = []
    for seed in range(4):
        one = Cold(seed=seed)
        one.statistics = one.learns(Warmup(30.0, 3))
        while one.now < 90:
            one.step(load * CAPACITY * min(1.0, max(one.now, 1.0) / 40))
        begin = len(one.responses)
        one.run(load * CAPACITY, 120)
        assert p95(one.responses[begin:]) <= 1.1 * TARGET
        kept.append(float(np.mean(one.kept[begin:])))
    assert float(np.mean(kept)) >= least


class Dear(Machine):
    """One on which rows that stay cost twice as much while others are dropped."""

    def step(self, rate):
        self.booked = 0.4e-6 if self.shed and self.shed[-1] else 0.0
        super().step(rate)

    def work(self, names):
        return work(names) + self.booked * covered(names)


@pytest.mark.parametrize("seed", range(4))
def test_batches_do_not_grow_while_it_is_not_known_what_those_cost_that_stay(seed):
    """Costs are learnt a batch later, and each batch has the rows of all the time before it."""
    one = Dear(seed=seed)
    while one.now < 120:
        one.step(2 * CAPACITY * min(1.0, max(one.now, 1.0) / 40))
    assert max(one.responses) <= 1.8 * TARGET  # by the cost model alone 2.2 to 4.3


@pytest.mark.parametrize("seed", range(3))
def test_what_it_costs_to_ask_rows_is_learnt(seed):
    """Where a dropped row costs a third of a kept one, fewer queries fit, and they stay."""
    one = Machine(seed=seed, asks=0.1e-6)
    one.run(0.5 * CAPACITY, 30)
    one.run(2.0 * CAPACITY, 60)
    begin = len(one.responses)
    one.run(2.0 * CAPACITY, 240)
    assert p95(one.responses[begin:]) <= 1.1 * TARGET
    assert float(np.mean(one.kept[begin:])) >= most_kept(2.0, one.asks) - 0.6


class Unsteady(Machine):
    """One that is held up for a moment once in a while."""

    def step(self, rate):
        self.slower = 1.35 if self.random.random() < 0.03 else 1.0
        super().step(rate)


@pytest.mark.parametrize(("load", "least"), [(2.0, 0.6), (3.0, 0.0), (5.0, 0.0)])
def test_queries_that_are_far_too_much_are_not_tried_again_and_again(load, least):
    """With rows that cost a third of a kept one to ask, next to nothing fits at five times."""
    held, kept = [], []
    for seed in range(3):
        one = Unsteady(seed=seed, max_gap=1000, noise=0.06, asks=0.15e-6)
        while one.now < 90:
            one.step(load * CAPACITY * min(1.0, max(one.now, 1.0) / 40))
        begin = len(one.responses)
        one.run(load * CAPACITY, 300)
        held.append(p95(one.responses[begin:]) / TARGET)
        kept.append(float(np.mean(one.kept[begin:])))
    assert float(np.mean(held)) <= 1.05
    assert max(held) <= 1.1
    assert float(np.mean(kept)) >= least
