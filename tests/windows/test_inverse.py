"""`extent` and `wids` are inverse, for every kind of window."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.windows import Kind, extent, last_closed, wids, window_end, windows
from tests.strategies import KINDS, specs, streams, times

EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())


@EVERY_KIND
@given(data=st.data(), stream=streams, until=st.none() | times)
def test_a_row_is_in_a_window_exactly_if_the_window_is_one_of_its_own(kind, data, stream, until):
    spec = data.draw(specs(kind))
    ids = windows(stream, spec, until)
    by_window = {(i, w) for w in ids for i in extent(w, stream, spec)}
    by_row = {(i, w) for i in range(len(stream)) for w in wids(i, stream, spec, until)}
    assert by_window == by_row


@EVERY_KIND
@given(data=st.data(), stream=streams)
def test_the_strategy_draws_the_kind_that_it_is_asked_for(kind, data, stream):
    spec = data.draw(specs(kind))
    assert spec.kind is kind
    assert list(windows(stream, spec)) == list(dict.fromkeys(windows(stream, spec)))


@EVERY_KIND
@given(data=st.data(), stream=streams)
def test_no_window_beside_those_listed_has_a_row(kind, data, stream):
    spec = data.draw(specs(kind))
    ids = windows(stream, spec)
    for w in ids:
        # One partition is enough for each of its neighbours to be asked.
        number, partition = w if isinstance(w, tuple) else (w, None)
        for other in (number - 1, number + 1):
            neighbour = other if partition is None else (other, partition)
            if neighbour in ids or (kind is Kind.LANDMARK and other > number):
                continue
            if kind in {Kind.SLIDE_BY_TUPLE, Kind.SLIDE_BY_ROWS, Kind.SLIDE_BY_RANK}:
                continue  # ids are values that rows have, and other values are no ids
            assert extent(neighbour, stream, spec) == []


@given(
    spec=specs(Kind.SLIDING, Kind.TUMBLING, Kind.LANDMARK, Kind.CUMULATIVE),
    stream=streams,
    until=times,
)
def test_a_punctuation_closes_exactly_the_windows_that_no_later_row_can_enter(spec, stream, until):
    closed = last_closed(until, spec)
    to_come = [row for row in stream if row["ts"] is not None and row["ts"] >= until]
    for w in windows(to_come, spec, until):
        assert extent(w, to_come, spec) == []
    # The next window still takes a row: one just before its end.
    assert window_end(closed, spec) <= until <= window_end(closed + 1, spec) - 1


@given(spec=specs(Kind.SLIDE_BY_TUPLE, Kind.SLIDE_BY_ROWS, Kind.SLIDE_BY_RANK), stream=streams)
def test_slide_by_windows_end_at_rows_and_never_twice_at_the_same_value(spec, stream):
    ids = windows(stream, spec)
    values = {row["ts"] for row in stream}
    assert set(ids) <= values
    assert len(set(ids)) == len(ids)


@given(spec=specs(Kind.SLIDE_BY_RANK), stream=streams)
def test_sliding_by_rank_does_not_depend_on_the_order_of_arrival(spec, stream):
    assert windows(stream, spec) == windows(stream[::-1], spec)
