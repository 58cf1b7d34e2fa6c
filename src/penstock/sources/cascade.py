"""Bursts on every scale of time, by a cascade of unequal halves.

    1                       a period has its mean rate
    0.65      0.35          one half of it gets more than the other, and a coin says which
    .42 .23   .12 .23       and so with the halves of each half, down to the slots

This is the b-model of Wang, Madhyastha, Chan, Papadimitriou and Faloutsos, "Data Mining Meets
Performance Evaluation: Fast Algorithms for Modeling Bursty Traffic", ICDE 2002. Every coin follows
from the seed and its place, so any slot can be asked for without those before it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def weights(slots: NDArray[np.int64], levels: int, bias: float, seed: int) -> NDArray[np.float64]:
    """The rates of slots, relative to the mean, which is 1 in every period of 2**levels slots.

    Args:
        slots: their numbers, 0 or more.
        levels: how often a period is halved.
        bias: the share of the larger half: 0.5 is no burst at all, 1 is nothing but bursts.
        seed: other seeds toss other coins.

    >>> weights(np.arange(4), 2, 0.75, seed=1).tolist()
    [0.75, 0.25, 2.25, 0.75]
    """
    period, inside = slots >> levels, slots & ((1 << levels) - 1)
    found = np.ones(len(slots))
    for level in range(1, levels + 1):
        half = inside >> (levels - level)
        coin = _hash(seed, period, level, half >> 1) & np.uint64(1)
        found *= np.where((half & 1) == coin.astype(np.int64), 2 * bias, 2 * (1 - bias))
    return found


def _hash(
    seed: int, period: NDArray[np.int64], level: int, node: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """64 bits that look random, for a place in the cascade."""
    state = np.full(len(node), seed, dtype=np.uint64)
    for part in (period, np.full_like(node, level), node):
        state = _mix(state ^ part.astype(np.uint64))
    return state


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
