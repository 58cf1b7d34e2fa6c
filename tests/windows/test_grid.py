"""The grid that windows share has all their edges, and is as wide as it can be."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.windows import WindowSpec, cumulative, sliding
from penstock.windows.arithmetic import window_bounds
from penstock.windows.grid import ending_first, grid


@st.composite
def specs(draw: st.DrawFn) -> WindowSpec:
    slide = draw(st.integers(1, 12)) * 5
    origin = draw(st.sampled_from([0, 5, 10, -15]))
    if draw(st.booleans()):
        return cumulative(slide * draw(st.integers(1, 5)), slide, on="ts", origin=origin)
    return sliding(draw(st.integers(1, 20)) * 5, slide, on="ts", origin=origin)


def edges(spec: WindowSpec) -> set[int]:
    bounds = (window_bounds(wid, spec) for wid in range(-8, 9))
    return {edge for begin, end in bounds for edge in (begin, end) if edge is not None}


@given(st.lists(specs(), min_size=1, max_size=4))
def test_every_edge_is_a_line_and_no_wider_grid_has_them_all(several: list[WindowSpec]) -> None:
    found = grid(several)
    lines = set().union(*map(edges, several))
    assert all((edge - found.phase) % found.width == 0 for edge in lines)
    wider = [found.width * n for n in (2, 3, 5)]
    for width in wider:
        assert len({edge % width for edge in lines}) > 1


@given(st.lists(specs(), min_size=1, max_size=5), st.integers(-100, 100))
def test_no_window_ends_before_those_that_end_first(several: list[WindowSpec], t: int) -> None:
    def first_end(spec: WindowSpec) -> int:
        return t - (t - spec.origin) % spec.slide + spec.slide

    assert min(map(first_end, several)) == min(map(first_end, ending_first(several)))
