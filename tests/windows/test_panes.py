"""Panes are the largest pieces that no window cuts."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.windows import (
    Kind,
    cumulative,
    landmark,
    slide_by_tuple,
    sliding,
    tumbling,
    wids_at,
    window_bounds,
    window_end,
)
from penstock.windows.panes import first_window_end, pane_end, pane_start, windows_of_pane
from tests.strategies import specs, times

PANED = [Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE, Kind.TUPLE]


def panes(spec, first, last):
    found = [pane_start(first, spec)]
    while pane_end(found[-1], spec) <= last:
        found.append(pane_end(found[-1], spec))
    return found


@given(spec=specs(*PANED), t=times)
def test_every_value_of_a_pane_has_the_same_windows(spec, t):
    assume(spec.start is None or t >= spec.start)
    pane = pane_start(t, spec)
    assert pane <= t < pane_end(t, spec)
    for other in range(pane, pane_end(t, spec)):
        assert pane_start(other, spec) == pane
        assert pane_end(other, spec) == pane_end(t, spec)
        assert wids_at(other, spec) == windows_of_pane(pane, spec)


@given(spec=specs(*PANED), t=times)
def test_neighbouring_panes_have_different_windows(spec, t):
    assume(spec.start is None or t >= spec.start)
    here, there = pane_start(t, spec), pane_end(t, spec)
    assert pane_start(there, spec) == there
    assert list(windows_of_pane(here, spec)) != list(windows_of_pane(there, spec))


@given(spec=specs(*PANED), w=st.integers(-8, 12))
def test_the_panes_of_a_window_are_exactly_the_window(spec, w):
    start, end = window_bounds(w, spec)
    assume(start is not None and start < end)
    inside = [p for p in panes(spec, start, end + 30) if w in windows_of_pane(p, spec)]
    assert inside[0] == start
    assert [pane_end(p, spec) for p in inside] == [*inside[1:], end]


@given(spec=specs(*PANED), t=times)
def test_a_pane_is_complete_when_its_first_window_ends(spec, t):
    assume(spec.start is None or t >= spec.start)
    pane = pane_start(t, spec)
    ids = windows_of_pane(pane, spec)
    expected = min((window_end(w, spec) for w in ids), default=None)
    assert first_window_end(pane, spec) == expected
    if expected is not None:
        assert expected >= pane_end(pane, spec)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # 0  3  6  9 12       one pane a slide
        (sliding(6, 3, on="ts"), [0, 3, 6, 9, 12]),
        # 0 1  3 4  6 7  9    two: windows end at 0, 3, … and begin at 1, 4, …
        (sliding(5, 3, on="ts"), [0, 1, 3, 4, 6, 7, 9, 10, 12]),
        # 0   3 5   8 10      windows [3, 5) and [8, 10), and the gaps
        (sliding(2, 5, on="ts"), [0, 3, 5, 8, 10]),
        (tumbling(4, on="ts", origin=1), [-3, 1, 5, 9]),
        (cumulative(period=12, every=4, on="ts"), [0, 4, 8, 12]),
        (landmark(4, on="ts"), [0, 4, 8, 12]),
        # the stream begins inside of a pane
        (sliding(6, 3, on="ts", start=1), [1, 3, 6, 9, 12]),
    ],
    ids=str,
)
def test_panes_drawn_by_hand(spec, expected):
    first = 0 if spec.start is None else spec.start
    assert panes(spec, first, 12) == expected


@pytest.mark.parametrize("ask", [pane_start, pane_end, windows_of_pane, first_window_end])
def test_slide_by_windows_have_no_panes(ask):
    with pytest.raises(UsageError, match="one attribute, got 'slide by tuple'"):
        ask(0, slide_by_tuple(5, on="ts"))


def test_there_are_no_panes_before_the_stream_begins():
    with pytest.raises(UsageError, match="begin with the stream, at 10, got 9"):
        pane_start(9, sliding(6, 3, on="ts", start=10))


def test_a_landmark_window_has_no_last_one():
    with pytest.raises(UsageError, match="last window, got 'landmark'"):
        windows_of_pane(0, landmark(4, on="ts"))
