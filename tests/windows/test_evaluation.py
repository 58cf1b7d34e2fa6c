"""The way that is taken is the cheapest one, and it says what the others would have cost."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.windows import (
    Density,
    Evaluation,
    Ladder,
    WindowSpec,
    choose,
    cumulative,
    sliding,
    tumbling,
)
from penstock.windows.evaluation import ASSUMED, _candidates, price
from penstock.windows.ladder import MOST_RUNGS, longest_rung, overlap

SECOND = 1_000_000
DIRECT, PANES = ((), False), ((1,), False)

rows_per_pane = st.floats(0.01, 1e6)
panes_per_batch = st.floats(1e-4, 1e5)
densities = st.builds(Density, rows=rows_per_pane, panes=panes_per_batch)


@st.composite
def overlapping(draw: st.DrawFn) -> WindowSpec:
    """Sliding and cumulative windows of 2 to some 10,000 slides."""
    slide = draw(st.sampled_from([1, 7, SECOND]))
    slides = draw(st.integers(2, 60) | st.integers(61, 10_000))
    if draw(st.booleans()):
        return cumulative(slides * slide, slide, on="ts")
    return sliding(slides * slide + draw(st.integers(0, slide - 1)), slide, on="ts")


@given(spec=overlapping(), density=densities)
def test_the_cheapest_way_is_taken(spec, density):
    prices = {way: price(spec, way, density) for way in _candidates(spec)}
    chosen = choose(spec, density)
    assert prices[chosen.rungs, chosen.tall] == min(prices.values())
    assert {DIRECT, PANES} <= set(prices)


@given(spec=overlapping(), density=st.none() | densities)
def test_what_is_taken_is_a_ladder_that_the_window_allows(spec, density):
    rungs = choose(spec, density).rungs
    assert len(rungs) <= MOST_RUNGS
    if rungs:
        Ladder(spec, rungs)  # refuses what does not fit


@given(spec=overlapping())
def test_every_candidate_is_valid_and_has_a_price_above_zero(spec):
    for rungs, tall in _candidates(spec):
        assert price(spec, (rungs, tall), ASSUMED) > 0
        assert not tall or len(rungs) > 1
        assert not rungs or Ladder(spec, rungs).rungs == rungs
        assert not rungs or rungs[-1] <= max(1, longest_rung(spec))


@given(spec=overlapping(), density=densities, more=st.floats(1.0, 1e4))
def test_denser_panes_never_move_to_direct(spec, density, more):
    assume(choose(spec, density).rungs)
    assert choose(spec, Density(density.rows * more, density.panes)).rungs


@given(spec=overlapping(), density=densities, more=st.floats(1.0, 1e4))
def test_denser_panes_never_add_rungs(spec, density, more):
    """Every rung folds each row once more, but not those on panes."""
    sparse, dense = choose(spec, density), choose(spec, Density(density.rows * more, density.panes))
    assume(sparse.rungs)
    assert dense.tall or len(dense.rungs) <= len(sparse.rungs)


@given(spec=overlapping(), rungs=st.integers(0, 3), density=densities, more=st.floats(1.0, 1e4))
def test_more_rows_never_cost_less(spec, rungs, density, more):
    candidates = list(_candidates(spec))
    way = candidates[rungs % len(candidates)]
    fuller = Density(density.rows * more, density.panes)
    assert price(spec, way, fuller) >= price(spec, way, density)


@given(slides=st.integers(2, 5000), more=st.integers(1, 5000), density=densities)
def test_longer_windows_never_cost_less(slides, more, density):
    short, long = sliding(slides, 1, on="ts"), sliding(slides + more, 1, on="ts")
    for way in (DIRECT, PANES):
        assert price(long, way, density) >= price(short, way, density)


@pytest.mark.parametrize(
    "spec",
    [
        tumbling("1 minute", on="ts"),
        sliding("10 s", "10 s", on="ts"),
        sliding("10 s", "25 s", on="ts"),
        cumulative("1 h", "1 h", on="ts"),
    ],
    ids=str,
)
@pytest.mark.parametrize("density", [None, Density(1e6), Density(0.001, 1e4)])
def test_a_row_in_one_window_is_grouped_directly(spec, density):
    chosen = choose(spec, density)
    assert (chosen.rungs, chosen.name) == ((), "direct")
    assert "one window" in chosen.reason


def numbers(text: str) -> list[float]:
    return [float(n) for n in re.findall(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", text)]


@given(spec=overlapping(), density=densities)
def test_the_reason_tells_overlap_density_and_the_prices(spec, density):
    chosen = choose(spec, density)
    assert f"overlap {overlap(spec)}" in chosen.reason
    assert f"{density.rows:.3g} rows per pane and key" in chosen.reason
    assert "assumed" not in chosen.reason
    for way in {DIRECT, PANES, (chosen.rungs, chosen.tall)}:
        assert float(f"{price(spec, way, density):.3g}") in numbers(chosen.reason)
    assert "\n" not in chosen.reason


def test_what_nobody_has_looked_at_is_said_to_be_assumed():
    chosen = choose(sliding("60 s", "1 s", on="ts"))
    assert "10 rows per pane and key assumed" in chosen.reason
    assert chosen.rungs == choose(sliding("60 s", "1 s", on="ts"), ASSUMED).rungs


@pytest.mark.parametrize(
    ("rungs", "name"), [((), "direct"), ((1,), "panes"), ((1, 4), "ladder"), ((1, 2, 8), "ladder")]
)
def test_each_way_has_a_name(rungs, name):
    assert Evaluation(rungs, "").name == name


def test_a_day_by_ten_seconds_is_merged_from_panes_on_a_tall_ladder():
    chosen = choose(sliding("1 day", "10 s", on="ts"), Density(rows=100, panes=1200))
    assert chosen.name == "tall ladder"
    assert all(above == 2 * length for length, above in pairwise(chosen.rungs))
    assert f"{len(chosen.rungs)} rungs on panes" in chosen.reason


@pytest.mark.parametrize(
    ("window", "density", "name"),
    [
        (sliding("60 s", "1 s", on="ts"), Density(1e5), "panes"),
        (sliding("3 s", "1 s", on="ts"), Density(1, panes=1000), "direct"),
        (sliding("1 day", "10 s", on="ts"), Density(10), "ladder"),
        (cumulative("1 day", "1 min", on="ts"), Density(10), "ladder"),
    ],
    ids=str,
)
def test_streams_far_to_one_side(window, density, name):
    assert choose(window, density).name == name
