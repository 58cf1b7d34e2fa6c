"""Spans of states, merged at once, are what merging each by itself gives."""

from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.processors import partials
from penstock.processors.partials import Folded, Values, merge_spans
from penstock.windows import Fold

JOINED = Folded(
    Fold(
        "joined",
        init=tuple,
        incr=lambda state, x: (*state, x),
        merge=lambda a, b: a + b,
        final=lambda state: state,
    )
)
"""An aggregate that tells in which order it was merged."""


@st.composite
def spans(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """A number of states, and spans that may have any length or all about the same."""
    number = draw(st.integers(1, 40))
    longest = draw(st.integers(1, number))
    shortest = draw(st.integers(1, longest))
    begin = st.integers(0, number - 1)
    length = st.integers(shortest, longest)
    drawn = draw(st.lists(st.tuples(begin, length), max_size=20))
    return number, sorted((low, min(number, low + size)) for low, size in drawn)


@given(spans(), st.sampled_from([1, partials._AT_ONCE]))
def test_merged_spans_have_all_states_in_order(drawn, at_once) -> None:
    number, bounds = drawn
    rows = np.arange(number)
    states = [JOINED.fold(Values(rows), rows, number)]
    low, high = (np.array([b[i] for b in bounds], np.int64) for i in (0, 1))
    with mock.patch.object(partials, "_AT_ONCE", at_once):
        merged = merge_spans([JOINED], states, low, high)
    assert merged[0][0].tolist() == [tuple(range(*b)) for b in bounds]
    assert states[0][0].tolist() == [(row,) for row in range(number)]
