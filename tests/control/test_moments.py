"""Moments add up to what the values themselves say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control import Answers, Moments
from penstock.errors import SpecificationError

VALUES = st.lists(st.floats(-1000, 1000).map(lambda value: round(value, 3)), min_size=1, max_size=8)


def of(values) -> Moments:
    return Moments(len(values), float(np.sum(values)), float(np.sum(np.square(values))))


@given(VALUES)
def test_mean_and_deviation_are_those_of_the_values(values):
    found = of(values)
    assert found.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert found.deviation == pytest.approx(np.std(values), abs=1e-3)


@given(VALUES)
def test_hardness_is_the_paper_s_criterion(values):
    found = of(values)
    assert found.mean is not None
    assert found.deviation is not None
    if abs(found.mean) > 0.01:
        criterion = (found.deviation**2 + found.mean**2) / (found.rows * found.mean**2)
        assert found.hardness == pytest.approx(criterion, rel=1e-6)


@given(st.lists(VALUES, min_size=1, max_size=5), st.floats(0.001, 1))
def test_windows_add_up_and_fading_changes_no_ratio(windows, share):
    together = sum((of(values) for values in windows), Moments(0, 0.0, 0.0, 0))
    everything = [value for values in windows for value in values]
    assert together.mean == pytest.approx(np.mean(everything), abs=1e-9)
    assert together.rows_per_window == pytest.approx(len(everything) / len(windows))
    faded = together.faded(share)
    assert faded.mean == pytest.approx(together.mean, abs=1e-9)
    assert faded.rows_per_window == pytest.approx(together.rows_per_window)
    if together.hardness < 1e6:
        assert faded.hardness == pytest.approx(together.hardness, rel=1e-6)


def test_a_count_has_mean_one_and_no_deviation():
    count = Moments(rows=300, total=300.0, squares=300.0, windows=3)
    assert (count.mean, count.deviation, count.hardness) == (1.0, 0.0, 0.01)


def test_values_that_cancel_out_are_as_hard_as_can_be_and_zeros_are_easy():
    assert of([1.0, -1.0]).hardness == math.inf
    assert of([0.0, 0.0]).hardness == 0.0
    assert Moments(0, 0.0, 0.0).hardness == 0.0
    assert Moments(0, 0.0, 0.0).mean is None


def test_answers_of_a_window_are_one_window_whatever_their_groups():
    found = Answers.of(
        [
            (60, ("a", 1), 3, 6.0, 14.0),
            (60, ("b", 2), 1, 5.0, 25.0),
            (65, ("a", 1), 2, 4.0, 8.0),
        ]
    )
    assert found.overall == Moments(6, 15.0, 47.0, 2)
    assert found.groups[("a", 1)] == Moments(5, 10.0, 22.0, 2)
    assert found.groups[("b", 2)] == Moments(1, 5.0, 25.0, 1)


def test_a_query_without_groups_has_none():
    found = Answers.of([(60, None, 3, 6.0, 14.0)])
    assert found == Answers(Moments(3, 6.0, 14.0))
    assert not found.groups


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ((-1, 0.0, 0.0), "rows must be"),
        ((1, math.nan, 0.0), "total must be"),
        ((1, 1.0, -1.0), "squares must be"),
        ((1, 1.0, 1.0, math.inf), "windows must be"),
        ((True, 1.0, 1.0), "rows must be"),
        (("1", 1.0, 1.0), "rows must be"),
    ],
)
def test_what_is_no_number_is_refused(wrong, rule):
    with pytest.raises(SpecificationError, match=rule):
        Moments(*wrong)
