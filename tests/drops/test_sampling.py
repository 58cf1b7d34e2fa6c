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
    floor_rates,
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


sizes = st.dictionaries(st.integers(0, 99), st.floats(0.1, 1e4), min_size=1, max_size=30)


@given(sizes, st.floats(0, 1), st.floats(0, 50), st.integers(1, 40))
def test_the_floor_holds_and_the_share_is_kept_as_far_as_it_allows(groups, keep, floor, most):
    rates = floor_rates(groups, keep, floor, most)
    assert len(rates) <= most
    kept = {group: rows * rates.get(group, 1.0) for group, rows in groups.items()}
    assert all(kept[g] >= min(rows, floor) - 1e-6 for g, rows in groups.items())
    assert all(0 <= rate < 1 for rate in rates.values())
    wanted = keep * sum(groups.values())
    assert sum(kept.values()) >= wanted - 1e-6 * sum(groups.values())
    # More than asked for is kept only where nothing can go: at the floor, or not named.
    if sum(kept.values()) > wanted * (1 + 1e-6) + 1e-6:
        assert all(kept[group] <= max(floor, 1e-9) * (1 + 1e-9) for group in rates)


def test_rare_groups_stay_whole_and_heavy_ones_share_the_rest():
    assert floor_rates({"a": 1000.0, "b": 5.0}, 0.1, 10) == {"a": pytest.approx(0.0955)}
    assert floor_rates({"a": 5.0, "b": 5.0}, 0.1, 10) == {}
