"""Aggregates: Spark's answers, and the same answer however the values are parted."""

import math
import statistics
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ArithmeticOverflow
from penstock.windows.aggregates import AVG, COUNT, COUNT_ALL, MAX, MIN, SUM
from penstock.windows.spread import STDDEV_POP, STDDEV_SAMP, VAR_POP, VAR_SAMP

FOLDS = [COUNT_ALL, COUNT, SUM, AVG, MIN, MAX, VAR_SAMP, VAR_POP, STDDEV_SAMP, STDDEV_POP]
EVERY_FOLD = pytest.mark.parametrize("fold", FOLDS, ids=lambda fold: fold.name)
NAN = math.nan

ints = st.none() | st.integers(-(10**6), 10**6)
floats = st.none() | st.floats(-1e6, 1e6)
decimals = st.none() | st.decimals(-(10**6), 10**6, places=2)


def merged(fold, parts):
    state = fold.init()
    for part in parts:
        state = fold.merge(state, fold.partial(part))
    return fold.final(state)


def close(left, right):
    if left is None or right is None:
        return left is right
    return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-6)


@EVERY_FOLD
@given(parts=st.lists(st.lists(ints, max_size=6), max_size=5))
def test_whole_numbers_may_be_parted_anyhow(fold, parts):
    whole = fold.of([value for part in parts for value in part])
    if fold in FOLDS[:6]:
        assert merged(fold, parts) == whole
    else:
        assert close(merged(fold, parts), whole)


@EVERY_FOLD
@given(parts=st.lists(st.lists(floats, max_size=6), max_size=5))
def test_floats_may_be_parted_anyhow_up_to_rounding(fold, parts):
    whole = fold.of([value for part in parts for value in part])
    assert close(merged(fold, parts), whole)


@pytest.mark.parametrize("fold", [SUM, AVG, MIN, MAX], ids=lambda fold: fold.name)
@given(parts=st.lists(st.lists(decimals, max_size=6), max_size=5))
def test_decimals_may_be_parted_anyhow(fold, parts):
    whole = fold.of([value for part in parts for value in part])
    assert merged(fold, parts) == whole


@EVERY_FOLD
def test_of_nothing_the_answer_is_missing_and_the_count_zero(fold):
    expected = 0 if fold in {COUNT, COUNT_ALL} else None
    assert fold.of([]) == expected
    assert merged(fold, [[], []]) == expected


@EVERY_FOLD
def test_missing_values_are_skipped_but_by_count_star(fold):
    values = [3, None, 1, None, 8]
    if fold is COUNT_ALL:
        assert fold.of(values) == 5
    else:
        assert fold.of(values) == fold.of([3, 1, 8])
        assert fold.of([None, None]) == (0 if fold is COUNT else None)


def test_the_answers_by_hand():
    values = [2, 4, 4, 4, 5, 5, 7, 9]
    assert SUM.of(values) == 40
    assert AVG.of(values) == 5.0
    assert isinstance(AVG.of([2, 2]), float)
    assert (MIN.of(values), MAX.of(values)) == (2, 9)
    assert VAR_POP.of(values) == pytest.approx(4.0)
    assert STDDEV_POP.of(values) == pytest.approx(2.0)
    assert VAR_SAMP.of(values) == pytest.approx(32 / 7)


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30))
def test_the_spread_is_that_of_the_definition(values):
    assert VAR_SAMP.of(values) == pytest.approx(statistics.variance(values), rel=1e-9, abs=1e-9)
    assert STDDEV_POP.of(values) == pytest.approx(statistics.pstdev(values), rel=1e-6, abs=1e-6)


def test_a_large_mean_does_not_eat_the_spread():
    assert VAR_POP.of([1e9, 1e9 + 1, 1e9 + 2]) == pytest.approx(2 / 3)


def test_of_one_value_a_sample_has_no_spread():
    assert VAR_SAMP.of([5]) is None
    assert STDDEV_SAMP.of([5, None]) is None
    assert VAR_POP.of([5]) == 0.0
    assert STDDEV_POP.of([5]) == 0.0


def test_a_sum_that_does_not_fit_is_refused_and_never_wrapped():
    assert SUM.of([2**63 - 1]) == 2**63 - 1
    assert SUM.of([-(2**63)]) == -(2**63)
    for values in ([2**63 - 1, 1], [-(2**63), -1]):
        with pytest.raises(ArithmeticOverflow, match="sum must fit in 64 bits, got"):
            SUM.of(values)
    with pytest.raises(ArithmeticOverflow, match="38 digits"):
        SUM.of([Decimal("9" * 38), Decimal(1)])
    assert AVG.of([2**63 - 1, 2**63 - 1]) == pytest.approx(2.0**63)


def test_decimals_are_added_exactly():
    third = Decimal("0.3333333333333333333333333333333333")
    assert SUM.of([third] * 3) == Decimal("0.9999999999999999999999999999999999")
    assert str(SUM.of([Decimal("0.10"), Decimal("0.2")])) == "0.30"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1.00", "2.00"], "1.500000"),
        (["1.00", "1.00", "2.00"], "1.333333"),
        (["1.00", "2.00", "2.00"], "1.666667"),
        (["0", "1"] + ["0"] * 6, "0.1250"),
        (["-1.00", "-2.00", "-2.00"], "-1.666667"),
    ],
)
def test_the_mean_of_decimals_has_four_more_places_and_is_rounded_half_up(values, expected):
    assert str(AVG.of([Decimal(value) for value in values])) == expected


def test_a_tie_is_rounded_away_from_zero():
    # 1 / 32 = 0.03125, to four places
    assert str(AVG.of([Decimal(1)] + [Decimal(0)] * 31)) == "0.0313"
    assert str(AVG.of([Decimal(-1)] + [Decimal(0)] * 31)) == "-0.0313"


@pytest.mark.parametrize(
    "values", [[NAN, 1.0, math.inf], [math.inf, NAN, 1.0], [1.0, math.inf, NAN]]
)
def test_nan_is_larger_than_every_number(values):
    assert MIN.of(values) == 1.0
    assert math.isnan(MAX.of(values))
    assert math.isnan(MIN.of([NAN, NAN]))
    assert MIN.of([math.inf, NAN]) == math.inf


def test_text_has_a_smallest_and_a_largest():
    assert (MIN.of(["pen", None, "stock"]), MAX.of(["pen", None, "stock"])) == ("pen", "stock")
