"""Stated 99 % holds for at least 98.5 % of answers, whatever the size of the sample."""

import math

import numpy as np
import pytest

from penstock.bench.packets import WORKLOAD
from penstock.drops.bounds import (
    count_bounds,
    hoeffding_bounds,
    sum_bounds,
    unseen,
    z_of,
)
from penstock.drops.mean_bounds import avg_bounds, quantile_ranks, var_pop_bounds, var_samp_bounds
from penstock.drops.sampling import Sums
from penstock.errors import SpecificationError

DELTA = 0.01
Z = z_of(DELTA)
BANDS = [(0, 4), (5, 9), (10, 29), (30, 99), (100, math.inf)]
PACKETS = [40.0, 52.0, 576.0, 1300.0, 1500.0]
VALUES = {
    "constant": lambda rng, k: np.full(k, 7.0),
    "packets": lambda rng, k: rng.choice(PACKETS, k, p=[0.35, 0.15, 0.1, 0.1, 0.3]),
    "lognormal": lambda rng, k: rng.lognormal(0, 1, k),
    "pareto": lambda rng, k: rng.pareto(2.5, k) + 1,
    "mixed sign": lambda rng, k: rng.lognormal(0, 1, k) * rng.choice([-1, 1], k),
}
KEEPS = [0.02, 0.1, 0.4, 0.9]


class Pairs:
    """Exact answers of groups of very different sizes, and the sums of their samples."""

    def __init__(self, kind, keep, seed=0):
        rng = np.random.default_rng([seed, sum(map(ord, kind)), int(keep * 100)])
        rows = 4_000_000 if keep < 0.1 else 1_500_000
        # From a twentieth of a sampled row to two hundred, as many of each power of ten.
        sizes = np.ceil(0.05 / keep * np.exp(rng.random(40_000) * math.log(4000))).astype(int)
        sizes = sizes[: np.searchsorted(np.cumsum(sizes), rows)]
        at = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        v = VALUES[kind](rng, sizes.sum())
        kept = rng.random(len(v)) < keep
        self.keep, self.rows = keep, sizes
        self.n = np.add.reduceat(kept.astype(float), at)
        self.total = np.add.reduceat(v, at)
        self.variance = np.add.reduceat(v * v, at) / sizes - (self.total / sizes) ** 2
        low = np.minimum.reduceat(np.where(kept, v, np.inf), at)
        high = np.maximum.reduceat(np.where(kept, v, -np.inf), at)
        seen = self.n > 0
        self.seen = seen
        self.sums = Sums.of(
            self.n[seen],
            np.add.reduceat(v * kept, at)[seen],
            np.add.reduceat(v * v * kept, at)[seen],
            low[seen],
            high[seen],
        )

    def held(self, bounds, exact):
        """Whether each pair is; one that is not seen, within what it is said to have at most."""
        held = self.rows <= unseen(self.keep, DELTA)
        close = 1e-9 * np.abs(exact[self.seen]) + 1e-6
        exact = exact[self.seen]
        held[self.seen] = (bounds.low <= exact + close) & (exact <= bounds.high + close)
        return held


def coverage(pairs, held):
    """By band of sample size, where there are enough pairs to tell."""
    shares = []
    for low, high in BANDS:
        band = (pairs.n >= low) & (pairs.n <= high)
        if band.sum() >= 250:
            shares.append(held[band].mean())
    assert len(shares) == len(BANDS)
    return min(shares)


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("kind", VALUES)
def test_sums_are_covered_in_every_band(kind, keep):
    pairs = Pairs(kind, keep)
    sign = kind != "mixed sign"
    bounds = sum_bounds(pairs.sums, keep, Z, nonnegative=sign)
    assert coverage(pairs, pairs.held(bounds, pairs.total)) >= 0.985


@pytest.mark.parametrize("keep", KEEPS)
def test_sums_are_covered_where_the_largest_value_is_known(keep):
    pairs = Pairs("packets", keep)
    bounds = sum_bounds(pairs.sums, keep, Z, nonnegative=True, known=1500.0)
    assert coverage(pairs, pairs.held(bounds, pairs.total)) >= 0.985


@pytest.mark.parametrize("keep", [*KEEPS, 0.2, 0.6])
def test_counts_are_covered_in_every_band(keep):
    pairs = Pairs("constant", keep)
    bounds = count_bounds(pairs.sums.n, keep, Z)
    assert coverage(pairs, pairs.held(bounds, pairs.rows.astype(float))) >= 0.985


@pytest.mark.parametrize("keep", [0.05, 0.5])
@pytest.mark.parametrize("kind", VALUES)
def test_means_and_variances_are_covered_in_every_band(kind, keep):
    pairs = Pairs(kind, keep)
    mean = pairs.held(avg_bounds(pairs.sums, keep, Z), pairs.total / pairs.rows)
    assert coverage(pairs, mean) >= 0.985
    spread = pairs.held(var_pop_bounds(pairs.sums, keep, Z), pairs.variance)
    assert coverage(pairs, spread) >= 0.985


def test_another_confidence_is_kept_too():
    pairs = Pairs("packets", 0.3)
    bounds = sum_bounds(pairs.sums, 0.3, z_of(0.1), nonnegative=True, known=1500.0)
    held = pairs.held(bounds, pairs.total)[pairs.n >= 100]
    assert 0.88 <= held.mean() <= 0.97  # and it is not the 99 % of all others


@pytest.mark.parametrize(("keep", "most"), [(0.02, 0.30), (0.05, 0.42), (0.1, 0.56)])
def test_they_are_far_narrower_than_hoeffdings_on_packet_sizes(keep, most):
    """The normal part alone has the ratio 1.58 √(P(1 - P)): half of Hoeffding's up to P = 0.11."""
    pairs = Pairs("packets", keep)
    ours = sum_bounds(pairs.sums, keep, Z, nonnegative=True, known=1500.0)
    paper = hoeffding_bounds(pairs.sums, keep, DELTA)
    many = pairs.sums.n >= 30
    ratio = (ours.high - ours.low)[many] / (paper.high - paper.low)[many]
    assert np.median(ratio) <= most


@pytest.mark.parametrize("known", [1500.0, None])
@pytest.mark.parametrize("keep", [0.02, 0.05, 0.1])
def test_in_large_windows_they_are_at_most_half_as_wide_as_hoeffdings(keep, known):
    """With thousands of rows in the sample nothing is left but the normal part."""
    rng = np.random.default_rng(int(keep * 100))
    for size in (3_000, 10_000):
        v = VALUES["packets"](rng, int(size / keep))
        s = v[rng.random(len(v)) < keep]
        numbers = (len(s), s.sum(), (s * s).sum(), s.min(), s.max())
        sums = Sums.of(*(np.array([float(x)]) for x in numbers))
        ours = sum_bounds(sums, keep, Z, nonnegative=True, known=known)
        paper = hoeffding_bounds(sums, keep, DELTA)
        assert (ours.high - ours.low)[0] <= 0.5 * (paper.high - paper.low)[0]


GROUPS = {
    "tcp_packets": (400_000, False),
    "tcp_bytes_by_port": (50_000, True),
    "web_bytes_by_host": (1_500, True),
    "web_large": (540, False),
    "udp_bytes": (66_667, True),
    "dns_by_host": (333, False),
    "traffic": (33_333, True),
}
"""Of the packet queries of the benchmarks: the rows of the smallest group of a window, and whether
bytes are summed. 10,000 packets come in a second of `bench.packets`."""


def width_of_hoeffdings(rows, keep, *, summed):
    """The widths of the default bounds over those of Hoeffding, as an answer has them: median.

    Nobody has said that sizes are not below 0, nor how large they can be.
    """
    rng, found = np.random.default_rng([rows, int(keep * 1000)]), []
    for _ in range(max(5, 300_000 // rows)):
        sizes = np.where(rng.random(rows) < 1 / 3, 1500.0, rng.integers(40, 1040, rows))
        s = sizes[rng.random(rows) < keep] if summed else np.ones(rng.binomial(rows, keep))
        if not len(s):
            continue  # it is not shown
        of = (len(s), s.sum(), (s * s).sum(), s.min(), s.max())
        sums = Sums.of(*(np.array([float(x)]) for x in of))
        ours = (
            sum_bounds(sums, keep, Z, nonnegative=False, known=None)
            if summed
            else count_bounds(sums.n, keep, Z)
        )
        paper = hoeffding_bounds(sums, keep, DELTA)
        found.append((ours.high - ours.low)[0] / (paper.high - paper.low)[0])
    return np.median(found)


def test_groups_of_the_packet_queries_are_all_there():
    assert set(GROUPS) == set(WORKLOAD)
    for name, (_, summed) in GROUPS.items():
        assert WORKLOAD[name][-1] == summed


@pytest.mark.parametrize("keep", [0.01, 0.02, 0.05, 0.06, 0.95, 0.98])
@pytest.mark.parametrize("query", GROUPS)
def test_answers_of_packet_queries_are_bounded_half_as_widely_as_by_hoeffding(query, keep):
    rows, summed = GROUPS[query]
    assert width_of_hoeffdings(rows, keep, summed=False) <= 0.5
    assert not summed or width_of_hoeffdings(rows, keep, summed=True) <= 0.5


@pytest.mark.parametrize("query", GROUPS)
def test_where_a_tenth_is_kept_that_holds_for_large_groups(query):
    """The normal part alone has 0.475 of the width; small samples add their steps to that."""
    rows, summed = GROUPS[query]
    most = 0.5 if rows > 10_000 else 0.6
    assert 0.47 < width_of_hoeffdings(rows, 0.1, summed=summed) <= most


@pytest.mark.parametrize("keep", [0.12, 0.5, 0.88])
def test_in_between_no_bounds_by_the_variance_can_be_half_as_wide(keep):
    assert width_of_hoeffdings(400_000, keep, summed=False) > 0.5


def test_hoeffding_is_the_papers_formula():
    sums = Sums.of(*(np.array([x]) for x in (4.0, 20.0, 120.0, 2.0, 8.0)))
    bounds = hoeffding_bounds(sums, 0.5, DELTA)
    total, square = 40.0, 240.0
    epsilon = math.sqrt(square / (2 * total**2) * math.log(2 / DELTA)) / 0.5
    assert bounds.high[0] == pytest.approx(total * (1 + epsilon))
    assert bounds.low[0] == pytest.approx(total * (1 - epsilon))


def test_where_all_rows_are_kept_low_and_high_are_the_answer():
    pairs = Pairs("mixed sign", 0.5)
    one = pairs.sums
    for bounds, value in [
        (sum_bounds(one, 1.0, Z, nonnegative=False), one.values),
        (count_bounds(one.n, 1.0, Z), one.n),
        (avg_bounds(one, 1.0, Z), one.values / one.n),
        (hoeffding_bounds(one, 1.0, DELTA), one.values),
    ]:
        assert np.array_equal(bounds.low, value)
        assert np.array_equal(bounds.high, value)
    ranks = quantile_ranks(one.n, 0.5, 1.0, Z)
    assert np.all(ranks.low == 0.5)
    assert np.all(ranks.high == 0.5)


def test_weights_count_in_the_variance():
    """Rows that came through an earlier drop: of the whole, P/w of the rows are left."""
    rng = np.random.default_rng(5)
    held, runs, keep, weight = 0, 2000, 0.5, 4.0
    v = rng.choice(PACKETS, 1500)
    for _ in range(runs):
        s = v[rng.random(1500) < keep / weight]
        numbers = (len(s), weight * len(s), weight * s.sum(), weight * (s**2).sum())
        squares = (weight**2 * len(s), weight**2 * s.sum(), weight**2 * (s**2).sum())
        rest = (s.sum(), weight * s.max(), np.ptp(s))
        sums = Sums(*(np.array([float(x)]) for x in (*numbers, *squares, *rest)))
        bounds = sum_bounds(sums, keep, Z, nonnegative=True, known=weight * 1500)
        held += bool(bounds.low[0] <= v.sum() <= bounds.high[0])
    assert 0.985 <= held / runs < 1.0


@pytest.mark.parametrize("kind", VALUES)
def test_sample_variances_are_covered(kind):
    pairs = Pairs(kind, 0.1)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = np.where(pairs.rows > 1, pairs.variance * pairs.rows / (pairs.rows - 1), 0.0)
    bounds = var_samp_bounds(pairs.sums, 0.1, Z)
    assert coverage(pairs, pairs.held(bounds, exact)) >= 0.985
    value = np.where(pairs.sums.n > 1, bounds.high, np.inf)
    assert np.all(bounds.low <= value)


SHARES = np.array([1.0, 0.5, 0.05])
"""What is kept of the rows of three batches, which also have other values."""


def sampled(rng, rows):
    """Values of a window whose batches were sampled unequally; and the sample, with weights."""
    batch = rng.integers(0, 3, rows)
    v = rng.lognormal(0, 1, rows) * (1 + 3 * batch)
    kept = rng.random(rows) < SHARES[batch]
    return v, v[kept], 1 / SHARES[batch][kept]


@pytest.mark.parametrize("rows", [12, 60, 400])
def test_variances_are_covered_where_weights_differ(rows):
    rng, held, runs = np.random.default_rng(rows), 0, 3000
    for _ in range(runs):
        v, s, w = sampled(rng, rows)
        if not len(s):
            runs -= 1
            continue
        of = [len(s), w.sum(), w @ s, w @ s**2, w @ w, w**2 @ s, w**2 @ s**2, s.sum()]
        ends = [np.abs(s).max(), np.ptp(s), 1 / SHARES.min()]
        sums = Sums(*(np.array([float(x)]) for x in (*of, *ends)))
        bounds = var_pop_bounds(sums, 1.0, Z)
        held += bool(bounds.low[0] <= v.var() <= bounds.high[0])
    assert held / runs >= 0.985


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("rows", [12, 60, 400, 3000])
def test_ranks_bound_a_quantile_where_weights_differ(rows, quantile):
    rng, held, runs, told = np.random.default_rng(rows), 0, 1500, 0
    for _ in range(runs):
        v, s, w = sampled(rng, rows)
        if not len(s):
            runs -= 1
            continue
        order = np.argsort(s)
        s, below = s[order], np.cumsum(w[order]) / w.sum()
        n, keep = np.array([w.sum() * SHARES.min()]), SHARES.min()
        ranks = quantile_ranks(n, quantile, keep, Z)
        low, high = (
            s[min(np.searchsorted(below, rank[0]), len(s) - 1)] for rank in (ranks.low, ranks.high)
        )
        least, most = ranks.low[0] <= 0, ranks.high[0] >= 1  # there nothing is said
        exact = np.quantile(v, quantile, method="inverted_cdf")
        held += bool((least or low <= exact) and (most or exact <= high))
        told += not (least and most)
    assert held / runs >= 0.985
    assert told > 0.9 * runs or rows < 3000


def test_a_sketch_has_an_error_of_its_own_where_nothing_is_dropped():
    ranks = quantile_ranks(np.array([50.0]), 0.5, 1.0, Z, sketch=0.02)
    assert (ranks.low[0], ranks.high[0]) == pytest.approx((0.48, 0.52))


def test_digits_that_are_lost_make_bounds_wider():
    """Of times in microseconds nothing is left of the deviations in sums of squares."""
    rng, held = np.random.default_rng(4), 0
    for _ in range(300):
        v = 1.7e15 + rng.integers(0, 10_000_000, 4000).astype(float)
        s = v[rng.random(4000) < 0.2]
        of = (len(s), s.sum(), (s**2).sum(), s.min(), s.max())
        bounds = avg_bounds(Sums.of(*(np.array([float(x)]) for x in of)), 0.2, Z)
        held += bool(bounds.low[0] <= v.mean() <= bounds.high[0])
    assert held >= 0.985 * 300


def test_ranks_bound_a_quantile():
    rng = np.random.default_rng(6)
    held, keep = 0, 0.3
    for _ in range(1500):
        v = np.sort(rng.lognormal(0, 2, 400))
        s = np.sort(v[rng.random(400) < keep])
        ranks = quantile_ranks(np.array([float(len(s))]), 0.5, keep, Z)
        low, high = np.quantile(s, [ranks.low[0], ranks.high[0]], method="inverted_cdf")
        held += bool(low <= v[199] and v[200] <= high)
    assert held / 1500 >= 0.985
    few = quantile_ranks(np.array([2.0]), 0.5, keep, Z)
    assert (few.low[0], few.high[0]) == (0.0, 1.0)


def test_a_group_that_was_not_seen_has_few_rows():
    assert unseen(0.5, 0.01) == pytest.approx(math.log(0.01) / math.log(0.5))
    assert unseen(0.0, 0.01) == math.inf
    with pytest.raises(SpecificationError, match="above 0 and below 1"):
        z_of(0.0)
