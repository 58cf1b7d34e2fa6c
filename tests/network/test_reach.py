"""The rows that a stretch of answers needs: not one less than the windows say."""

from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.network.operators import Aggregate, Expression, Filter, Handle, Source, Union
from penstock.network.query import Query
from penstock.network.reach import reach
from penstock.windows import Kind, wids_at, window_end
from tests.strategies import specs, times


def source(name: str) -> Source:
    return Source(name, "ts", 0, "generous", None, ("ts",), (), Handle(name))


def aggregate(of, spec) -> Aggregate:
    query = Query(spec, (), {"n": ps.count()}, "generous", None, ("ts",), ())
    return Aggregate(of, query)


def test_rows_pass_through_filters_and_come_from_all_streams_of_a_union():
    a, b = source("a"), source("b")
    both = Filter(Union((a, Filter(b, Expression("x > 1")))), Expression("y > 1"))
    assert reach(both, [(0, 10), (20, 30)]) == {a: [(0, 10), (20, 30)], b: [(0, 10), (20, 30)]}


windows = specs(Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE)


@given(windows, times, st.integers(1, 20))
def test_windows_over_windows_need_the_rows_of_all_windows_that_end_in_them(spec, start, length):
    stream = source("s")
    ((begin, end),) = reach(aggregate(stream, spec), [(start, start + length)])[stream]
    needed = {
        t
        for t in range(start - 80, start + length + 80)
        for w in wids_at(t, spec)
        if start <= window_end(w, spec) - 1 < start + length
    }
    assert all(begin <= t < end for t in needed)
    # It begins no earlier than the longest window that ends at the first moment.
    longest = spec.period or spec.range or 0
    assert (begin, end) == (start + 1 - longest, start + length)
