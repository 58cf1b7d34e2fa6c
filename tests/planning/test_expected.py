"""The mean error of a sampled answer, against all samples and against many."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control import Moments
from penstock.planning import expected_error, expected_error_of_groups
from penstock.planning.expected import alike, hardness_of_all, tail


@given(st.integers(1, 40), st.floats(0.01, 0.99))
def test_of_a_count_it_is_the_mean_over_all_samples(n, keep):
    exact = sum(
        math.comb(n, k) * keep**k * (1 - keep) ** (n - k) * abs(k / keep - n) / n
        for k in range(n + 1)
    )
    assert expected_error(1 / n, keep) == pytest.approx(exact)


@pytest.mark.parametrize("keep", [0.02, 0.2, 0.7])
def test_of_skewed_sums_by_group_it_is_that_of_a_simulation(keep):
    rng = np.random.default_rng(5)
    groups = [rng.lognormal(sigma=1.0, size=n) for n in (3, 30, 300, 3000)]
    whole = sum(values.sum() for values in groups)
    off = [
        sum(abs((v * (rng.random(v.size) < keep)).sum() / keep - v.sum()) for v in groups) / whole
        for _ in range(2000)
    ]
    moments = [Moments(v.size, float(v.sum()), float((v * v).sum())) for v in groups]
    assert expected_error_of_groups(moments, keep) == pytest.approx(np.mean(off), rel=0.1)


def test_values_that_cancel_out_and_groups_of_nothing():
    assert expected_error(4.0, 0.5) == pytest.approx(math.sqrt(8 / math.pi))
    assert expected_error_of_groups([Moments(3, 0.0, 6.0)], 0.5) == 0.0


@pytest.mark.parametrize("delta", [0.01, 0.05])
@pytest.mark.parametrize("rows", [[1000], [1000] * 5, [5000, 300, 20], [500] * 200])
def test_so_many_windows_as_were_said_are_off_by_more(rows, delta):
    rng = np.random.default_rng(8)
    keep = 0.3
    kept = rng.binomial(rows, keep, size=(40_000, len(rows)))
    off = np.abs(kept / keep - rows).sum(axis=1) / sum(rows)
    groups = [Moments(n, float(n), float(n)) for n in rows]
    hardness = hardness_of_all(groups)
    assert hardness is not None
    said = math.sqrt(hardness * (1 - keep) / keep) * tail(delta, alike(groups))
    assert said == pytest.approx(np.quantile(off, 1 - delta), rel=0.05)
