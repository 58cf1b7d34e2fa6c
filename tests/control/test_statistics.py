"""The statistics manager against its naive twin, and what it leaves out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.control import (
    Answers,
    Flow,
    Memory,
    Moments,
    Observation,
    OperatorStatistics,
    QueryStatistics,
    Statistics,
    StreamStatistics,
    Warmup,
    calibrate,
)
from penstock.control.prior import Prior
from penstock.errors import SpecificationError, UsageError
from tests.control import naive
from tests.control.simulated import PIPELINE

OPERATORS = {"web": "filter", "bytes": "aggregate"}
NO_WARMUP = Warmup(seconds=0.0, batches=0)
MEMORY = Memory(costs=10, data=4, rates=2, groups=50)

counts = st.integers(0, 1000).map(float)
flows = st.builds(Flow, counts, st.none() | counts)
values = st.lists(st.integers(1, 50), min_size=1, max_size=4)


@st.composite
def answers(draw):
    listed = draw(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abcd"), values)))
    return Answers.of(
        (window, group, len(of), sum(of), sum(v * v for v in of)) for window, group, of in listed
    )


@st.composite
def batches(draw):
    """Batches in order; any of what may be missing may be missing."""
    made, at = [], 0.0
    for batch in range(draw(st.integers(1, 12))):
        seconds = float(draw(st.integers(1, 5)))
        at += seconds + draw(st.integers(0, 5))
        made.append(
            Observation(
                batch=batch,
                seconds=seconds,
                at=at,
                rows=draw(st.dictionaries(st.sampled_from(["packets", "hosts"]), counts)),
                backlog=draw(st.dictionaries(st.sampled_from(["packets", "hosts"]), counts)),
                operators=draw(st.dictionaries(st.sampled_from(list(OPERATORS)), flows)),
                queries=draw(st.dictionaries(st.sampled_from(["sums", "alarms"]), answers())),
            )
        )
    return made


def observed(made, **given) -> Statistics:
    given = {"warmup": NO_WARMUP, "memory": MEMORY, **given}
    found = Statistics(OPERATORS, ["packets", "hosts"], ["sums", "alarms"], **given)
    for batch in made:
        found.observe(batch)
    return found


def near(value):
    return value if value is None else pytest.approx(value, rel=1e-6, abs=1e-9)


@settings(max_examples=50)  # each is a dozen fits of the cost model
@given(batches())
def test_all_is_as_the_naive_twin_says(made):
    now = observed(made).now
    for name, operator in now.operators.items():
        assert_operator(operator, made)
        assert operator.name == name
    for name, stream in now.streams.items():
        assert_stream(stream, made)
        assert stream.name == name
    for name, query in now.queries.items():
        assert_query(query, now.worst.get(name), now.groups[name], made)
        assert query.name == name


def assert_operator(found: OperatorStatistics, made) -> None:
    seen = [batch.operators[found.name] for batch in made if found.name in batch.operators]
    assert found.rows_in == sum(flow.rows_in for flow in seen)
    assert found.rows_out == sum(flow.rows_out or 0.0 for flow in seen)
    assert found.selectivity == near(naive.selectivity(made, found.name, MEMORY.data))


def assert_stream(found: StreamStatistics, made) -> None:
    assert found.rows == sum(batch.rows.get(found.name, 0.0) for batch in made)
    assert found.rate == near(naive.rate(made, found.name, MEMORY.rates))
    waiting = [batch.backlog[found.name] for batch in made if found.name in batch.backlog]
    assert found.backlog == (waiting[-1] if waiting else None)


def assert_query(found: QueryStatistics, worst: QueryStatistics | None, groups, made) -> None:
    sums = naive.moments(made, found.name, MEMORY.data)
    rows, total, squares, windows = sums or (0.0, 0.0, 0.0, 0.0)
    assert found.rows_per_window == near(rows / windows if windows else None)
    assert found.mean == near(total / rows if rows else None)
    if rows:
        variance = squares / rows - (total / rows) ** 2
        assert found.deviation == pytest.approx(max(0.0, variance) ** 0.5, abs=1e-4)
    hardness = naive.hardness(made, found.name, MEMORY.data)
    assert found.groups == len(hardness)
    assert {group: moments.hardness for group, moments in groups.items()} == near(hardness)
    assert (worst.hardness if worst else None) == near(max(hardness.values(), default=None))


def batch(number: int, at: float, seconds: float = 1.0, **more) -> Observation:
    flows = {"web": Flow(1000.0, 500.0), "bytes": Flow(500.0, 5.0)}
    given = {"rows": {"packets": 1000.0}, "operators": flows, **more}
    return Observation(batch=number, seconds=seconds, at=at, **given)


def test_warm_up_lasts_for_its_seconds_and_its_batches():
    # Batches of ten seconds, back to back: the first that starts 30 s after the first is number 3.
    patient = observed([], warmup=Warmup(seconds=30, batches=3))
    timed = [
        patient.observe(batch(n, at=10.0 * (n + 1), seconds=10)).costs.batches for n in range(5)
    ]
    assert timed == [0, 0, 0, 1, 2]
    # Batches of one second: 30 of them start too early.
    patient = observed([], warmup=Warmup(seconds=30, batches=3))
    timed = [patient.observe(batch(n, at=n + 1.0)).costs.batches for n in range(32)]
    assert timed.index(1) == 30
    # Batches of a minute: three are left out all the same.
    patient = observed([], warmup=Warmup(seconds=30, batches=3))
    timed = [patient.observe(batch(n, at=60.0 * n, seconds=9)).costs.batches for n in range(5)]
    assert timed == [0, 0, 0, 1, 2]


def test_the_first_batches_tell_nothing_of_costs_and_rates_but_counts_are_counts():
    # While it warms up the engine takes a hundred times as long.
    slow = [batch(n, at=100.0 * (n + 1), seconds=100.0) for n in range(3)]
    quick = [batch(n, at=300.0 + n, seconds=1.0) for n in range(3, 40)]
    warm = Warmup(seconds=250.0, batches=3)
    found = observed(slow, warmup=warm)
    assert found.streams["packets"].rate is None
    assert found.costs == observed([], warmup=warm).costs
    assert found.operators["web"].selectivity == 0.5
    assert found.operators["web"].rows_in == 3000
    found = observed([*slow, *quick], warmup=warm)
    assert found.predict({"web": 1000.0, "bytes": 500.0}) == pytest.approx(1.0, rel=0.05)
    assert found.streams["packets"].rate == pytest.approx(1000.0, rel=0.01)


def test_what_is_timed_before_the_engine_is_warm_is_better_than_nothing_and_soon_forgotten():
    # Batches cost 4 s and 1 ms a row where the belief is far off; warm, a quarter of that.
    def timed(number: int, at: float, slower: float) -> Observation:
        rows = 1000.0 * (1 + number % 3)
        flows = {"web": Flow(rows, rows / 2), "bytes": Flow(rows / 2, 5.0)}
        took = slower * (1.0 + 0.00025 * rows)
        return batch(number, at, seconds=took, rows={"packets": rows}, operators=flows)

    def said(found: Statistics, rows: float) -> float:
        return found.predict({"web": rows, "bytes": rows / 2})

    cold = [timed(n, at=10.0 * n, slower=4.0) for n in range(10)]
    warm = Warmup(seconds=95.0, batches=3)
    found = observed(cold, warmup=warm)
    assert found.costs.batches == 0  # nothing is said to be timed
    assert found.streams["packets"].rate is None
    assert said(found, 2000.0) == pytest.approx(6.0, rel=0.1)
    for n in range(10, 16):
        found.observe(timed(n, at=10.0 * n, slower=1.0))
    assert said(found, 2000.0) == pytest.approx(1.5, rel=0.1)


def test_a_whole_network_is_known_after_warm_up_and_thirty_batches():
    # For half a minute everything takes three times as long, and then not any more.
    network, rng = PIPELINE, np.random.default_rng(3)
    prior = calibrate(network.believed(3.0, rng), network.calibration(rng))
    found = Statistics(network.kinds, ["packets"], prior=prior)
    cold = [*network.with_(slower=3.0).batches(3, rng, keep=(0.3, 1.0))]
    assert cold[-1].at > 30
    for each in cold:
        found.observe(each)
    assert found.costs.batches == 0
    for each in network.batches(30, rng, keep=(0.3, 1.0), first=3):
        found.observe(each)
    assert found.costs.batches == 30
    assert found.costs.fixed == pytest.approx(network.fixed, rel=0.2)
    for name, operator in network.operators.items():
        assert found.operators[name].cost == pytest.approx(operator.cost, rel=0.2)
        assert found.operators[name].selectivity == pytest.approx(operator.selectivity, rel=0.02)
    full = network.counts(1.5e6, {})
    rows_in = {name: flow.rows_in for name, flow in full.items()}
    assert found.predict(rows_in) == pytest.approx(network.seconds(full), rel=0.1)


def test_the_rate_is_what_arrives_not_what_is_taken():
    # 1,000 rows/s arrive; of 2,000 in two seconds a batch takes 600, and the others wait.
    made = [
        batch(n, at=2.0 * n, rows={"packets": 600.0}, backlog={"packets": 1400.0 * n})
        for n in range(10)
    ]
    assert observed(made).streams["packets"].rate == pytest.approx(1000.0)
    # Then it catches up: what waited is taken, and still 1,000 rows/s arrive.
    made += [
        batch(n, at=2.0 * n, rows={"packets": 8300.0}, backlog={"packets": 12600.0 - 6300.0 * m})
        for m, n in enumerate(range(10, 12), start=1)
    ]
    assert observed(made).streams["packets"].rate == pytest.approx(1000.0)


def test_a_period_that_is_given_is_taken():
    made = [batch(n, at=2.0 * n, period=0.5) for n in range(3)]
    assert observed(made).streams["packets"].rate == pytest.approx(2000.0)


def test_a_replayed_batch_is_not_counted_twice():
    made = [batch(n, at=float(n)) for n in range(5)]
    once, twice = observed(made), observed([*made, made[-1], made[2]])
    assert once.table() == twice.table()
    assert twice.now.batches == 5


def test_a_batch_that_does_not_count_every_operator_is_not_timed():
    made = [batch(0, at=0.0), batch(1, at=1.0, operators={"web": Flow(10.0)})]
    found = observed(made)
    assert found.costs.batches == 1
    assert found.operators["web"].rows_in == 1010
    assert found.operators["web"].selectivity == 0.5


def test_a_quiet_night_is_not_forgotten_over():
    quiet = {"web": Flow(0.0, 0.0), "bytes": Flow(0.0, 0.0)}
    made = [
        batch(0, at=0.0),
        *(batch(n, at=float(n), operators=quiet, rows={"packets": 0.0}) for n in range(1, 120)),
    ]
    found = observed(made)
    assert found.operators["web"].selectivity == 0.5
    assert found.now.cost_per_row is not None
    assert found.streams["packets"].rate == pytest.approx(0.0, abs=1e-6)


def test_load_and_headroom_follow_from_the_costs():
    # A fixed second, and a millisecond for each row: 500 rows/s bring half a second of work.
    made = [
        batch(
            n,
            at=4.0 * n,
            seconds=1.0 + 0.001 * rows,
            period=rows / 500,
            rows={"packets": rows},
            operators={"web": Flow(rows, rows), "bytes": Flow(rows, 1.0)},
        )
        for n, rows in enumerate([500.0, 1000.0, 2000.0] * 10)
    ]
    now = observed(made).now
    assert now.costs.fixed == pytest.approx(1.0, rel=0.05)
    assert now.cost_per_row == pytest.approx(0.001, rel=0.05)
    assert now.load == pytest.approx(0.5, rel=0.05)
    assert now.headroom(4.0) == pytest.approx(0.75, rel=0.05)
    assert now.headroom(0.5) == 0.0
    shares = [operator.share for operator in now.operators.values()]
    assert sum(share for share in shares if share) == pytest.approx(
        1 - now.costs.fixed / now.predict(dict.fromkeys(OPERATORS, 3500 / 3)), rel=0.1
    )


def test_the_worst_group_is_found_among_many_in_bounded_memory():
    found = observed([], memory=Memory(groups=20))
    for n in range(30):
        groups = {
            ("host", g): Moments(100.0 + g, 500.0, 5000.0) for g in range(300 * n, 300 * n + 300)
        }
        groups["host", -1] = Moments(100.0, 500.0, 50_000.0)
        everything = Moments(30_000.0, 150_000.0, 1_550_000.0)
        found.observe(batch(n, at=float(n), queries={"sums": Answers(everything, groups)}))
    assert len(found._queries["sums"]._moments.groups) == 20
    worst = found.now.worst["sums"]
    assert worst.group == "host, -1"
    assert worst.hardness == pytest.approx(50_000 / 500**2)
    assert worst.rows_per_window == pytest.approx(100)
    # C of the paper with σ² = 475, μ = 5, N = 100, δ = 0.01.
    assert worst.c() == pytest.approx(((475 + 25) / (2 * 100 * 25) * 5.298317) ** 0.5)


def test_a_group_that_is_gone_is_forgotten():
    rare = Answers(Moments(10.0, 10.0, 10.0), {"rare": Moments(1.0, 1.0, 1.0)})
    usual = Answers(Moments(10.0, 10.0, 10.0), {"usual": Moments(9.0, 9.0, 9.0)})
    found = observed([batch(0, at=0.0, queries={"sums": rare})])
    for n in range(1, 5):
        found.observe(batch(n, at=float(n), queries={"sums": usual}))
    assert found.now.worst["sums"].group == "rare"
    for n in range(5, 30):
        found.observe(batch(n, at=float(n), queries={"sums": usual}))
    assert found.now.worst["sums"].group == "usual"
    assert found.queries["sums"].groups == 1


def test_a_snapshot_stays_as_it_was():
    found = observed([batch(0, at=0.0)])
    before = found.now
    found.observe(batch(1, at=1.0))
    assert (before.operators["web"].rows_in, found.operators["web"].rows_in) == (1000, 2000)
    with pytest.raises(TypeError):
        before.operators["web"] = None  # type: ignore[index]


def test_names_that_are_not_known_are_refused_and_nothing_is_learnt():
    found = observed([])
    for more, rule in (
        (
            {"operators": {"wbe": Flow(1.0)}},
            r"operator is not known, got 'wbe'; did you mean 'web'\?",
        ),
        ({"rows": {"packet": 1.0}}, r"stream is not known, got 'packet'"),
        ({"backlog": {"packet": 1.0}}, r"stream is not known, got 'packet'"),
        ({"queries": {"sum": Answers(Moments(0, 0.0, 0.0))}}, r"query is not known, got 'sum'"),
    ):
        with pytest.raises(UsageError, match=rule):
            found.observe(batch(0, at=0.0, **more))
    assert found.now.batches == 0


def test_settings_and_observations_are_checked():
    with pytest.raises(SpecificationError, match="prior must name each operator"):
        observed([], prior=Prior(fixed=1.0, costs={"web": 1.0}))
    with pytest.raises(SpecificationError, match="rates must be a finite number above 0"):
        Memory(rates=0)
    with pytest.raises(SpecificationError, match="seconds must be a finite number, 0 or more"):
        Warmup(seconds=-1.0)
    wrongs: list[tuple[dict[str, Any], str]] = [
        ({"batch": -1}, "batch must be the id of a batch"),
        ({"seconds": float("inf")}, "seconds must be"),
        ({"at": float("nan")}, "at must be"),
        ({"period": 0.0}, "period must be"),
        ({"rows": {"packets": -1.0}}, "rows of 'packets' must be"),
        ({"backlog": {"packets": None}}, "backlog of 'packets' must be"),
    ]
    for wrong, rule in wrongs:
        with pytest.raises(SpecificationError, match=rule):
            Observation(**{"batch": 0, "seconds": 1.0, "at": 0.0, **wrong})
    with pytest.raises(SpecificationError, match="rows_out must be"):
        Flow(1.0, -1.0)
