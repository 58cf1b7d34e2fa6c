"""Scaled answers are unbiased, and exact where nothing was dropped."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.drops.coins import HASH_BITS
from penstock.drops.sampling import (
    Sums,
    avg_of,
    count_of,
    keeps,
    sum_of,
    var_pop_of,
    var_samp_of,
)
from penstock.errors import SpecificationError

RUNS = 1000


def hashes(rng, shape):
    return rng.integers(0, 2**HASH_BITS, shape, dtype=np.int64)


def sums(values, kept):
    """The sums of each run, rows along the last axis."""
    n = kept.sum(-1).astype(float)
    shown = np.where(kept, values, np.nan)
    with np.errstate(invalid="ignore"):
        low, high = np.nanmin(shown, -1), np.nanmax(shown, -1)
    return Sums.of(n, (values * kept).sum(-1), (values**2 * kept).sum(-1), low, high)


@pytest.mark.parametrize("keep", [0.05, 0.3])
def test_count_and_sum_are_unbiased_on_a_skewed_stream(keep):
    rng = np.random.default_rng(1)
    values = rng.pareto(2.5, 2000) + 1
    found = sums(values, keeps(hashes(rng, (RUNS, len(values))), keep))
    assert count_of(found, keep).mean() == pytest.approx(len(values), rel=0.01)
    assert sum_of(found, keep).mean() == pytest.approx(values.sum(), rel=0.01)


def test_weights_from_upstream_multiply_in():
    rng = np.random.default_rng(2)
    values, above, keep = rng.exponential(5, 2000), 0.5, 0.4
    kept = (rng.random((RUNS, 2000)) < above) & keeps(hashes(rng, (RUNS, 2000)), keep)
    weight = 1 / above
    n, total = kept.sum(-1).astype(float), (values * kept).sum(-1)
    zeros = np.zeros_like(n)
    found = Sums(n, weight * n, weight * total, *[zeros] * 7)
    assert count_of(found, keep).mean() == pytest.approx(2000, rel=0.01)
    assert sum_of(found, keep).mean() == pytest.approx(values.sum(), rel=0.01)


def test_mean_and_variance_come_near_as_the_sample_grows():
    rng = np.random.default_rng(3)
    values = rng.lognormal(0, 1, 200_000)
    found = sums(values, keeps(hashes(rng, len(values)), 0.5))
    assert avg_of(found) == pytest.approx(values.mean(), rel=0.02)
    assert var_pop_of(found) == pytest.approx(values.var(), rel=0.1)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30))
def test_with_all_rows_kept_the_answers_are_exact(values):
    array = np.array(values)
    kept = keeps(hashes(np.random.default_rng(0), len(values)), 1.0)
    assert kept.all()
    found = sums(array, kept)
    assert count_of(found, 1.0) == len(values)
    assert sum_of(found, 1.0) == array.sum()
    assert var_pop_of(found) == pytest.approx(array.var(), rel=1e-6, abs=1e-6)
    wanted = array.var(ddof=1) if len(values) > 1 else np.inf
    assert var_samp_of(found) == pytest.approx(wanted, rel=1e-6, abs=1e-6)


def test_drops_on_one_path_agree_on_their_rows():
    some = hashes(np.random.default_rng(4), 10_000)
    assert not np.any(keeps(some, 0.2) & ~keeps(some, 0.5))
    assert not keeps(some, 0.0).any()
    with pytest.raises(SpecificationError, match="from 0 to 1"):
        keeps(some, 1.2)
