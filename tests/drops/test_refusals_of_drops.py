"""What a sample or a subset cannot answer is refused, and the message says what can."""

from operator import or_

import pytest

import penstock as ps
from penstock.drops.refusals import check_approximate, check_subset
from penstock.errors import SpecificationError
from penstock.network.graph import Graph
from penstock.network.operators import Aggregate, Expression, Handle, Join, Map, Relation, Union
from penstock.network.query import Query
from penstock.windows import Fold, landmark, rows, session, tumbling
from tests.network.workload import seven, source, where, windows

FLAGS = ps.user_defined(
    Fold("flags", int, lambda bits, x: bits | x, or_, lambda bits: bits), "v", returns="int"
)


def asked(**functions):
    return Graph({"q": windows(source(), "60 s", "10 s", "host", asked=functions)})


def over(lower, *above, **functions):
    """A second aggregate over the first, with operators between."""
    below = windows(source(), "10 s", "10 s", "host", asked=lower)
    for step in above:
        below = step(below)
    return Graph({"q": windows(below, "60 s", "60 s", on="window_time", asked=functions)})


def in_windows(window):
    return Graph({"q": Aggregate(source(), Query(window, (), {"n": ps.count()}))})


SUMS = {"bytes": ps.sum("size"), "n": ps.count(), "most": ps.max("size")}
MEANS = {"mean": ps.avg("size"), "p": ps.approx_percentile("size", 0.5)}


def test_the_workload_of_the_papers_may_be_answered_both_ways():
    for query in seven().queries:
        check_approximate(seven(), query)
        check_subset(seven(), query)


@pytest.mark.parametrize(
    "function",
    [
        ps.count(),
        ps.count("size"),
        ps.sum("size"),
        ps.avg("size"),
        ps.var_pop("size"),
        ps.stddev_samp("size"),
        ps.approx_percentile("size", 0.5),
    ],
)
def test_these_are_answered_from_a_sample(function):
    check_approximate(asked(x=function), "q")


@pytest.mark.parametrize(
    "function", [ps.min("v"), ps.max("v"), ps.approx_count_distinct("v"), FLAGS]
)
def test_these_are_not_and_subset_is_pointed_to(function):
    with pytest.raises(SpecificationError, match=r"query 'q' .* sample cannot .*answers='subset'"):
        check_approximate(asked(n=ps.count(), x=function), "q")


def same(below):
    return Map(below, (("traffic", Expression("bytes")),), only=False)


def twice(below):
    return Map(below, (("traffic", Expression("bytes * 2")),), only=False)


def high(below):
    return where(below, "bytes > 10")


def known(below):
    hosts = Relation("hosts", Handle(object()))
    return Join(below, hosts, (("host", "id"),), semi=True, added=())


def both(below):
    return Union((below, below))


@pytest.mark.parametrize(
    ("above", "function"),
    [
        ([], ps.sum("bytes")),
        ([], ps.sum("N")),
        ([same], ps.sum("traffic")),
        ([both], ps.sum("bytes")),
    ],
)
def test_sums_of_sums_are_answered_from_a_sample(above, function):
    sums = {"bytes": ps.sum("size"), "n": ps.count()}
    check_approximate(over(sums, *above, x=function), "q")


@pytest.mark.parametrize(
    ("above", "function"),
    [
        ([], ps.count()),
        ([], ps.avg("bytes")),
        ([], ps.sum("mean")),
        ([], ps.sum("bytes * bytes")),
        ([], ps.sum("host")),
        ([twice], ps.sum("traffic")),
        ([high], ps.sum("bytes")),
        ([same, high], ps.sum("traffic")),
        ([known], ps.sum("bytes")),
        ([both, high], ps.sum("bytes")),
    ],
)
def test_what_is_not_linear_between_aggregates_is_refused(above, function):
    lower = {"bytes": ps.sum("size"), "mean": ps.avg("size")}
    with pytest.raises(SpecificationError, match=r"sums of sums or counts .*answers='subset'"):
        check_approximate(over(lower, *above, x=function), "q")


def test_groups_by_an_estimate_are_refused():
    lower = windows(source(), "10 s", "10 s", "host", asked={"n": ps.count()})
    sizes = Map(lower, (("large", Expression("n > 100")),), only=False)
    asked_for = {"x": ps.sum("n")}
    for key in ("n", "large"):
        upper = windows(sizes, "60 s", "60 s", key, on="window_time", asked=asked_for)
        with pytest.raises(SpecificationError, match=rf"groups that are no answers, got '{key}'"):
            check_approximate(Graph({"q": upper}), "q")


def test_a_lower_aggregate_that_a_sample_cannot_answer_is_refused_too():
    with pytest.raises(SpecificationError, match=r"max\(size\)"):
        check_approximate(over(SUMS, x=ps.sum("bytes")), "q")


def test_a_filter_over_the_answers_alone_may_stay():
    graph = Graph({"q": high(asked(bytes=ps.sum("size")).queries["q"])})
    check_approximate(graph, "q")


def test_windows_that_rows_drive_are_refused():
    for window in (rows(5, 5), session("10 s", on="ts")):
        with pytest.raises(SpecificationError, match="windows over time or another attribute"):
            check_approximate(in_windows(window), "q")
        with pytest.raises(SpecificationError, match="sliding, tumbling or cumulative"):
            check_subset(in_windows(window), "q")
    check_approximate(in_windows(landmark("10 s", on="ts")), "q")
    with pytest.raises(SpecificationError, match="got 'landmark'"):
        check_subset(in_windows(landmark("10 s", on="ts")), "q")
    check_subset(in_windows(tumbling("10 s", on="ts")), "q")


def test_in_subset_mode_what_a_replay_does_not_repeat_is_refused():
    check_subset(asked(a=ps.min("v"), b=FLAGS, c=ps.avg("v")), "q")
    check_subset(over(SUMS, high, x=ps.max("bytes")), "q")
    for function in (ps.approx_percentile("v", 0.5), ps.approx_count_distinct("v")):
        with pytest.raises(SpecificationError, match=r"a replay repeats .*approx_"):
            check_subset(asked(x=function), "q")
    with pytest.raises(SpecificationError, match="a replay repeats"):
        check_subset(over(MEANS, x=ps.sum("mean")), "q")
