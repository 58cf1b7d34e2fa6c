"""The workload of a network: from statistics, from a file, and from guesses that are said."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.control import Answers, Flow, Observation, Statistics, Warmup
from penstock.control.prior import taking
from penstock.errors import SpecificationError, UsageError
from penstock.network.config import parse_config
from penstock.network.cql import parse_network
from penstock.network.outline import outline
from penstock.network.tables import ConfigError
from penstock.planning import Known, Window, plan, workload
from penstock.windows.durations import SECOND

HEAD = """
[stream.packets]
source = "x"
event_time = "ts"
"""
TWO = (
    HEAD
    + """
[query.web]
cql = "SELECT host, sum(size) AS n FROM packets [RANGE 60 s SLIDE 10 s WATTR ts] WHERE port = 80
GROUP BY host"
weight = 2
priority = 3

[query.all]
cql = "SELECT count(*) AS n FROM packets [RANGE 30 s SLIDE 5 s WATTR ts]"
answers = "subset"
max_gap = 20
""".replace("\nGROUP", " GROUP")
)


def statistics() -> Statistics:
    kinds = {"packets": "source", "filter 1": "filter", "web": "aggregate", "all": "aggregate"}
    found = Statistics(kinds, ["packets"], ["web", "all"], warmup=Warmup(0, 0))
    for batch in range(4):
        rows = 1000.0 * (1 + batch)
        flows = {
            "packets": Flow(rows, rows),
            "filter 1": Flow(rows, rows / 4),
            "web": Flow(rows / 4, None),
            "all": Flow(rows, None),
        }
        web = Answers.of([(60, "a", 200, 400.0, 1000.0), (60, "b", 2, 2.0, 2.0)])
        every = Answers.of([(60, None, 500, 500.0, 500.0)])
        at = float(batch + 1)
        answers = {"web": web, "all": every}
        found.observe(
            Observation(
                batch=batch,
                seconds=rows * 1e-4,
                at=at,
                rows={"packets": rows},
                operators=flows,
                queries=answers,
            )
        )
    return found


def test_a_snapshot_tells_all_that_a_plan_needs():
    snapshot = statistics().now
    known = Known.of(snapshot)
    assert known.rates == {"packets": snapshot.streams["packets"].rate}
    assert known.costs["filter 1"] == snapshot.operators["filter 1"].cost
    assert known.selectivities == {"packets": 1.0, "filter 1": 0.25}
    # The worst group of web: two rows of 1.
    assert known.hardness == {"web": pytest.approx(0.5), "all": pytest.approx(1 / 500)}
    config = parse_config(TWO)
    load, assumed = workload(config.outline(), known, config.queries)
    assert assumed == ()
    assert load.total == pytest.approx(snapshot.load, rel=0.05)
    web, every = load.queries
    assert (web.weight, web.priority, web.answers) == (2.0, 3, "approximate")
    assert (every.answers, every.max_gap) == ("subset", 20)


def test_all_groups_together_are_easier_than_the_worst():
    snapshot = statistics().now
    known = Known.of(snapshot, groups="all")
    # a: 400 and its error in proportion to √1000; b: 2 and √2.
    assert known.hardness["web"] == pytest.approx(((1000**0.5 + 2**0.5) / 402) ** 2)
    assert known.hardness["all"] == Known.of(snapshot).hardness["all"]


def test_json_tells_the_same():
    snapshot = statistics().now
    written = json.loads(json.dumps(snapshot.to_json()))
    assert Known.from_json(written) == Known.from_json([written]) == Known.of(snapshot)
    with pytest.raises(SpecificationError, match="must name each operator once, got 'packets'"):
        Known.from_json([written, written])
    with pytest.raises(SpecificationError, match="must be as a snapshot writes them"):
        Known.from_json({"tables": 3})


def test_what_is_infinite_or_nothing_but_zeros_can_be_told():
    row = {"of": "query", "name": "q", "group": None, "rows_per_window": 50.0, "mean": 0.0}
    assert Known.from_rows([{**row, "hardness": None}]).hardness["q"] == math.inf
    assert Known.from_rows([{**row, "hardness": 0.0}]).hardness["q"] == 1 / 50
    assert Known.from_rows([{**row, "mean": None, "hardness": 0.0}]).hardness == {}


def test_a_table_of_the_file_tells_it_too():
    text = """
[statistics.stream.packets]
rate = 50_000
[statistics.operator."filter 1"]
selectivity = 0.1
cost = 2e-6
[statistics.query.web]
rows_per_window = 400
mean = 500
deviation = 1000
"""
    config = parse_config(TWO + text)
    known = Known.from_table(config.statistics)
    load, assumed = workload(config.outline(), known, config.queries)
    assert [node.name for node in load.nodes] == ["packets", "filter 1", "web", "all"]
    assert load.rows_in.tolist() == [50_000, 50_000, 5_000, 50_000]
    assert [node.cost for node in load.nodes] == [0.0, 2e-6, 2e-6, 2e-6]
    assert load.queries[0].hardness == pytest.approx((1000**2 + 500**2) / (400 * 500**2))
    assert assumed == (
        "reading costs nothing: packets",
        "a row costs the same in each: web, all",
    )
    wrong = parse_config(TWO + text.replace("cost", "costs"))
    with pytest.raises(ConfigError, match="did you mean 'cost'"):
        Known.from_table(wrong.statistics)


def test_names_that_nobody_has_are_refused():
    graph = parse_config(TWO).outline()
    with pytest.raises(UsageError, match="did you mean 'packets'"):
        workload(graph, Known(rates={"packet": 1.0}))
    with pytest.raises(UsageError, match="operator is not known"):
        workload(graph, Known(costs={"filter 9": 1.0}))


def test_guesses_are_said():
    load, assumed = workload(parse_config(TWO).outline(), Known())
    assert load.nodes[0].rate == 1000
    assert load.rows_in.tolist() == [1000, 1000, 500, 1000]
    # web: 500 rows/s for a minute, the worst group a hundredth of them.
    assert load.queries[0].hardness == pytest.approx(2 / 300)
    assert load.queries[1].hardness == pytest.approx(1 / 30_000)
    assert assumed == (
        "1,000 rows/s: packets",
        "reading costs nothing: packets",
        "50 % of the rows pass: filter 1",
        "a row costs the same in each: filter 1, web, all",
        "the worst group has 1/100 of the rows: web",
        "values deviate by as much as their mean: web",
    )


def test_at_other_rates_windows_have_more_rows():
    known = Known(rates={"packets": 1000.0}, hardness={"web": 0.5})
    assert known.at({"packets": 4000.0}).hardness["web"] == 0.125
    assert known.at({}) == known


def asked(cql: str, name: str = "q"):
    graph = outline(parse_network(cql))
    load, _ = workload(graph, Known())
    return load, next(query for query in load.queries if query.name == name)


OVER = "FROM packets [RANGE 60 s SLIDE 10 s WATTR ts]"
NESTED = """
CREATE VIEW v AS SELECT host, count(*) AS n FROM packets [RANGE 60 s SLIDE 10 s WATTR ts]
GROUP BY host;
CREATE QUERY q AS SELECT sum(n) AS m FROM v [RANGE 60 s SLIDE 60 s WATTR window_time]"""


@pytest.mark.parametrize(
    "cql",
    [
        f"CREATE QUERY q AS SELECT max(size) AS n {OVER}",
        NESTED.replace("sum(n)", "max(n)"),
        NESTED.replace("sum(n)", "avg(n)"),
        f"{NESTED} WHERE n > 1",
        "CREATE QUERY q AS SELECT count(*) AS n FROM p [RANGE 9 ROWS SLIDE 1 ROWS WATTR row-num]",
    ],
)
def test_what_has_no_bound_is_never_sampled(cql):
    assert asked(cql)[1].hardness == math.inf


def test_sums_over_windows_are_as_hard_to_sample_as_their_rows():
    load, query = asked(NESTED)
    assert query.hardness == pytest.approx(1 / 60_000)  # of 1,000 rows/s, for a minute
    over_bytes = NESTED.replace("count(*) AS n", "sum(size) AS n")
    assert asked(over_bytes)[1].hardness == pytest.approx(2 / 60_000)
    found = plan(replace(load, capacity=load.total / 2))
    # Rows are dropped before the windows below: of answers there are as many as before.
    (drop,) = found.plan.random
    assert str(drop.arc) == "packets ─► aggregate 1"
    assert found.enough
    error = found.outcomes["q"].error
    assert error is not None
    assert 0 < error < 0.1


def test_rows_as_answers():
    load, query = asked("CREATE QUERY q AS SELECT * FROM packets WHERE port = 80")
    assert query.rows
    assert load.nodes[query.node].name == "filter 1"


def test_a_select_list_above_the_windows_is_no_other_window():
    load, query = asked(f"CREATE QUERY q AS SELECT count(*) AS n, host {OVER} GROUP BY host")
    assert not query.rows
    (window,) = [node.window for node in load.nodes if node.aggregate]
    assert window == Window(60 * SECOND, 10 * SECOND, ("time", 0, ("host",)))


def test_the_example_is_planned_with_and_without_a_wide_gap():
    text = (Path(__file__).parents[2] / "examples/packets.toml").read_text()
    for gap, dropped in (("5", []), ("35", ["filter 2 ─► filter 3"])):
        config = parse_config(text.replace("max_gap = 5", f"max_gap = {gap}"))
        load, _ = workload(config.outline(), Known(), config.queries)
        found = plan(
            type(load)(load.nodes, load.queries, capacity=load.total / 2)  # twice the capacity
        )
        assert [str(drop.arc) for drop in found.plan.windows] == dropped
        assert found.enough


def test_rows_that_are_dropped_where_they_enter_are_read_and_no_more() -> None:
    """What taking them in costs is saved by a drop at the stream, and by no later one."""
    graph = parse_config(
        """
[stream.packets]
source = "x"
event_time = "ts"
[query.few]
cql = "SELECT count(*) AS n FROM packets [RANGE 10 s SLIDE 1 s WATTR ts] WHERE size > 9"
[query.all]
cql = "SELECT count(*) AS n FROM packets [RANGE 10 s SLIDE 1 s WATTR ts]"
""",
        "a.toml",
    ).outline()
    costs = dict.fromkeys(graph.names.values(), 1e-6) | {"packets": 1e-7}
    known = Known({"packets": 1e6}, {**costs, taking("packets"): 1e-5}, {"filter 1": 0.1})
    load, _ = workload(graph, known)
    assert load.work[load.streams].sum() == pytest.approx(0.1)
    assert load.total == pytest.approx(0.1 + 10 + 1 + 0.1 + 1)
    found = plan(replace(load, capacity=load.total / 2))
    kept = {(drop.arc.after, drop.arc.before): drop.keep for drop in found.plan.random}
    assert ("packets", "packets, taken") in kept
    assert found.after == pytest.approx(load.total / 2)
