"""The traffic is bursty on every scale, has its mean, and follows from its seed alone."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.errors import SpecificationError
from penstock.sources.cascade import weights
from penstock.sources.source import Queue
from penstock.sources.traffic import LEVELS, Traffic


def traffic(**more) -> Traffic:
    return ps.sources.packets(**{"rate": 800, "length": "512 s", **more}).traffic


def counts(of: Traffic) -> np.ndarray:
    """Packets in every slot."""
    _, times = of.table(0, of.slots or 0)
    return np.bincount(times // 125_000, minlength=of.slots or 0)


def hurst(series: np.ndarray) -> float:
    """By the variance-time plot: the variance of means of m values falls as m ** (2 H - 2)."""
    scales = 2 ** np.arange(0, 7)
    variances = [series.reshape(-1, m).mean(axis=1).var() for m in scales]
    slope = np.polyfit(np.log(scales), np.log(variances), 1)[0]
    return float(1 + slope / 2)


@pytest.mark.parametrize("seed", range(2))
def test_the_traffic_is_self_similar_and_its_poisson_twin_is_not(seed):
    assert hurst(counts(traffic(seed=seed))) > 0.75
    assert 0.4 < hurst(counts(traffic(seed=seed, burstiness=0))) < 0.6


def test_more_burstiness_has_higher_peaks():
    peaks = [counts(traffic(burstiness=b, length="256 s")).max() / 100 for b in (0, 0.2, 0.4)]
    assert peaks[0] < 1.6 < peaks[1] < peaks[2]
    assert peaks[2] > 10


def test_the_mean_rate_holds_over_every_period():
    found = counts(traffic(seed=5)).reshape(2, -1).sum(axis=1) / 256
    assert np.all(np.abs(found - 800) < 12)  # some 5 standard deviations


def test_scripted_overload_multiplies_the_rate():
    calm = traffic(burstiness=0, length="60 s")
    loud = traffic(burstiness=0, length="60 s", bursts=[(20, 10, 4), (40, 5.0625, 0)])
    ratio = loud.expected(0, 480) / calm.expected(0, 480)
    assert ratio[:160].tolist() == [1] * 160
    assert ratio[160:240].tolist() == [4] * 80
    assert ratio[240:320].tolist() == [1] * 80
    assert ratio[320:361].tolist() == [0] * 40 + [0.5]
    assert counts(loud)[160:240].sum() == pytest.approx(32_000, rel=0.05)


@given(st.integers(0, 2**40), st.integers(0, 2**63 - 1), st.floats(0.5, 0.99))
def test_the_weights_of_a_period_have_mean_one(period, seed, bias):
    slots = (period << LEVELS) + np.arange(1 << LEVELS)
    assert weights(slots, LEVELS, bias, seed).mean() == pytest.approx(1)


@settings(max_examples=25)
@given(st.lists(st.integers(0, 40), max_size=6), st.integers(0, 5))
def test_the_packets_are_the_same_however_they_are_cut(cuts, seed):
    of = traffic(seed=seed, rate=200, length="5 s")
    whole, times = of.table(0, 40)
    bounds = sorted({0, 40, *cuts})
    parts = [of.table(a, b) for a, b in itertools.pairwise(bounds)]
    assert pa.concat_tables(part for part, _ in parts) == whole
    assert np.concatenate([t for _, t in parts]).tolist() == times.tolist()


def test_packets_are_in_order_unique_and_plausible():
    table, times = traffic(hosts=7, length="60 s").table(0, 480)
    rows = table.to_pandas()
    assert np.all(np.diff(times) >= 0)
    assert rows["packet"].is_unique
    assert set(rows["src_host"]) == set(rows["dst_host"]) == {f"10.0.0.{i}" for i in range(7)}
    assert set(rows["protocol"][rows["dst_port"] == 53]) == {"udp"}
    assert rows["size"].between(40, 1500).all()
    assert rows["src_host"].value_counts().iloc[0] > 2 * len(rows) / 7


def test_another_seed_gives_other_packets():
    assert traffic(seed=1).table(0, 8)[0] != traffic(seed=2).table(0, 8)[0]
    assert traffic(seed=1).table(0, 8)[0] == traffic(seed=1).table(0, 8)[0]


def test_at_most_so_many_packets_but_at_least_one_slot():
    of = traffic(burstiness=0, length="10 s")
    end = of.within(0, 80, 1_000)
    assert of.table(0, end)[0].num_rows <= 1_000 < of.table(0, end + 1)[0].num_rows
    assert of.within(10, 80, 1) == 11
    assert of.within(0, 80, 10**9) == 80


def test_packets_that_wait_are_told_by_what_is_expected():
    of = ps.sources.packets(2_000, length="1 min", bursts=[(10, 10, 4)], seed=5)
    assert isinstance(of, Queue)
    due = of.traffic.table(40, 200)[0].num_rows
    assert of.behind({"step": 40}, {"step": 200}) == pytest.approx(due, rel=0.02)
    assert of.behind({"step": 200}, {"step": 200}) == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rate": 0}, "rate must be a number greater than 0"),
        ({"burstiness": 1}, "burstiness must be a number from 0 to below 1"),
        ({"bursts": [(1, 2)]}, "bursts must be"),
        ({"bursts": [(1, -2, 3)]}, "bursts must be"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"length": None, "batch": True}, "length must be given"),
        ({"length": None, "speed": None}, "length must be given"),
    ],
)
def test_refusals(wrong, message):
    with pytest.raises(SpecificationError, match=message):
        traffic(**wrong)
